// Tables of nccl-tests become collectives of one node.
// The text of older versions does not name its operation: option op or the name of the file says it.
#include <algorithm>
#include <set>

#include "calibrate/import/decimal.hpp"
#include "calibrate/import/nccl_log.hpp"
#include "calibrate/import/option_values.hpp"
#include "calibrate/import/record_builder.hpp"

namespace linkcast {
namespace {

const std::vector<std::string> kOps = {"all_reduce", "all_gather", "reduce_scatter", "broadcast", "reduce",
                                       "alltoall",   "sendrecv",   "gather",         "scatter"};

/// "all_reduce" of "all_reduce_perf" or "all_reduce_perf_mpi"; empty if it is no operation that the schema has.
std::string op_of_program(const std::string& program) {
  for (const std::string& op : kOps)
    if (program == op || program.rfind(op + "_perf", 0) == 0) return op;
  return "";
}

/// The operations whose program a file's name holds: "all_reduce_perf" is not also "reduce_perf".
std::set<std::string> ops_of_name(const std::string& name) {
  std::set<std::string> found;
  for (const std::string& op : kOps) {
    const std::size_t at = name.find(op + "_perf");
    const bool inside = at != std::string::npos && at >= 4 && name.compare(at - 4, 4, "all_") == 0;
    if (at != std::string::npos && !inside) found.insert(op);
  }
  return found;
}

std::string op_of(const NcclRun& run, const std::optional<std::string>& said, const std::string& path,
                  RecordBuilder& record) {
  if (!run.program.empty()) {
    const std::string op = op_of_program(run.program);
    if (op.empty())
      throw InputError(run.place + ": program '" + run.program + "' measures no operation of schema measurement/1");
    if (said && *said != op)
      throw InputError("--option op: is '" + *said + "', " + run.place + " is of " + run.program);
    return op;
  }
  if (said) return *said;
  const auto found = ops_of_name(file_name(path));
  if (found.size() != 1)
    throw InputError(run.place +
                     ": neither the text nor the file's name says the operation: add --option op=all_reduce");
  record.note("The operation of " + file_name(path) + " is that of the file's name; the text does not say it.");
  return *found.begin();
}

/// Numbers of the GPUs in rank order.
std::vector<int> members_of(const NcclRun& run, const std::optional<std::vector<int>>& said) {
  std::set<std::string> hosts;
  for (const NcclRank& rank : run.ranks) {
    hosts.insert(rank.host);
    if (rank.group != run.ranks.front().group)
      throw InputError(run.place + ": ranks of several groups ran at once: schema measurement/1 has one collective");
  }
  if (hosts.size() > 1)
    throw InputError(run.place + ": ranks on " + std::to_string(hosts.size()) + " nodes (" + *hosts.begin() + ", " +
                     *hosts.rbegin() + ", ...): collectives of schema measurement/1 are of one node");
  if (run.ranks.size() < 2) throw InputError(run.place + ": one rank: a collective has at least two");
  std::vector<int> gpus;
  for (const NcclRank& rank : run.ranks) {
    if (!said && std::count(gpus.begin(), gpus.end(), rank.device) > 0)
      throw InputError(run.place + ": two ranks print device " + std::to_string(rank.device) +
                       ": add --option gpus=0,1,... in rank order");
    gpus.push_back(rank.device);
  }
  if (!said) return gpus;
  if (said->size() != gpus.size())
    throw InputError("--option gpus: names " + std::to_string(said->size()) + " GPUs, " + run.place + " has " +
                     std::to_string(gpus.size()) + " ranks");
  return *said;
}

/// Who issued the calls, as `launch` of predict; empty: it cannot be told.
/// source: NVIDIA/nccl-tests README.md: -t threads a process, -g GPUs a thread, -m calls a group, -G graphs
std::string launch_of(const NcclRun& run) {
  const auto& [threads, gpus_per_thread, graph_launches, calls_per_group] = run.issue;
  if (graph_launches.value_or(0) > 0) return "graph";
  if (calls_per_group.value_or(1) > 1 || !gpus_per_thread) return "";
  if (*gpus_per_thread == 1) return "process";
  std::set<std::string> processes;
  for (const NcclRank& rank : run.ranks) processes.insert(rank.process);
  const bool one = processes.size() == 1 && !processes.begin()->empty() && threads.value_or(1) == 1;
  return one && *gpus_per_thread == static_cast<int>(run.ranks.size()) ? "single_process" : "";
}

std::string launch_of(const NcclRun& run, const std::optional<std::string>& said, RecordBuilder& record) {
  const std::string told = launch_of(run);
  if (said && !told.empty() && *said != told)
    throw InputError("--option launch: is '" + *said + "', " + run.place + " says " + told);
  if (told.empty() && !said)
    record.note("Who issued the calls cannot be told: small sizes say nothing about links (option launch).");
  return told.empty() ? said.value_or("") : told;
}

/// Data type and reduction, which the schema cannot tell apart, must be the same in all of a record.
void note_types(const NcclRun& run, const std::string& path, RecordBuilder& record) {
  for (const NcclRow& row : run.rows) {
    record.environment("type", row.type, row.place);
    if (!row.redop.empty() && row.redop != "none") record.environment("redop", row.redop, row.place);
  }
  if (!run.ranks.front().gpu.empty()) record.environment("gpu", run.ranks.front().gpu, path);
}

class Rows {
 public:
  /// @param common  op, gpus, and what the run was held to
  Rows(Json common, RecordBuilder& record) : common_(std::move(common)), record_(record) {}

