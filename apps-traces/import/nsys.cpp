// SQLite exports of Nsight Systems into a trace: each GPU of each process is a rank.
#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "apps-traces/import/nsys_file.hpp"
#include "apps-traces/import/recorded_trace.hpp"

namespace linkcast::nsys {
namespace {

/// Events that the kernels of NCCL became.
struct Found {
  int sized = 0, unsized = 0, messages = 0;
  bool communicators = true;  ///< all of them were told
};

struct Operation {
  const char* c10d;  ///< as the profiler of PyTorch calls it
  bool per_rank;     ///< the printed size is that of one rank's part
};

const Operation* operation(const std::string& nccl) {
  static const std::map<std::string, Operation> kAll{{"AllReduce", {"allreduce", false}},
                                                     {"Broadcast", {"broadcast", false}},
                                                     {"Reduce", {"reduce", false}},
                                                     {"AllGather", {"_allgather_base", true}},
                                                     {"ReduceScatter", {"_reduce_scatter_base", true}},
                                                     {"AlltoAll", {"alltoall", true}}};
  const auto found = kAll.find(nccl);
  return found == kAll.end() ? nullptr : &found->second;
}

/// Ranks that use a communicator; those that no range names are of all ranks.
std::map<std::string, std::vector<int>> groups_of(const std::vector<Timeline>& timelines, int ranks) {
  std::map<std::string, std::set<int>> users;
  for (std::size_t rank = 0; rank < timelines.size(); ++rank)
    for (const NcclKernel& kernel : timelines[rank].kernels)
      for (const NcclCall& call : kernel.calls) users[call.communicator].insert(static_cast<int>(rank));
  std::map<std::string, std::vector<int>> groups;
  for (auto& [name, members] : users) {
    const bool all = name.empty() || timelines.size() == 1;
    for (int rank = 0; all && rank < ranks; ++rank) members.insert(rank);
    groups[name] = {members.begin(), members.end()};
  }
  return groups;
}

/// Writes what a kernel of NCCL was where PyTorch's profiler does. @returns  whether its operation and size are known
bool describe(const NcclKernel& kernel, const std::map<std::string, std::vector<int>>& groups, Json& event) {
  if (kernel.calls.empty()) return false;
  const NcclCall& first = kernel.calls.front();
  const Operation* op = operation(first.op);
  const std::vector<int>& members = groups.at(first.communicator);
  if (!op || members.size() < 2) return false;
  double size_B = 0;
  for (const NcclCall& call : kernel.calls) {
    if (!(call.size_B > 0) || call.communicator != first.communicator) return false;
    size_B += call.size_B * (op->per_rank ? static_cast<double>(members.size()) : 1);
  }
  constexpr double kMost_B = 9007199254740992.0;  // source: 2^53, above it doubles are no longer exact
  if (size_B > kMost_B) return false;
  Json& args = event["args"];
  args["Collective name"] = op->c10d;
  args["dtype"] = "Byte";
  args["In msg nelems"] = size_B;
  args["Process Group Name"] = first.communicator.empty() ? "all" : first.communicator;
  args["Group size"] = members.size();
  args["Process Group Ranks"] = Json(members).dump();
  return true;
}

kineto::RankRecording recording_of(Timeline& timeline, int rank, int ranks,
                                   const std::map<std::string, std::vector<int>>& groups, Found& found) {
  for (const NcclKernel& kernel : timeline.kernels) {
    if (describe(kernel, groups, timeline.events[kernel.event])) {
      ++found.sized;
      found.communicators = found.communicators && !kernel.calls.front().communicator.empty();
    } else {
      ++(kernel.op == "SendRecv" ? found.messages : found.unsized);
    }
  }
  Json json{{"traceEvents", std::move(timeline.events)}};
  if (!timeline.gpu.empty()) json["deviceProperties"] = Json::array({{{"name", timeline.gpu}}});
  kineto::RankRecording recording;
  try {
    recording = kineto::read_timeline(timeline.file, json, false);
  } catch (const InputError&) {
    if (timeline.unlaunched == 0) throw;
    throw InputError(timeline.file + ": " + timeline.place + ": none of its work was launched by a call of CUDA that " +
                     "the recording holds: 'nsys profile --trace=cuda,nvtx' records these calls");
  }
  for (kineto::GpuWork& work : recording.work)
    if (work.collective.op.empty()) work.communicates = false;
  recording.rank = rank;
  recording.ranks = ranks;
  return recording;
}

int ranks_of(const std::vector<Timeline>& timelines, const TraceOptions& options) {
  const int given = static_cast<int>(timelines.size());
  int said = 0;
  bool any = false;
  for (const Timeline& timeline : timelines) {
    said = std::max(said, timeline.job_ranks);
    for (const NcclKernel& kernel : timeline.kernels) any = any || !kernel.calls.empty();
  }
  if (given > 1 && said > given)
    throw InputError(
        fmt::format("{}: of a job of {} ranks, and files of {} GPUs are given: give those of all, or of one alone",
                    timelines.front().file, said, given));
  if (options.has("ranks") && (given > 1 || !any)) {
    if (options.whole("ranks", 0) == given) return given;
    const std::string why = given > 1 ? fmt::format("they hold {} GPUs, each of which is a rank", given)
                                      : "no range of NVTX says what its GPU calls of NCCL";
    throw InputError("option ranks: is for one GPU that calls NCCL, alone: " + timelines.front().file + ": " + why);
  }
  if (given > 1 || !any) return given;
  const int ranks = options.whole("ranks", said);
  if (ranks < 2 || ranks > kMostRanks)
    throw InputError("option ranks: is needed, ranks=8: " + timelines.front().file +
                     " holds one GPU that calls NCCL, and not how many ranks take part");
  return ranks;
}

std::string counted(std::int64_t count, const std::string& what) {
  return fmt::format("{} {}{}", count, what, count == 1 ? "" : "s");
}

std::vector<std::string> notes_of(const std::vector<Timeline>& timelines, const Found& found, std::int64_t graphs) {
  std::vector<std::string> notes;
  if (timelines.size() > 1) notes.push_back("assumed: ranks are in the order of files, processes and GPUs");
  if (found.sized > 0)
    notes.push_back("assumed: a kernel of NCCL stands for the calls of its operation before its launch on its thread");
  if (found.sized > 0 && !found.communicators)
    notes.push_back("assumed: collectives are of all ranks: ranges of NCCL name no communicator");
  if (found.unsized > 0)
    notes.push_back("kept as compute, waiting for other ranks included: " + counted(found.unsized, "kernel") +
                    " of NCCL whose operation and size no range of NVTX says ('nsys profile --trace=cuda,nvtx')");
  if (found.messages > 0)
    notes.push_back("kept as compute, waiting for other ranks included: " + counted(found.messages, "kernel") +
                    " of sends and receives of NCCL, whose ends an export does not say");
  std::int64_t unlaunched = 0;
  for (const Timeline& timeline : timelines) unlaunched += timeline.unlaunched;
  if (unlaunched > 0)
    notes.push_back(fmt::format("left out: work of {} calls that the recording does not hold", unlaunched));
  if (graphs > 0)
    notes.push_back(
        fmt::format("left out: {} launches of CUDA graphs recorded as a whole: 'nsys profile --cuda-graph-trace=node' "
                    "lists their kernels",
                    graphs));
  return notes;
}

class Nsys final : public TraceImporter {
 public:
  [[nodiscard]] ReadingCost cost() const override {
    // source: half of what a database of nothing but what is read takes: exports have twice as many columns and more
    // tables, which is assumed
    return {1.2e-7, 13};
  }
  [[nodiscard]] std::vector<TraceOption> options() const override {
    std::vector<TraceOption> all = kineto::recording_options("nsys");
    all.insert(all.end(),
               {{"step",
                 "ranges of NVTX that begin with this are steps, e.g. iteration; else "
                 "ProfilerStep# and Optimizer.step are looked for"},
                {"ranks", "how many take part, where one GPU is given and ncclCommInitRank was not recorded"},
                {"machine", "platform that was recorded, for step-time; unless said, the one with its GPUs"},
                {"edits", "of the machine for step-time, with ; between: 'disable p2p'"}});
    return all;
  }

