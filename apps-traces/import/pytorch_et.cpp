// PyTorch's execution trace (ExecutionTraceObserver): the operators of each rank with their tensors, and no times.
// These come from Kineto's timeline of the same run, as chakra_trace_link joins the two.
#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <map>
#include <numeric>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "apps-traces/import/c10d_names.hpp"
#include "apps-traces/import/lines.hpp"
#include "apps-traces/import/pytorch_et_file.hpp"
#include "sim/base/index.hpp"
#include "sim/machine/trace_source.hpp"
#include "sim/records/trace.hpp"

namespace linkcast {
namespace {

using namespace pytorch;

double element_B(const TorchComm& comm, const std::string& place) {
  const auto bytes = c10d_element_B(comm.dtype);
  if (!bytes) throw InputError(place + ": dtype " + shown(comm.dtype) + " is not known");
  return *bytes;
}

/// One rank: its operators, and what its GPU did for them.
struct RankFile {
  TorchTrace trace;
  std::optional<TorchTimes> times{};
};

/// Whether a call moves nothing: it waits, or stands around others.
bool is_nothing(const TorchComm& comm) {
  static const std::set<std::string> kNothing{
      "init", "end", "wait", "startCoalescing", "endCoalescing", "start_coalescing", "end_coalescing"};
  return kNothing.count(comm.name) > 0;
}

/// @param world  ranks of the trace, where the file does not say who is in the group
/// @throws InputError  it says how many are, but not who
std::vector<int> members(const TorchNode& node, const RankFile& rank, int world) {
  const TorchComm& comm = *node.comm;
  const auto listed = rank.trace.groups.find(comm.process_group);
  if (listed != rank.trace.groups.end()) return listed->second;
  if (comm.start < 0 && comm.size > 0 && world > 1 && comm.size != world)
    throw InputError(
        fmt::format("{}: node {}: {} of {} ranks are in the process group, and no process_group:init says "
                    "which",
                    rank.trace.file, node.id, comm.size, world));
  std::vector<int> ranks(at(comm.size == 0 ? world : comm.size));
  for (int i = 0; i < static_cast<int>(ranks.size()); ++i)
    ranks[at(i)] = comm.start < 0 ? i : comm.start + i * comm.stride;
  return ranks;
}

/// Elements that one rank has of all parts together, where the tensors are one part.
double elements(const TorchComm& comm, const std::string& op, std::size_t ranks) {
  const auto n = static_cast<double>(ranks);
  if (op == "all_gather" || op == "gather") return std::max(comm.in_elements * n, comm.out_elements);
  if (op == "reduce_scatter" || op == "scatter") return std::max(comm.in_elements, comm.out_elements * n);
  return std::max(comm.in_elements, comm.out_elements);
}

/// Whether nothing says who is in a process group.
bool any_group_assumed(const RankFile& rank) {
  return std::any_of(rank.trace.nodes.begin(), rank.trace.nodes.end(), [&](const TorchNode& node) {
    return node.comm && !is_nothing(*node.comm) && node.comm->size == 0 &&
           rank.trace.groups.count(node.comm->process_group) == 0;
  });
}

std::string group_name(const TorchComm& comm, const std::vector<int>& ranks) {
  return fmt::format("{} of {} from {}", comm.process_group, ranks.size(), ranks.front());
}

/// The operators of one rank as events, in the order of calls.
class Calls {
 public:
  Calls(int number, const RankFile& rank, const TraceHeader& header, double compute_s, std::string step,
        TraceSink& sink)
      : number_(number), rank_(rank), header_(header), compute_s_(compute_s), step_(std::move(step)), sink_(sink) {}

  [[nodiscard]] bool more() const { return at_ < rank_.trace.nodes.size(); }
  void next() {
    const TorchNode& node = rank_.trace.nodes[at_++];
    if (node.name.starts_with(step_) && std::exchange(any_step_, true)) put_step();
    if (node.comm) {
      put_comm(node);
    } else if (rank_.times) {
      const auto works = rank_.times->work.find(node.rf_id);
      if (works == rank_.times->work.end()) return;
      for (const GpuWork& work : works->second) put_work(node, work);
    } else if (compute_s_ > 0 && node.leaf && !node.storages.empty()) {
      put_work(node, {0, compute_s_, "0"});
    }
  }
  /// After the last operator.
  void end() {
    if (any_step_) put_step();
  }

