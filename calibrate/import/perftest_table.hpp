#pragma once
// One run of perftest, as its text or its JSON prints it.
#include <optional>
#include <string>
#include <vector>

#include "calibrate/import/importer.hpp"
#include "calibrate/import/record_builder.hpp"
#include "calibrate/import/text_file.hpp"

namespace linkcast::perftest {

// source: perftest src/perftest_parameters.c, RESULT_FMT and RESULT_FMT_G: MB/sec is 2^20 bytes, Gb/sec 1e9 bits
inline constexpr double kMiB_B = 1048576, kGigabit_B = 1e9 / 8;

struct Table {
  std::string test;  ///< RDMA_Write, RDMA_Read, Send
  bool bidirectional = false, latency = false;
  bool mean = false;             ///< a latency without a typical one
  std::optional<bool> on_gpu{};  ///< where the program says that it allocates GPU memory
  std::string device, qps, gpu, link;
  std::string ends;   ///< addresses and GPUs of both sides, as printed
  double unit_B = 0;  ///< of a rate
  struct Row {
    std::string place, size, value;
  };
  std::vector<Row> rows;
  std::vector<std::string> notes{};
};

/// Test, directions and statistic of a title as "RDMA_Write Bidirectional BW Test", or of a command's name.
/// @returns  false for another text
bool read_test(const std::string& title, Table& table);

/// Whether messages a second, in millions with six decimals, fit a rate with two in this unit; true where the digits of
/// the messages are too few to tell.
bool fits_messages(double size_B, double rate, double unit_B, double messages);

/// Runs of JSON (--out_json) in a file, whatever stands around it; empty: it holds none.
/// @param request  its options unit and test say what the file does not
/// @throws InputError  JSON that is broken, or that does not say its unit or its test
std::vector<Table> json_tables(const ImportRequest& request, TextFile& file, SameProcesses& processes);

}  // namespace linkcast::perftest
