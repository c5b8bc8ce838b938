// JSON lines of NCCL's inspector (a profiler plug-in, NCCL 2.28 and later): collectives of a job, a file a rank.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <set>

#include "calibrate/import/importer.hpp"
#include "calibrate/import/record_builder.hpp"
#include "calibrate/import/text_file.hpp"
#include "sim/base/text.hpp"

namespace linkcast {
namespace {

/// source: NCCL ext-profiler/inspector, inspector.cc: names of operations, sizes as nccl-tests print them
const std::map<std::string, std::string>& inspector_ops() {
  static const std::map<std::string, std::string> ops = {
      {"AllReduce", "all_reduce"}, {"AllGather", "all_gather"}, {"ReduceScatter", "reduce_scatter"},
      {"Broadcast", "broadcast"},  {"Reduce", "reduce"},        {"AlltoAll", "alltoall"},
      {"AllToAll", "alltoall"},    {"Gather", "gather"},        {"Scatter", "scatter"}};
  return ops;
}

struct Call {
  std::string op;
  std::int64_t size_B = 0, number = 0;
  std::map<int, double> time_us;  ///< by rank
};

struct Communicator {
  int ranks = 0, nodes = 1;
  std::set<int> seen;  ///< ranks with a file
  std::map<std::pair<std::string, std::int64_t>, Call> calls;
};

class InspectorLog {
 public:
  void read(const std::string& path) {
    TextFile file(path);
    const bool json = file.text()[file.text().find_first_not_of(" \t\r\n")] == '{';
    if (!json) file.strip_launchers();
    int found = 0;
    for (; !file.at_end(); file.next()) {
      const std::size_t begin = file.line().find_first_not_of(" \t");
      if (begin == std::string::npos || file.line()[begin] != '{') continue;
      const std::string place = fmt::format("{}:{}", path, file.number());
      const Json line = parse_json(file.line(), place);
      ObjectReader r(line, place);
      if (!r.has("header")) throw InputError(place, "/header", "missing key: no line of NCCL's inspector");
      read_line(r);
      ++found;
    }
    if (found == 0)
      throw InputError(path + ": is no output of NCCL's inspector: no line is JSON with header and coll_perf");
  }

  std::map<std::string, Communicator> communicators;
  std::set<std::string> timing;
  std::set<std::string> hosts;
  std::map<std::string, int> left_out;  ///< operations