 private:
  void put_comm(const TorchNode& node) {
    const TorchComm& comm = *node.comm;
    const std::string place = fmt::format("{}: node {}", rank_.trace.file, node.id);
    const auto op = c10d_operation(comm.name);  // a barrier is an all_reduce of nothing
    if (!op) {
      if (is_nothing(comm)) return;
      throw InputError(place + ": collective " + shown(comm.name) + " is not known to this importer");
    }
    TraceEvent event = base(node, stream_of(node, comm));
    const std::vector<int> ranks = members(node, rank_, header_.ranks);
    event.size_B = comm.name == "barrier" ? 4 : elements(comm, *op, ranks.size()) * element_B(comm, place);
    event.kind = kind_of_call(*op);
    if (event.kind == TraceKind::kCollective) {
      event.op = *op;
      event.group = group_name(comm, ranks);
    } else {
      if (comm.rank < 0 || comm.rank >= static_cast<int>(ranks.size()) || ranks[at(comm.rank)] >= header_.ranks)
        throw InputError(fmt::format("{}: peer {} is not in the group", place, comm.rank));
      event.peer = ranks[at(comm.rank)];
      event.tag = comm.process_group;
    }
    put(event, node);
  }

  /// Kineto's, where the kernel is there.
  std::string stream_of(const TorchNode& node, const TorchComm& comm) const {
    if (rank_.times) {
      const auto works = rank_.times->work.find(node.rf_id);
      if (works != rank_.times->work.end()) return works->second.front().stream;
    }
    return "group " + comm.process_group;
  }

  void put_work(const TorchNode& node, const GpuWork& work) {
    TraceEvent event = base(node, work.stream);
    event.time_s = work.time_s;
    if (!work.copy.empty()) {
      event.kind = TraceKind::kCopy;
      event.op = work.copy;
      event.size_B = work.size_B;
    }
    put(event, node);
  }

  void put_step() {
    TraceEvent wait;
    wait.rank = number_;
    wait.kind = TraceKind::kSync;
    wait.stream.clear();
    sink_.event(wait);
    wait.kind = TraceKind::kStep;
    sink_.event(wait);
  }

  TraceEvent base(const TorchNode& node, const std::string& stream) {
    TraceEvent event;
    event.rank = number_;
    event.id = ++id_;
    event.stream = stream;
    event.name = node.name;
    return event;
  }

  /// Waits for what other streams did with the same storages.
  void put(TraceEvent& event, const TorchNode& node) {
    for (const std::int64_t storage : node.storages) {
      const auto last = last_use_.find(storage);
      if (last != last_use_.end() && last->second.second != event.stream) event.after.push_back(last->second.first);
      last_use_[storage] = {*event.id, event.stream};
    }
    std::sort(event.after.begin(), event.after.end());
    event.after.erase(std::unique(event.after.begin(), event.after.end()), event.after.end());
    sink_.event(event);
  }