  void run(const std::vector<std::string>& files, const TraceOptions& options, TraceSink& sink) const override {
    std::vector<Timeline> timelines;
    std::int64_t graphs = 0;
    for (const std::string& file : files) {
      Export read = read_export(file, options.text("step", ""));
      graphs += read.graphs;
      std::move(read.timelines.begin(), read.timelines.end(), std::back_inserter(timelines));
    }
    const int ranks = ranks_of(timelines, options);
    const auto groups = groups_of(timelines, ranks);
    Found found;
    std::vector<kineto::RankRecording> recordings;
    for (std::size_t i = 0; i < timelines.size(); ++i)
      recordings.push_back(recording_of(timelines[i], static_cast<int>(i), ranks, groups, found));
    if (recordings.size() == 1 && ranks > 1) kineto::take_alone(recordings.front());
    kineto::write_recordings({"nsys", "recorded by Nsight Systems", notes_of(timelines, found, graphs)},
                             std::move(recordings), options, sink);
  }
};

const bool nsys_registered = trace_importers().add(
    {"nsys", "SQLite exports of Nsight Systems (nsys export --type sqlite), one a process or node",
     "NVIDIA Nsight Systems User Guide, SQLite Schema Reference; NCCL src/include/nvtx.h"},
    [] { return std::make_unique<Nsys>(); });

}  // namespace
}  // namespace linkcast::nsys