  void add(const NcclRow& row) {
    const auto size = whole_size(row.size_B);
    if (!size) throw InputError(row.place + ": size '" + row.size_B + "' is no size");
    if (*size == 0) {
      record_.note("Left out: rows of size 0, which sent nothing.");
      return;
    }
    if (!row.root.empty() && row.root != "-1" && row.root != "0") {
      record_.note("Left out: rows whose root is not rank 0, which schema measurement/1 cannot say.");
      return;
    }
    if (row.out_of_place) add(row, *size, *row.out_of_place, false);
    if (row.in_place) add(row, *size, *row.in_place, true);
  }

 private:
  void add(const NcclRow& row, std::int64_t size, const NcclTiming& timing, bool in_place) {
    if (in_place && timing.time == "N/A") return;
    if (in_place && common_["op"] == "alltoall" && !timing.wrong) {
      record_.note("Left out: alltoall in place, whose data nccl-tests does not check because NCCL cannot do it.");
      return;
    }
    const auto wrong = timing.wrong ? decimal(*timing.wrong) : 0.0;
    if (!wrong) throw InputError(row.place + ": '" + *timing.wrong + "' is no number of wrong elements");
    if (*wrong != 0) throw InputError(row.place + ": " + *timing.wrong + " wrong elements: not a measurement");
    const auto time = decimal(timing.time, -6);
    if (!time || !(*time > 0)) throw InputError(row.place + ": time '" + timing.time + "' is not a number above 0");
    Json point = common_;
    point["size_B"] = size;
    if (in_place) point["in_place"] = true;
    if (timing.wrong) point["verified"] = true;
    record_.add(point, "time_s", *time);
  }

  Json common_;
  RecordBuilder& record_;
};

class NcclTests final : public Importer {
 public:
  [[nodiscard]] std::vector<ImportOption> options() const override {
    return {{"op", "operation, where text and file name do not say it: all_reduce, all_gather, ..."},
            {"gpus", "numbers of the topology's GPUs in rank order: 0,1,3,2 (default: the printed devices)"},
            {"launch", "graph, process, single_process or pytorch, where the text does not say who issued the calls"},
            {"algorithm", "Ring, Tree, CollNet, NVLS, NVLSTree or PAT if NCCL_ALGO forced it"},
            {"protocol", "LL, LL128 or Simple if NCCL_PROTO forced it"},
            RecordBuilder::id_option()};
  }
  [[nodiscard]] Json run(const ImportRequest& request) const override;
};

/// Every run of one file.
void add_file(const ImportRequest& request, const std::string& path, const Json& forced, RecordBuilder& record) {
  const auto op = option_choice(request, "op", kOps);
  const auto gpus = option_gpus(request, "gpus");
  const auto said = option_choice(request, "launch", {"graph", "process", "single_process", "pytorch"});
  TextFile file(path);
  const bool json = file.text()[file.text().find_first_not_of(" \t\r\n")] == '{';
  for (const NcclRun& run : json ? std::vector<NcclRun>{read_nccl_json(file)} : read_nccl_text(file)) {
    if (!run.version.empty()) record.environment("version", run.version, path);
    record.source(run.version.empty() ? "nccl-tests, version not printed" : "nccl-tests, " + run.version);
    note_types(run, path, record);
    record.method("settings of " + file_name(path), run.settings);
    Json common{{"op", op_of(run, op, path, record)}, {"gpus", members_of(run, gpus)}};
    if (const std::string launch = launch_of(run, said, record); !launch.empty()) common["launch"] = launch;
    common.update(forced);
    Rows rows(common, record);
    for (const NcclRow& row : run.rows) rows.add(row);
  }
}

Json NcclTests::run(const ImportRequest& request) const {
  RecordBuilder record(request, "nccl-tests", "nccl_tests", "back_to_back");
  Json forced = Json::object();
  if (const auto a = option_choice(request, "algorithm", {"Ring", "Tree", "CollNet", "NVLS", "NVLSTree", "PAT"}))
    forced["algorithm"] = *a;
  if (const auto p = option_choice(request, "protocol", {"LL", "LL128", "Simple"})) forced["protocol"] = *p;
  record.method("statistic", "printed means over the iterations of the program");
  record.note(option_gpus(request, "gpus")
                  ? "gpus: said by option gpus, in rank order."
                  : "assumed: printed device n is gpu<n> of the topology; option gpus says otherwise.");
  if (forced.empty())
    record.note("assumed: NCCL chose algorithm and protocol; the program does not print NCCL_ALGO and NCCL_PROTO.");
  for (const std::string& path : request.files) add_file(request, path, forced, record);
  return record.json();
}

const bool nccl_tests_registered =
    importers().add({"nccl-tests", "text or JSON (-J) of all_reduce_perf and the others: collectives of one node",
                     "NVIDIA/nccl-tests README.md and src/common.cu, src/util.cu"},
                    [] { return std::make_unique<NcclTests>(); });

}  // namespace
}  // namespace linkcast
