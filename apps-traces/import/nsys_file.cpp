#include "apps-traces/import/nsys_file.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <set>
#include <unordered_map>

#include "apps-traces/import/kineto_events.hpp"
#include "apps-traces/import/lines.hpp"
#include "apps-traces/import/nsys_database.hpp"
#include "sim/base/object_reader.hpp"
#include "sim/base/regex.hpp"
#include "sim/records/trace.hpp"

namespace linkcast::nsys {
namespace {

constexpr double kMost_B = 9007199254740992.0;  // source: 2^53, above it doubles are no longer exact

/// The first member of an object, at any depth, whose key begins with a text.
const Json* member(const Json& json, const std::string& key, int depth = 0) {
  constexpr int kDeepest = 8;
  if (depth > kDeepest || !json.is_structured()) return nullptr;
  for (const auto& [name, value] : json.items()) {
    if (json.is_object() && name.starts_with(key)) return &value;
    if (const Json* below = member(value, key, depth + 1)) return below;
  }
  return nullptr;
}

double number(const Json* value, double most) {
  if (!value) return 0;
  double number = 0;
  if (value->is_number()) number = value->get<double>();
  if (value->is_string()) {
    const Json read = parse_foreign_json(value->get<std::string>(), "payload of NCCL's range");
    if (read.is_number()) number = read.get<double>();
  }
  return number > 0 && number <= most ? number : 0;
}

}  // namespace

std::string operation_of_kernel(const std::string& name) {
  // source: NCCL src/device/generate.py; ncclKernel_ before 2.19, ncclSymk of symmetric memory
  static const Regex kernel(
      R"(nccl\w*?Kernel_(AllReduce|AllGather|ReduceScatter|Reduce|Broadcast|SendRecv|AlltoAll).*)");
  const Match match = kernel.whole(name);
  return match ? match[1] : "";
}

/// source: as kineto_file.cpp: a name that starts with nccl is communication in any case
bool is_nccl_kernel(const std::string& name) { return name.starts_with("nccl"); }

void NcclRanges::add(std::int64_t thread, std::int64_t start_ns, const std::string& text, const std::string& payload) {
  // source: NCCL src/collectives.cc and src/init.cc, NVTX3_FUNC_WITH_PARAMS: names of the functions, "Message size
  // [bytes]", "No. of ranks", "NCCL communicator ID"; recalled
  static const Regex call(R"(nccl(AllReduce|AllGather|ReduceScatter|Reduce|Broadcast|Bcast|AlltoAll|CommInitRank\w*))");
  const Match match = call.whole(text);
  if (!match) return;
  const Json said = payload.empty() ? Json() : parse_foreign_json(payload, "payload of NCCL's range");
  if (match[1].starts_with("CommInitRank")) {
    job_ranks_ = std::max(job_ranks_, static_cast<int>(number(member(said, "No. of ranks"), kMostRanks)));
    return;
  }
  NcclCall made{match[1] == "Bcast" ? "Broadcast" : match[1], number(member(said, "Message size"), kMost_B), ""};
  if (const Json* id = member(said, "NCCL communicator"))
    made.communicator = id->is_string() ? id->get<std::string>() : id->dump();
  made_[thread].push_back({start_ns, std::move(made)});
}

std::vector<NcclCall> NcclRanges::take(std::int64_t thread, std::int64_t until_ns, const std::string& op,
                                       std::size_t most) {
  std::vector<NcclCall> taken;
  const auto found = made_.find(thread);
  if (found == made_.end()) return taken;
  std::deque<Made>& made = found->second;
  std::size_t kept = 0, i = 0;
  for (; i < made.size() && made[i].start_ns <= until_ns && taken.size() < most; ++i) {
    if (op.empty() ? taken.empty() || taken.front().op == made[i].call.op : made[i].call.op == op)
      taken.push_back(made[i].call);
    else
      made[kept++] = made[i];
  }
  made.erase(made.begin() + static_cast<std::ptrdiff_t>(kept), made.begin() + static_cast<std::ptrdiff_t>(i));
  return taken;
}

namespace {

constexpr double kPerMicro = 1e-3;  // nanoseconds of the export, microseconds of a Chrome trace

/// source: CUpti_ActivityMemcpyKind and CUpti_ActivitySynchronizationType of CUPTI's cupti_activity.h; recalled
constexpr std::int64_t kToDevice = 1, kToHost = 2, kPeer = 10;
constexpr std::int64_t kStreamWaits = 2;

std::int64_t process_of(std::int64_t thread) {
  constexpr std::int64_t kThreads = 0x1000000;  // source: Nsight Systems' User Guide, globalTid: its low 24 bits
  return thread / kThreads * kThreads;
}

/// Without the version that nsys appends: cudaLaunchKernel_v7000.
std::string call_name(const std::string& name) {
  static const Regex version(R"((\w+?)_v\d+(?:_ptsz|_ptds)?)");
  const Match match = version.whole(name);
  return match ? match[1] : name;
}

struct Span {
  std::int64_t start_ns = 0, end_ns = 0;
};

class Reader {
 public:
  Reader(const std::string& path, std::string step) : path_(path), step_(std::move(step)), database_(path) {}