 private:
  void read_line(ObjectReader& r);
  void read_call(ObjectReader& call, Communicator& communicator, int rank);
};

void InspectorLog::read_line(ObjectReader& r) {
  ObjectReader header = r.object("header");
  const Json& id = header.raw("id");
  Communicator& communicator = communicators[id.is_string() ? id.get<std::string>() : id.dump()];
  const int ranks = header.required<int>("n_ranks"), rank = header.required<int>("rank");
  const int nodes = header.optional<int>("nnodes").value_or(1);
  if (rank < 0 || rank >= ranks) header.fail("rank", "must be from 0 to n_ranks - 1");
  if (nodes < 1 || ranks % nodes != 0)
    header.fail("nnodes", "must divide n_ranks: schema measurement/1 has equal nodes");
  if (communicator.ranks != 0 && (communicator.ranks != ranks || communicator.nodes != nodes))
    header.fail("n_ranks", "differs from that of a line before it of the same id");
  communicator.ranks = ranks;
  communicator.nodes = nodes;
  communicator.seen.insert(rank);
  if (auto metadata = r.optional_object("metadata"))
    if (const auto host = metadata->optional<std::string>("hostname")) hosts.insert(*host);
  if (!r.has("coll_perf")) {
    ++left_out["lines without coll_perf"];
    return;
  }
  ObjectReader call = r.object("coll_perf");
  read_call(call, communicator, rank);
}

void InspectorLog::read_call(ObjectReader& call, Communicator& communicator, int rank) {
  const auto name = call.required<std::string>("coll");
  const auto op = inspector_ops().find(name);
  if (op == inspector_ops().end() || communicator.ranks < 2) {
    ++left_out[communicator.ranks < 2 ? "communicators of one rank" : name];
    return;
  }
  Call one{op->second, call.required<std::int64_t>("coll_msg_size_bytes"), call.required<std::int64_t>("coll_sn"), {}};
  const auto time_us = call.required<double>("coll_exec_time_us");
  if (one.size_B < 0) call.fail("coll_msg_size_bytes", "must be at least 0");
  if (!(time_us > 0)) call.fail("coll_exec_time_us", "must be above 0");
  const double rate = call.optional<double>("coll_algobw_gbs").value_or(0);
  constexpr double kBytesAMicro = 1e-3, kWithin = 0.02, kLeast = 0.5;  // GB/s; digits that are printed. source: ours
  const double share = rate / (static_cast<double>(one.size_B) / time_us * kBytesAMicro);
  if (rate > kLeast && std::abs(share - 1) > kWithin)
    call.fail("coll_algobw_gbs", "is not coll_msg_size_bytes by coll_exec_time_us: not the size that nccl-tests print");
  timing.insert(call.optional<std::string>("coll_timing_source").value_or(""));
  Call& kept = communicator.calls.emplace(std::pair(one.op, one.number), one).first->second;
  if (kept.size_B != one.size_B)
    call.fail("coll_msg_size_bytes", "differs from that of another rank for the same call");
  const auto& [it, fresh] = kept.time_us.emplace(rank, time_us);
  if (!fresh && it->second != time_us) call.fail("coll_sn", "this rank has another time for the same call already");
}

class NcclInspector final : public Importer {
 public:
  [[nodiscard]] std::vector<ImportOption> options() const override {
    return {{"communicator", "id of the communicator to take, 0x...; needed where the files have several"},
            {"gpus", "numbers of the topology's GPUs in rank order, of each node: 0,1,3,2 (default: from 0 on)"},
            RecordBuilder::id_option()};
  }
  [[nodiscard]] Json run(const ImportRequest& request) const override;
};

std::vector<int> members_of(const ImportRequest& request, const Communicator& communicator, RecordBuilder& record) {
  const int count = communicator.ranks / communicator.nodes;
  const auto said = option_gpus(request, "gpus");
  if (said && static_cast<int>(said->size()) != count)
    throw InputError(
        fmt::format("option gpus: names {} GPUs, the communicator has {} ranks a node", said->size(), count));
  if (said) return *said;
  record.note("assumed: ranks are gpu0, gpu1, ... of each node in turn; option gpus says otherwise.");
  std::vector<int> gpus;
  for (int gpu = 0; gpu < count; ++gpu) gpus.push_back(gpu);
  return gpus;
}

/// The calls of one communicator; a call takes what its slowest rank took.
void add_calls(const ImportRequest& request, const Communicator& communicator, RecordBuilder& record) {
  Json common{{"gpus", members_of(request, communicator, record)}};
  if (communicator.nodes > 1) common["nodes"] = communicator.nodes;
  if (static_cast<int>(communicator.seen.size()) < communicator.ranks)
    record.note(fmt::format("assumed: {} of {} ranks have a file; the slowest of them stands for all.",
                            communicator.seen.size(), communicator.ranks));
  int partial = 0, empty = 0;
  for (const auto& [key, call] : communicator.calls) {
    const bool whole = call.time_us.size() == communicator.seen.size();
    partial += whole ? 0 : 1;
    empty += call.size_B == 0 ? 1 : 0;
    if (!whole || call.size_B == 0) continue;
    double slowest_us = 0;
    for (const auto& [rank, time_us] : call.time_us) slowest_us = std::max(slowest_us, time_us);
    constexpr double kMicros = 1e6;  // in a second. source: definition
    Json point = common;
    point["op"] = call.op;
    point["size_B"] = call.size_B;
    if (call.op == "broadcast" || call.op == "reduce" || call.op == "gather" || call.op == "scatter")
      record.note("assumed: the root is rank 0, which the inspector does not print.");
    record.add(point, "time_s", slowest_us / kMicros);
  }
  if (partial > 0) record.note(fmt::format("Left out: {} calls that not all ranks with a file have.", partial));
  if (empty > 0) record.note(fmt::format("Left out: {} calls of 0 bytes.", empty));
}

Json NcclInspector::run(const ImportRequest& request) const {
  InspectorLog log;
  for (const std::string& path : request.files) log.read(path);
  std::vector<std::string> ids;
  for (const auto& [id, communicator] : log.communicators)
    if (!communicator.calls.empty()) ids.push_back(id);
  if (ids.empty()) throw InputError(request.files.front() + ": holds no collective of two or more ranks");
  const std::string id = ids.size() == 1 && !option_text(request, "communicator")
                             ? ids.front()
                             : required_choice(request, "communicator", ids,
                                               "the files do not say which GPUs each of several communicators has");
  if (log.timing.size() > 1)
    throw InputError(request.files.front() + ": coll_timing_source is " + joined(log.timing) +
                     ": kernels and host are timed differently, import them one by one");
  const std::string timing = *log.timing.begin();
  const bool kernels = timing.starts_with("kernel");
  RecordBuilder record(request, "nccl-inspector", "nccl_inspector", kernels ? "back_to_back" : "single");
  record.source("NCCL inspector");
  record.environment("communicator", id, request.files.front());
  record.method("statistic", "each call of a job, the time of its slowest rank");
  record.method("clock", kernels ? "from the start of the kernel to its end: without launch"
                                 : "on the host, from the call to its end");
  if (timing.empty()) record.note("assumed: times are of the host, coll_timing_source does not say it.");
  if (ids.size() > 1) record.note("Left out: other communicators than " + id + ", by option communicator.");
  record.note("Calls of a job wait for each other and for its kernels: times may hold more than the collective.");
  for (const auto& [what, count] : log.left_out) record.note(fmt::format("Left out: {} of {}.", count, what));
  add_calls(request, log.communicators.at(id), record);
  return record.json();
}

const bool nccl_inspector_registered =
    importers().add({"nccl-inspector", "JSON lines of NCCL's inspector plug-in, a file a rank: collectives of a job",
                     "NVIDIA/nccl ext-profiler/inspector, output format v4, NCCL 2.28"},
                    [] { return std::make_unique<NcclInspector>(); });

}  // namespace
}  // namespace linkcast