  int number_;
  const RankFile& rank_;
  const TraceHeader& header_;
  double compute_s_;
  std::string step_;
  TraceSink& sink_;
  std::size_t at_ = 0;
  std::int64_t id_ = 0;
  bool any_step_ = false;
  std::map<std::int64_t, std::pair<std::int64_t, std::string>> last_use_{};  ///< by storage: event, stream
};

/// Execution traces in the order of the command line, each with Kineto's timeline of the same process.
std::vector<RankFile> read_ranks(const std::vector<std::string>& files) {
  std::vector<RankFile> ranks;
  std::vector<TorchTimes> times;
  for (const std::string& path : files) {
    TorchFile file = read_torch_file(path);
    if (file.trace) ranks.push_back({std::move(*file.trace)});
    if (file.times) times.push_back(std::move(*file.times));
  }
  if (ranks.empty()) throw InputError(files[0] + ": is Kineto's timeline: an execution trace of PyTorch is missing");
  if (times.empty()) return ranks;
  if (times.size() != ranks.size())
    throw InputError(fmt::format(
        "file: {} execution traces and {} timelines of Kineto: one of each per rank is expected, or no timeline",
        ranks.size(), times.size()));
  std::set<std::int64_t> pids;
  for (const RankFile& rank : ranks) pids.insert(rank.trace.pid);
  const bool by_pid = pids.size() == ranks.size();
  for (std::size_t i = 0; i < times.size(); ++i) {
    const auto same = [&](const RankFile& rank) { return rank.trace.pid == times[i].pid; };
    const auto found = by_pid ? std::find_if(ranks.begin(), ranks.end(), same) : ranks.begin() + static_cast<long>(i);
    if (found == ranks.end() || found->times)
      throw InputError(fmt::format("{}: no execution trace is of its process {}", times[i].file, times[i].pid));
    found->times = std::move(times[i]);
  }
  std::stable_sort(ranks.begin(), ranks.end(),
                   [](const RankFile& a, const RankFile& b) { return a.times->rank < b.times->rank; });
  return ranks;
}

void add_groups(const std::vector<RankFile>& ranks, TraceHeader& header) {
  for (const RankFile& rank : ranks)
    for (const TorchNode& node : rank.trace.nodes) {
      if (!node.comm || is_nothing(*node.comm)) continue;
      std::vector<int> group = members(node, rank, header.ranks);
      const std::string name = group_name(*node.comm, group);
      if (header.groups.count(name) > 0) continue;
      if (header.ranks == 1) group = {0};
      for (const int member : group)
        if (member < 0 || member >= header.ranks)
          throw InputError(fmt::format(
              "{}: node {}: rank {} of process group {}, but files of {} ranks: give those of all, or of one alone",
              rank.trace.file, node.id, member, shown(node.comm->process_group), header.ranks));
      if (std::set<int>(group.begin(), group.end()).size() != group.size())
        throw InputError(fmt::format("{}: node {}: a process group has a rank twice", rank.trace.file, node.id));
      header.groups[name] = group;
    }
}

class PytorchEt final : public TraceImporter {
 public:
  [[nodiscard]] std::vector<TraceOption> options() const override {
    return {
        {"compute", "without Kineto's timelines: time of each operator on the GPU, e.g. 0us for communication alone"},
        {"step", "operators that begin a step begin with this, ProfilerStep# unless said"}};
  }

  void run(const std::vector<std::string>& files, const TraceOptions& options, TraceSink& sink) const override {
    const std::vector<RankFile> ranks = read_ranks(files);
    const bool timed = ranks.front().times.has_value();
    if (!timed && !options.has("compute"))
      throw InputError(files[0] +
                       ": an execution trace has no times: add Kineto's timeline of each rank to the files, "
                       "or option compute=0us for communication alone");
    if (timed && options.has("compute")) throw InputError("option compute: the timelines of Kineto say it");
    const double compute_s = options.seconds("compute", 0);
    TraceHeader header;
    header.name = trace_file_name(files[0]);
    header.ranks = static_cast<int>(ranks.size());
    header.source = "PyTorch execution trace " + header.name;
    if (timed) header.device = ranks.front().times->device;
    header.notes = {timed ? "compute times of Kineto's timeline of the same run"
                          : "each operator on the GPU computes " + to_text(Seconds{compute_s}),
                    "assumed: the CPU is never late and never waits but for steps; the format has no times of it",
                    "assumed: what uses the storage of a tensor waits for its last use on another stream",
                    "assumed: a barrier is an all_reduce of 4 bytes"};
    if (ranks.size() == 1) header.notes.emplace_back("one rank alone: replay on more by ranks");
    if (std::any_of(ranks.begin(), ranks.end(), any_group_assumed))
      header.notes.emplace_back(
          "assumed: collectives are of all ranks where the trace does not say who is in a process group");
    add_groups(ranks, header);
    sink.header(header);
    std::vector<Calls> calls;
    for (std::size_t i = 0; i < ranks.size(); ++i)
      calls.emplace_back(static_cast<int>(i), ranks[i], header, compute_s, options.text("step", "ProfilerStep#"), sink);
    for (bool more = true; more;) {
      more = false;
      for (Calls& rank : calls)
        if (rank.more()) {
          rank.next();
          more = true;
        }
    }
    for (Calls& rank : calls) rank.end();
  }
};

const bool pytorch_et_registered = trace_importers().add(
    {"pytorch-et", "PyTorch's execution traces (Chakra schema, JSON), one a rank, and Kineto's timelines for the times",
     "S. Sridharan et al., Chakra: Advancing Performance Benchmarking and Co-design using Standardized Execution "
     "Traces, 2023; PyTorch torch/csrc/profiler/standalone/execution_trace_observer.cpp, schemas 1.0.1 to "
     "1.1.1-chakra.0.0.4"},
    [] { return std::make_unique<PytorchEt>(); });

}  // namespace

}  // namespace linkcast
