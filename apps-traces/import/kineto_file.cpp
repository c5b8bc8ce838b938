#include "apps-traces/import/kineto_file.hpp"

#include <algorithm>
#include <cctype>
#include <cmath>
#include <limits>
#include <numeric>
#include <set>
#include <string_view>

#include "apps-traces/import/c10d_names.hpp"
#include "apps-traces/import/kineto_events.hpp"
#include "sim/base/object_reader.hpp"
#include "sim/records/trace.hpp"

namespace linkcast::kineto {
namespace {

double element_B(const std::string& file, std::size_t index, const std::string& type) {
  const auto bytes = c10d_element_B(type);
  if (!bytes) fail(file, index, "args: dtype '" + type + "' of a collective is not known");
  return *bytes;
}

/// None of what is no whole number, or too large for one.
std::optional<int> whole_number(const Json& value) {
  if (!value.is_number_integer()) return std::nullopt;
  const double number = value.get<double>();
  if (std::abs(number) > std::numeric_limits<int>::max()) return std::nullopt;
  return static_cast<int>(number);
}

int whole(const std::string& file, std::size_t index, const Json& args, const char* key) {
  const auto value = args.find(key);
  const auto number = value == args.end() ? std::nullopt : whole_number(*value);
  if (!number) fail(file, index, std::string("args: a collective needs a whole number '") + key + "'");
  return *number;
}

/// @returns  0 if it is not there. @throws InputError  it is no number of at least 0
double amount(const std::string& file, const Event& event, const char* key) {
  const auto value = event.args->find(key);
  if (value == event.args->end()) return 0;
  if (!value->is_number() || value->get<double>() < 0)
    fail(file, event.index, std::string("args: '") + key + "' must be a number of at least 0");
  return value->get<double>();
}

/// Ranks of a process group. Kineto cuts long lists short ("[0, 1, ..., 127]") and older versions have none: where the
/// group has as many ranks as the job, it is all of them.
std::vector<int> members_of(const std::string& file, const Event& event, const RankRecording& into) {
  const int size = whole(file, event.index, *event.args, "Group size");
  const std::string text = text_of(*event.args, "Process Group Ranks");
  const Json members = parse_foreign_json(text, file);
  std::vector<int> ranks;
  if (members.is_array())
    for (const Json& member : members)
      if (const auto rank = whole_number(member)) ranks.push_back(*rank);
  if (static_cast<int>(ranks.size()) == size) return ranks;
  const bool cut = text.empty() || text.find("...") != std::string::npos;
  if (!cut || size != into.ranks || size > kMostRanks)
    fail(file, event.index, "args: 'Process Group Ranks' does not name as many ranks as 'Group size' says");
  ranks.resize(static_cast<std::size_t>(size));
  std::iota(ranks.begin(), ranks.end(), 0);
  return ranks;
}

/// @returns  false if the kernel is none of a collective
bool read_collective(const std::string& file, const Event& event, RankRecording& into, GpuWork& work) {
  const std::string name = text_of(*event.args, "Collective name");
  if (name.empty()) return false;
  const auto op = c10d_operation(name);
  if (!op) fail(file, event.index, "args: collective '" + name + "' is not known");
  work.communicates = true;
  Collective& collective = work.collective;
  collective.op = *op;
  const double element = element_B(file, event.index, text_of(*event.args, "dtype"));
  if (!event.args->contains("In msg nelems") && !event.args->contains("Out msg nelems"))
    fail(file, event.index, "args: a collective needs 'In msg nelems' or 'Out msg nelems'");
  collective.size_B = element * std::max(amount(file, event, "In msg nelems"), amount(file, event, "Out msg nelems"));
  collective.group = text_of(*event.args, "Process Group Name");
  if (const TraceKind kind = kind_of_call(collective.op); kind != TraceKind::kCollective)
    collective.peer = whole(file, event.index, *event.args, kind == TraceKind::kSend ? "Dst Rank" : "Src Rank");
  if (into.groups.count(collective.group) > 0) return true;
  into.groups[collective.group] = members_of(file, event, into);
  return true;
}

/// Operator that describes a collective. source: torch/csrc/distributed/c10d/ParamCommsUtils.hpp
const std::string kDescription = "record_param_comms";
/// The exchange of gradients. source: torch/csrc/distributed/c10d/reducer.cpp: names of what it records
bool exchanges(const std::string& name) {
  static const std::set<std::string> kExchanges{"torch::distributed::reducer::mul_out",
                                                "torch.distributed.ddp.reducer::copy_bucket_to_grad"};
  return kExchanges.count(name) > 0;
}

/// Before the forward pass DDP makes the buffers of all ranks equal: what it calls then, one after the other.
/// source: torch/csrc/distributed/c10d/reducer.cpp, broadcast_coalesced, called by
/// DistributedDataParallel._sync_buffers
const std::string kBufferBroadcast = "c10d::broadcast_";
bool equalises_buffers(const std::string& name) {
  static const std::set<std::string> kCalls{"aten::flatten_dense_tensors", kBufferBroadcast, kDescription,
                                            "aten::unflatten_dense_tensors", "aten::copy_"};
  return kCalls.count(name) > 0;
}

/// Adds the part of each DDP forward pass that only makes buffers equal.
void add_buffer_exchange(const std::vector<Event>& events, Spans& exchange) {
  std::vector<const Event*> calls;
  for (const Event& event : events)
    if (event.category == Category::kOperator) calls.push_back(&event);
  std::sort(calls.begin(), calls.end(), [](const Event* a, const Event* b) { return a->start_s < b->start_s; });
  for (const Event& forward : events) {
    if (forward.category != Category::kAnnotation || forward.name != "DistributedDataParallel.forward") continue;
    double end_s = forward.start_s;
    bool broadcast = false;
    for (const Event* call : calls) {
      if (call->thread != forward.thread || call->start_s < end_s || call->end_s > forward.end_s) continue;
      if (!equalises_buffers(call->name)) break;
      broadcast = broadcast || call->name == kBufferBroadcast;
      end_s = call->end_s;
    }
    if (broadcast) exchange.add(forward.thread, forward.start_s, end_s);
  }
}

int gpu_of(const Json& args, const char* key) {
  const auto value = args.find(key);
  return value == args.end() ? -1 : whole_number(*value).value_or(-1);
}

std::string copy_kind(const std::string& name) {
  if (name.find("HtoD") != std::string::npos) return "h2d";
  if (name.find("DtoH") != std::string::npos) return "d2h";
  if (name.find("PtoP") != std::string::npos) return "d2d";  // DtoD stays in one GPU
  return "";
}

/// The last name of a C++ function, without its template and arguments: readable, and short.
std::string short_name(const std::string& name) {
  const std::string head = name.substr(0, name.find_first_of("<("));
  const std::size_t last = head.find_last_of(": ");
  const std::string bare = last == std::string::npos ? head : head.substr(last + 1);
  return bare.empty() ? name.substr(0, 40) : bare.substr(0, 40);
}

/// source: NCCL src/device/generate.py: ncclDevKernel_ since 2.19, ncclKernel_ before; ncclSymk of symmetric memory
bool of_nccl(const std::string& kernel) { return kernel.rfind("nccl", 0) == 0; }

/// Whose all_reduce a kernel is; empty: no inference engine's. Those of torch's symmetric memory are taken for vLLM's.
/// source: vllm-project/vllm csrc/custom_all_reduce.cuh (SGLang's first version has the same, in a namespace of its
/// own), pytorch/pytorch CUDASymmetricMemoryOps.cu, NVIDIA/TensorRT-LLM allReduceFusionKernels.cu
std::string engine_of(const std::string& kernel) {
  static const std::pair<const char*, const char*> kKernels[] = {{"cross_device_reduce_1stage", "vllm"},
                                                                 {"cross_device_reduce_2stage", "vllm"},
                                                                 {"multimem_all_reduce_kernel", "vllm"},
                                                                 {"two_shot_all_reduce_kernel", "vllm"},
                                                                 {"allreduce_fusion_kernel_oneshot_lamport", "trtllm"},
                                                                 {"allreduce_fusion_kernel_twoshot_sync", "trtllm"}};
  for (const auto& [words, library] : kKernels)
    if (kernel.find(words) != std::string::npos) return kernel.find("sglang") != std::string::npos ? "sglang" : library;
  return "";
}

/// "c10::BFloat16" of an operator is BFloat16 of a collective, "float" is Float.
std::string c10d_type(std::string type) {
  constexpr std::string_view kNamespace = "c10::";
  if (type.starts_with(kNamespace)) return type.substr(kNamespace.size());
  if (!type.empty()) type.front() = static_cast<char>(std::toupper(static_cast<unsigned char>(type.front())));
  return type;
}

/// Bytes of the first tensor that an operator was given, as record_shapes says; 0: it does not say it.
double tensor_B(const Json& args) {
  const auto shapes = args.find("Input Dims"), types = args.find("Input type");
  if (shapes == args.end() || types == args.end() || !shapes->is_array() || !types->is_array()) return 0;
  for (std::size_t i = 0; i < std::min(shapes->size(), types->size()); ++i) {
    const Json &shape = (*shapes)[i], &type = (*types)[i];
    if (!shape.is_array() || shape.empty() || !type.is_string()) continue;
    const auto element = c10d_element_B(c10d_type(type.get<std::string>()));
    double elements = 1;
    for (const Json& length : shape) elements *= length.is_number() ? length.get<double>() : 0;
    if (element && elements > 0) return *element * elements;
  }
  return 0;
}

/// CUDA calls by the number that their work on the GPU carries too, and spans of code that say what it belongs to.
struct Calls {
  std::map<std::string, const Event*> launches;
  std::map<std::string, const Event*> described;  ///< record_param_comms by "External id"
  std::map<std::string, const Event*> shaped;     ///< operators that say what tensors they were given, by the same
  Spans exchange, update;
};

Calls calls_of(const std::vector<Event>& events) {
  Calls calls;
  for (const Event& event : events) {
    if (by_runtime(event)) calls.launches[text_of(*event.args, "correlation")] = &event;
    if (event.category == Category::kOperator && !text_of(*event.args, "Collective name").empty())
      calls.described.emplace(text_of(*event.args, "External id"), &event);
    if (event.category == Category::kOperator && event.args->contains("Input Dims"))
      calls.shaped.emplace(text_of(*event.args, "External id"), &event);
    if (exchanges(event.name)) calls.exchange.add(event);
    if (is_span(event, "Optimizer.step")) calls.update.add(event);
  }
  add_buffer_exchange(events, calls.exchange);
  calls.exchange.sort();
  calls.update.sort();
  return calls;
}

GpuWork work_of(const std::string& file, const Event& event, const Event& launch, const Calls& calls) {
  GpuWork work;
  work.name = short_name(event.name);
  work.whole_name = event.name;
  work.shape =
      event.name + text_of(*event.args, "grid") + text_of(*event.args, "block") + text_of(*event.args, "bytes");
  work.stream = text_of(*event.args, "stream");
  work.start_s = event.start_s;
  work.end_s = event.end_s;
  work.launch_start_s = launch.start_s;
  work.launch_end_s = launch.end_s;
  work.exchange = calls.exchange.contain(launch);
  work.update = calls.update.contain(launch);
  if (event.category == Category::kGpuCopy) {
    work.copy = copy_kind(event.name);
    work.size_B = amount(file, event, "bytes");
    if (work.copy == "d2d") {  // source: pytorch/kineto CuptiActivity.cpp, metadata of a CUPTI_ACTIVITY_KIND_MEMCPY2
      work.from = gpu_of(*event.args, "fromDevice");
      work.to = gpu_of(*event.args, "toDevice");
    }
  }
  return work;
}

/// A collective that the recording does not describe is refused: its time would pass for the GPU's own.
[[noreturn]] void fail_nameless(const std::string& file, const Event& kernel, bool operators) {
  if (operators)
    fail(file, kernel.index, "args: an NCCL kernel without 'Collective name': this PyTorch does not record it");
  throw InputError(file +
                   ": holds CUDA activities alone, in which NCCL's kernels have no operation, size and group: record "
                   "CPU activities too, or both with 'linkcast record'");
}

/// What a kernel of an all_reduce of more than two ranks says of multicast by NVSwitch: its name may; a kernel of fewer
/// threads than NVLS takes is none. Names of rings and trees say nothing: they stand for all that is not specialised.
/// source: models/libraries/SOURCES.md, "Graph era: blocks and threads"; 4 H200 without NVLS, all of whose kernels of
/// Simple are named RING_LL
Multicast multicast_of(const Event& event, std::size_t ranks, const std::string& op) {
  constexpr int kThreadsNvls = 640;
  if (op != "all_reduce" || ranks <= 2) return Multicast::kNothing;
  if (event.name.find("NVLS") != std::string::npos) return Multicast::kOn;
  const auto block = event.args->find("block");
  if (block == event.args->end() || !block->is_array() || block->empty() || !(*block)[0].is_number_integer())
    return Multicast::kUnclear;
  return (*block)[0].get<int>() < kThreadsNvls ? Multicast::kOff : Multicast::kUnclear;
}

/// An engine's own all_reduce, which no operator of torch.distributed describes: of the tensor that its operator was
/// given, by all ranks. @returns  false if it is none, or size or ranks are not recorded
bool read_engine_call(const Event& event, const Calls& calls, RankRecording& into, GpuWork& work) {
  static const std::string kAll = "all ranks";
  const std::string library = engine_of(event.name);
  if (library.empty()) return false;
  const auto by = calls.shaped.find(text_of(*event.args, "External id"));
  const double size_B = by == calls.shaped.end() ? 0 : tensor_B(*by->second->args);
  if (size_B <= 0 || into.ranks < 2) {
    ++into.engine_calls_unread;
    return false;
  }
  into.library = library;
  work.communicates = work.by_engine = true;
  work.collective = {"all_reduce", size_B, kAll};
  std::vector<int>& members = into.groups[kAll];
  members.resize(static_cast<std::size_t>(std::min(into.ranks, kMostRanks)));
  std::iota(members.begin(), members.end(), 0);
  return true;
}

void read_work(const std::string& file, const std::vector<Event>& events, bool named, RankRecording& into) {
  const Calls calls = calls_of(events);
  const bool operators = std::any_of(events.begin(), events.end(),
                                     [](const Event& event) { return event.category == Category::kOperator; });
  for (const Event& event : events) {
    if (!on_gpu(event)) continue;
    const auto launch = calls.launches.find(text_of(*event.args, "correlation"));
    if (launch == calls.launches.end()) continue;  // launched before the recording began
    GpuWork work = work_of(file, event, *launch->second, calls);
    bool described = event.category == Category::kKernel && read_collective(file, event, into, work);
    if (!described && event.category == Category::kKernel &&
        of_nccl(event.name)) {  // by version the operator describes it
      const auto by = calls.described.find(text_of(*event.args, "External id"));
      described = by != calls.described.end() && read_collective(file, *by->second, into, work);
    }
    if (!described && event.category == Category::kKernel && of_nccl(event.name)) {
      if (named) fail_nameless(file, event, operators);
      work.communicates = true;
    }
    if (!described && event.category == Category::kKernel) read_engine_call(event, calls, into, work);
    if (described)
      into.multicast = std::max(into.multicast,
                                multicast_of(event, into.groups.at(work.collective.group).size(), work.collective.op));
    into.work.push_back(std::move(work));
  }
  std::stable_sort(into.work.begin(), into.work.end(),
                   [](const GpuWork& a, const GpuWork& b) { return a.launch_end_s < b.launch_end_s; });
}

/// Waits of a stream for an exchange are those that no call of a collective makes for itself.
void read_waits(const std::vector<Event>& events, RankRecording& into) {
  std::set<std::string> collectives;
  for (const Event& event : events)
    if (on_gpu(event) && event.args->contains("Collective name"))
      collectives.insert(text_of(*event.args, "External id"));
  for (const Event& event : events) {
    if (!by_runtime(event)) continue;
    const WaitCall call = wait_call_of(event.name);
    if (call == WaitCall::kDevice || call == WaitCall::kStream) {
      const bool all = call == WaitCall::kDevice;
      into.waits.push_back({event.start_s, event.end_s, true, all ? "" : text_of(*event.args, "stream"), false, all});
    } else if (call == WaitCall::kStreamForEvent) {
      const bool own = collectives.count(text_of(*event.args, "External id")) > 0;
      into.waits.push_back({event.start_s, event.end_s, false, "", own});
    }
  }
  std::stable_sort(into.waits.begin(), into.waits.end(),
                   [](const HostWait& a, const HostWait& b) { return a.start_s < b.start_s; });
}

void read_distribution(const std::string& file, const Json& json, RankRecording& into) {
  const auto info = json.find("distributedInfo");
  if (info == json.end() || !info->is_object()) return;
  const auto number_of = [&](const char* key, int otherwise) {
    const auto value = info->find(key);
    if (value == info->end()) return otherwise;
    const auto number = whole_number(*value);
    if (!number) throw InputError(file, std::string("/distributedInfo/") + key, "must be a whole number");
    return *number;
  };
  into.rank = number_of("rank", 0);
  into.ranks = number_of("world_size", 1);
}

/// source: torch/profiler/profiler.py, what step() records
constexpr const char* kMark = "ProfilerStep#";

void by_marks(std::vector<std::pair<double, double>> marks, RankRecording& recording) {
  std::sort(marks.begin(), marks.end());
  recording.begins_s = marks.front().first;
  for (std::size_t i = 1; i < marks.size(); ++i)
    if (marks[i - 1].second < marks[i].first) recording.pauses.emplace_back(marks[i - 1].second, marks[i].first);
  std::size_t step = 0;
  for (GpuWork& work : recording.work) {
    while (step + 1 < marks.size() && marks[step + 1].first <= work.launch_start_s) ++step;
    work.step = static_cast<int>(step);
  }
}

void by_optimizer(RankRecording& recording) {
  int step = 0;
  bool updated = false;
  for (GpuWork& work : recording.work) {
    if (updated && !work.update) {
      ++step;
      updated = false;
    }
    updated = updated || work.update;
    work.step = step;
    recording.steps_marked = recording.steps_marked || updated;
  }
}

/// Numbers the steps of a rank's work: by the profiler's own marks (ProfilerStep#) where it has them, else a step ends
/// with the last work of an optimizer.
void number_steps(const std::vector<Event>& events, RankRecording& recording) {
  std::vector<std::pair<double, double>> marks;
  for (const Event& event : events)
    if (is_span(event, kMark)) marks.emplace_back(event.start_s, event.end_s);
  recording.steps_marked = !marks.empty();
  if (marks.empty())
    by_optimizer(recording);
  else
    by_marks(std::move(marks), recording);
}

/// Counts what the profiler wrote down before each launch, on the threads that launch.
void count_recorded(const std::vector<Event>& events, RankRecording& recording) {
  std::set<std::string> started, threads;  // numbers of calls that put work on the GPU
  for (const Event& event : events)
    if (on_gpu(event)) started.insert(text_of(*event.args, "correlation"));
  const auto starts = [&](const Event& event) { return started.count(text_of(*event.args, "correlation")) > 0; };
  for (const Event& event : events)
    if (by_runtime(event) && starts(event)) threads.insert(event.thread);
  std::vector<std::pair<double, int Recorded::*>> counted;
  for (const Event& event : events) {
    if (threads.count(event.thread) == 0) continue;
    if (event.category == Category::kOperator) {
      counted.emplace_back(event.start_s, &Recorded::operators);
      if (event.name == kDescription) counted.emplace_back(event.start_s, &Recorded::collectives);
    } else if (by_runtime(event)) {
      counted.emplace_back(event.end_s, starts(event) ? &Recorded::launches : &Recorded::calls);
    }
  }
  std::stable_sort(counted.begin(), counted.end(), [](const auto& a, const auto& b) { return a.first < b.first; });
  auto next = counted.begin();
  for (GpuWork& work : recording.work)
    for (; next != counted.end() && next->first <= work.launch_end_s; ++next) ++(work.recorded.*(next->second));
}

}  // namespace

RankRecording read_timeline(const std::string& file, const Json& json, bool named) {
  if (!json.is_object() || !json.contains("traceEvents") || !json["traceEvents"].is_array())
    throw InputError(file, "/traceEvents", "must be an array: a Chrome trace as torch.profiler exports it");
  RankRecording recording;
  recording.file = file;
  read_distribution(file, json, recording);
  const auto devices = json.find("deviceProperties");
  if (devices != json.end() && devices->is_array() && !devices->empty() && devices->front().is_object())
    recording.device = text_of(devices->front(), "name");
  const std::vector<Event> events = complete_events(file, json["traceEvents"]);
  for (const Event& event : events)
    if (recording.gpu < 0 && event.category == Category::kKernel) recording.gpu = gpu_of(*event.args, "device");
  read_work(file, events, named, recording);
  read_waits(events, recording);
  if (recording.work.empty()) throw InputError(file, "/traceEvents", "holds no work of a GPU (kernel, gpu_memcpy)");
  // source: torch/csrc/profiler/standalone/execution_trace_observer.cpp, which numbers the operators that it sees
  recording.execution_trace = std::any_of(events.begin(), events.end(), [](const Event& event) {
    const auto id = event.args->find("Record function id");
    return event.category == Category::kOperator && id != event.args->end() && id->is_number() && id->get<double>() > 0;
  });
  number_steps(events, recording);
  count_recorded(events, recording);
  return recording;
}

}  // namespace linkcast::kineto