  Export read() {
    if (!database_.has_table("CUPTI_ACTIVITY_KIND_KERNEL") && !database_.has_table("CUPTI_ACTIVITY_KIND_MEMCPY"))
      throw InputError(
          path_ +
          ": holds neither kernels nor copies of a GPU (tables CUPTI_ACTIVITY_KIND_KERNEL, _MEMCPY): 'nsys "
          "profile --trace=cuda,nvtx' records them");
    if (!database_.has_table("CUPTI_ACTIVITY_KIND_RUNTIME"))
      throw InputError(path_ +
                       ": holds no calls of CUDA (table CUPTI_ACTIVITY_KIND_RUNTIME), which say when the CPU launched "
                       "what: 'nsys profile --trace=cuda,nvtx' records them");
    database_.read("StringIds", {"id", "value"}, "", [&](const Row& row) { strings_[row.whole(0)] = row.text(1); });
    read_kernels();
    read_copies();
    read_sets();
    if (all_.timelines.empty()) throw InputError(path_ + ": holds no work of a GPU");
    read_waits();
    read_ranges();
    check_step();
    read_calls();
    for (const NcclWork& work : nccl_) match(work);
    for (const auto& [number, launch] : launches_)
      if (!launch.seen)
        for (const std::size_t timeline : launch.timelines) ++all_.timelines[timeline].unlaunched;
    for (Timeline& timeline : all_.timelines) timeline.job_ranks = ranges_.job_ranks();
    database_.read("CUPTI_ACTIVITY_KIND_GRAPH_TRACE", {"start"}, "", [&](const Row&) { ++all_.graphs; });
    name_gpus();
    return in_order();
  }

 private:
  /// Of a call that put work on GPUs.
  struct Launch {
    std::set<std::size_t> timelines;
    bool seen = false;
    std::int64_t thread = 0, end_ns = 0;
  };
  using Number = std::pair<std::int64_t, std::int64_t>;  ///< process, correlation
  struct NcclWork {
    std::size_t timeline, kernel;
    Number number;
  };

  std::string string_of(const Row& row, int column) const {
    if (!row.has(column)) return "";
    const auto found = strings_.find(row.whole(column));
    return found == strings_.end() ? "" : found->second;
  }

  /// @param column  of start; that of end follows
  Span span(const Row& row, int column) {
    const Span span{row.whole(column), row.whole(column + 1)};
    if (span.start_ns < 0) row.fail(column, "must not be negative");
    if (span.end_ns < span.start_ns) row.fail(column + 1, "is before the start");
    return span;
  }

  static Json event(const char* category, const std::string& name, const Span& span, const std::string& thread,
                    Json args) {
    return {{"ph", "X"},
            {"cat", category},
            {"name", name},
            {"ts", static_cast<double>(span.start_ns) * kPerMicro},
            {"dur", static_cast<double>(span.end_ns - span.start_ns) * kPerMicro},
            {"tid", thread},
            {"args", std::move(args)}};
  }
  static Json event(const char* category, const std::string& name, const Span& span, std::int64_t thread, Json args) {
    return event(category, name, span, std::to_string(thread), std::move(args));
  }

  /// Columns 0 to 5 of all work: start, end, deviceId, streamId, correlationId, globalPid.
  std::size_t put_work(const Row& row, const char* category, const std::string& name, Json args) {
    constexpr int kDevice = 2, kStream = 3, kCorrelation = 4, kProcess = 5;
    constexpr std::int64_t kMostDevices = 1024;  // far more than a node has. source: ours
    const std::int64_t device = row.whole(kDevice), process = row.whole_or(kProcess, 0);
    if (device < 0 || device >= kMostDevices) row.fail(kDevice, "must be below 1024");
    has_processes_ = has_processes_ || row.has(kProcess);
    const auto [at, fresh] = places_.try_emplace({process, device}, all_.timelines.size());
    if (fresh) {
      Timeline timeline;
      timeline.file = path_;
      timeline.place = fmt::format("process {}, GPU {}", process >> 24 & 0xffffff, device);
      all_.timelines.push_back(std::move(timeline));
    }
    const Number number{process, row.whole(kCorrelation)};
    launches_[number].timelines.insert(at->second);
    args["correlation"] = number.second;
    args["stream"] = row.whole_or(kStream, 0);
    args["device"] = device;
    all_.timelines[at->second].events.push_back(event(category, name, span(row, 0), "gpu", std::move(args)));
    return at->second;
  }

