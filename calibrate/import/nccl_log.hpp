#pragma once
// Output of the programs of nccl-tests, text or JSON (-J), in one shape.
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "calibrate/import/text_file.hpp"

namespace linkcast {

struct NcclRank {
  int rank = 0, group = 0, device = 0;
  std::string host, bus, gpu;  ///< bus and gpu may be empty
  std::string process;         ///< number on its host; empty: not printed
};

/// One half of a line: out of place, or in place.
struct NcclTiming {
  std::string time;                  ///< microseconds, as printed
  std::optional<std::string> wrong;  ///< number of wrong elements; nothing: not checked
  std::string rate{}, bus_rate{};    ///< algbw and busbw as printed; empty: not read
};

struct NcclRow {
  std::string place;                      ///< file and line, or JSON pointer
  std::string size_B, type, redop, root;  ///< redop and root are empty where the operation has none
  std::optional<NcclTiming> out_of_place, in_place;
  double algbw = 0, busbw = 0;  ///< GB/s, of the last half that has them; 0: not printed
};

/// One run of one program.
struct NcclRun {
  std::string place;
  std::string program;    ///< all_reduce_perf; empty: not printed
  std::string version;    ///< of nccl-tests and NCCL; empty: not printed
  bool rccl = false;      ///< the library is AMD's
  bool forecast = false;  ///< the file says that linkcast wrote it (sim/records/forecast_mark.hpp)
  std::string settings;   ///< threads, iterations, ...
  struct Issue {          ///< how its calls are made; nothing: not printed
    std::optional<int> threads, gpus_per_thread, graph_launches, calls_per_group;
  };
  Issue issue{};
  std::optional<bool> nvls{};                        ///< what NCCL's own lines say of multicast by NVSwitch
  std::map<std::string, std::string> environment{};  ///< other variables that they or the command set, debugging aside
  bool typed = false;                                ///< the command is there
  std::vector<NcclRank> ranks;                       ///< empty: not printed
  std::vector<NcclRow> rows;
  std::vector<std::string> notes;  ///< what was passed over
};

/// Share of a printed number that its last digit leaves open: 0.125 of "4".
double open_share(const std::string& printed);

/// "all_reduce" of "all_reduce_perf" or "all_reduce_perf_mpi"; empty if it is no operation that the schema has.
std::string operation_of_program(const std::string& program);

/// @throws InputError  no table, a row that is not whole, or a run that reports wrong data
std::vector<NcclRun> read_nccl_text(TextFile& file);
/// Runs of JSON (-J) in a file; empty: it holds none. @throws InputError  the same, with JSON pointers
std::vector<NcclRun> read_nccl_json(TextFile& file);
/// Every run of a file in either form. @throws InputError  the same
std::vector<NcclRun> read_nccl_runs(const std::string& path);

}  // namespace linkcast