  void read_kernels() {
    constexpr int kName = 6, kShort = 7, kGrid = 8, kBlock = 11;
    database_.read("CUPTI_ACTIVITY_KIND_KERNEL",
                   {"start", "end", "deviceId", "streamId", "correlationId", "globalPid", "demangledName", "shortName",
                    "gridX", "gridY", "gridZ", "blockX", "blockY", "blockZ"},
                   "start", [&](const Row& row) {
                     std::string name = string_of(row, kName);
                     if (name.empty()) name = string_of(row, kShort);
                     const bool nccl = is_nccl_kernel(name);
                     Json args{{"grid", Json::array()}, {"block", Json::array()}};
                     for (int i = 0; i < 3; ++i) {
                       args["grid"].push_back(row.whole_or(kGrid + i, 0));
                       args["block"].push_back(row.whole_or(kBlock + i, 0));
                     }
                     if (nccl) args["External id"] = "nccl";
                     const std::size_t at = put_work(row, "kernel", name, std::move(args));
                     if (!nccl) return;
                     Timeline& timeline = all_.timelines[at];
                     const Json& put = timeline.events.back()["args"];
                     nccl_streams_.insert({at, put["stream"].get<std::int64_t>()});
                     const Number number{row.whole_or(5, 0), row.whole(4)};
                     nccl_.push_back({at, timeline.kernels.size(), number});
                     timeline.kernels.push_back({timeline.events.size() - 1, operation_of_kernel(name)});
                   });
  }

  void read_copies() {
    constexpr int kBytes = 6, kKind = 7, kFrom = 8, kTo = 9;
    database_.read("CUPTI_ACTIVITY_KIND_MEMCPY",
                   {"start", "end", "deviceId", "streamId", "correlationId", "globalPid", "bytes", "copyKind",
                    "srcDeviceId", "dstDeviceId"},
                   "start", [&](const Row& row) {
                     const std::int64_t bytes = row.whole(kBytes), kind = row.whole(kKind);
                     if (bytes < 0) row.fail(kBytes, "must not be negative");
                     Json args{{"bytes", bytes}};
                     if (row.has(kFrom)) args["fromDevice"] = row.whole(kFrom);
                     if (row.has(kTo)) args["toDevice"] = row.whole(kTo);
                     const char* name = kind == kToDevice ? "Memcpy HtoD"
                                        : kind == kToHost ? "Memcpy DtoH"
                                        : kind == kPeer   ? "Memcpy PtoP"
                                                          : "Memcpy DtoD";
                     put_work(row, "gpu_memcpy", name, std::move(args));
                   });
  }

  void read_sets() {
    database_.read("CUPTI_ACTIVITY_KIND_MEMSET", {"start", "end", "deviceId", "streamId", "correlationId", "globalPid"},
                   "start", [&](const Row& row) { put_work(row, "gpu_memset", "Memset (Device)", Json::object()); });
  }

  /// Which stream a call waits for, or makes wait.
  void read_waits() {
    constexpr int kProcess = 0, kCorrelation = 1, kStream = 2, kType = 3;
    database_.read("CUPTI_ACTIVITY_KIND_SYNCHRONIZATION", {"globalPid", "correlationId", "streamId", "syncType"}, "",
                   [&](const Row& row) {
                     if (!row.has(kStream)) return;
                     waits_[{row.whole_or(kProcess, 0), row.whole(kCorrelation)}] = {
                         row.whole(kStream), row.whole_or(kType, 0) == kStreamWaits};
                   });
  }

  void read_ranges() {
    constexpr int kText = 2, kTextId = 3, kThread = 4, kPayload = 5, kPayloadId = 6;
    database_.read(
        "NVTX_EVENTS", {"start", "end", "text", "textId", "globalTid", "jsonText", "jsonTextId"}, "start",
        [&](const Row& row) {
          if (!row.has(0) || !row.has(1)) return;  // a mark, a name, a range without its end
          std::string text = row.text(kText);
          if (text.empty()) text = string_of(row, kTextId);
          std::string payload = row.text(kPayload);
          if (payload.empty()) payload = string_of(row, kPayloadId);
          const Span when = span(row, 0);
          const std::int64_t thread = row.whole_or(kThread, 0);
          ranges_.add(thread, when.start_ns, text, payload);
          constexpr std::size_t kSome = 3;
          if (some_ranges_.size() < kSome && !text.empty() && !text.starts_with("nccl")) some_ranges_.insert(text);
          if (!step_.empty() && text.starts_with(step_)) {
            text = "ProfilerStep#" + text;
            has_step_ = true;
          }
          const bool marks = text.starts_with("ProfilerStep#") || text.starts_with("Optimizer.step");
          if (!marks) return;
          for (const auto& [key, at] : places_)
            if (key.first == of_thread(thread))
              all_.timelines[at].events.push_back(event("user_annotation", text, when, thread, Json::object()));
        });
  }

  void check_step() const {
    if (step_.empty() || has_step_) return;
    std::string some;
    for (const std::string& text : some_ranges_) some += (some.empty() ? ", but " : ", ") + shown(text);
    throw InputError("option step: no range of NVTX in " + path_ + " begins with " + shown(step_) +
                     (some.empty() ? ": it holds none, record with 'nsys profile --trace=cuda,nvtx'" : some));
  }

  [[nodiscard]] std::int64_t of_thread(std::int64_t thread) const { return has_processes_ ? process_of(thread) : 0; }

  void read_calls() {
    constexpr int kThread = 2, kCorrelation = 3, kName = 4;
    database_.read("CUPTI_ACTIVITY_KIND_RUNTIME", {"start", "end", "globalTid", "correlationId", "nameId"}, "start",
                   [&](const Row& row) {
                     const std::int64_t thread = row.whole_or(kThread, 0);
                     const Number number{of_thread(thread), row.whole_or(kCorrelation, 0)};
                     const std::string name = call_name(string_of(row, kName));
                     const Span when = span(row, 0);
                     Json args{{"correlation", number.second}};
                     if (const auto launch = launches_.find(number); launch != launches_.end()) {
                       launch->second.seen = true;
                       launch->second.thread = thread;
                       launch->second.end_ns = when.end_ns;
                       for (const std::size_t at : launch->second.timelines)
                         all_.timelines[at].events.push_back(event("cuda_runtime", name, when, thread, args));
                       return;
                     }
                     put_wait(name, when, thread, number, args);
                   });
  }

  void put_wait(const std::string& name, const Span& when, std::int64_t thread, const Number& number, Json args) {
    const kineto::WaitCall call = kineto::wait_call_of(name);
    if (call == kineto::WaitCall::kNone) return;
    const bool waits = call != kineto::WaitCall::kStreamForEvent;
    const auto wait = waits_.find(number);
    if (wait != waits_.end()) args["stream"] = wait->second.first;
    for (const auto& [key, at] : places_) {
      if (key.first != number.first) continue;
      Json its = args;  // a stream of NCCL waits for what it reads: the call of a collective makes it for itself
      if (!waits && wait != waits_.end() && wait->second.second && nccl_streams_.count({at, wait->second.first}) > 0)
        its["External id"] = "nccl";
      all_.timelines[at].events.push_back(event("cuda_runtime", name, when, thread, std::move(its)));
    }
  }

  void match(const NcclWork& work) {
    const Launch& launch = launches_.at(work.number);
    NcclKernel& kernel = all_.timelines[work.timeline].kernels[work.kernel];
    if (!launch.seen) return;
    const auto gpus = std::count_if(places_.begin(), places_.end(),
                                    [&](const auto& place) { return place.first.first == work.number.first; });
    const std::size_t most = gpus > 1 ? 1 : std::numeric_limits<std::size_t>::max();  // one thread calls for each GPU
    kernel.calls = ranges_.take(launch.thread, launch.end_ns, kernel.op, most);
  }

  void name_gpus() {
    std::map<std::int64_t, std::string> names;
    database_.read("TARGET_INFO_GPU", {"id", "name"}, "", [&](const Row& row) { names[row.whole(0)] = row.text(1); });
    for (const auto& [key, at] : places_) {
      const auto named = names.find(key.second);
      if (!names.empty()) all_.timelines[at].gpu = named != names.end() ? named->second : names.begin()->second;
    }
  }

  Export in_order() {
    Export sorted;
    sorted.graphs = all_.graphs;
    for (const auto& [key, at] : places_) sorted.timelines.push_back(std::move(all_.timelines[at]));
    return sorted;
  }

  const std::string& path_;
  std::string step_;
  Database database_;
  std::unordered_map<std::int64_t, std::string> strings_;
  std::map<std::pair<std::int64_t, std::int64_t>, std::size_t> places_;  ///< timeline of a process and device
  std::map<Number, Launch> launches_;
  std::map<Number, std::pair<std::int64_t, bool>> waits_;        ///< stream, and whether it is the one that waits
  std::set<std::pair<std::size_t, std::int64_t>> nccl_streams_;  ///< timeline, stream
  std::vector<NcclWork> nccl_;
  NcclRanges ranges_;
  bool has_processes_ = false, has_step_ = false;
  std::set<std::string> some_ranges_;  ///< for who names a step that there is not
  Export all_;
};

}  // namespace

Export read_export(const std::string& path, const std::string& step) { return Reader(path, step).read(); }

}  // namespace linkcast::nsys
