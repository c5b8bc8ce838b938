// What a host pays to issue work to GPUs, by who issues it: the other half of every time that people measure.
// Measures: NCCL calls, kernels, copies and plain CUDA calls, issued by one thread for all GPUs, by one thread a GPU,
// by one process a GPU and as CUDA graphs; call after call, and one at a time from rest. Excludes: PyTorch
// (launch_pytorch.py writes a record of the same schema); data checks (nccl_ops makes them). Method:
// launch_request.hpp. All issuers start each run together, by a spinning barrier in shared memory.
#include <algorithm>
#include <map>
#include <tuple>

#include "calibrate/bench/bench.hpp"
#include "calibrate/bench/launch_request.hpp"
#include "calibrate/bench/nccl_sizes.hpp"
#include "calibrate/bench/nccl_worker.hpp"

namespace linkcast::bench {
namespace {

constexpr std::size_t kLargest = std::size_t{64} << 20;
constexpr std::size_t kFew = std::size_t{1} << 20;  // from here on fewer calls: the device is what takes the time

const std::vector<std::string> kCollectives = {"all_reduce", "all_gather", "reduce_scatter", "broadcast",
                                               "reduce",     "alltoall",   "sendrecv"};

/// One point before it is asked for.
struct Case {
  std::string launch, issuers;  // graph, process, single_process; one_thread, threads, processes
  std::string op;
  int gpus = 1;
  std::size_t bytes = 0;
  int sends = 1, communicators = 1, calls_per_graph = 0;
};

class Launch final : public Bench {
 public:
  explicit Launch(bool held_out) : held_out_(held_out) {}

  std::optional<std::string> can_run(const Context& context) const override {
    if (!nccl_version(context.options.nccl)) return "no usable libnccl.so.2, or built without nccl.h (see --nccl)";
    return std::nullopt;
  }
  std::vector<Point> points(Context& context) override;
  Json method(const Context& context) const override;

 private:
  [[nodiscard]] std::vector<std::size_t> sizes(std::size_t step) const;
  [[nodiscard]] std::vector<Case> nccl_cases(const std::vector<std::string>& operations, std::size_t step,
                                             int gpus) const;
  static std::vector<Case> cuda_cases(bool quick, int gpus);
  Json run(Context& context, const Case& which, int round);

  bool held_out_;
  std::unique_ptr<NcclWorker> worker_;
  std::tuple<std::string, int, int> running_;
};

/// From 8 B, each so many times the one before; held out: those between, from 16 B. @param step  a power of 4
std::vector<std::size_t> Launch::sizes(std::size_t step) const {
  std::vector<std::size_t> all;
  for (std::size_t size = held_out_ ? 16 : 8; size <= kLargest; size *= step) all.push_back(size);
  if (!held_out_ && all.back() < kLargest) all.push_back(kLargest);
  return all;
}

std::vector<Case> Launch::nccl_cases(const std::vector<std::string>& operations, std::size_t step, int gpus) const {
  constexpr int kCallsPerGraph = 20;  // what nccl-tests captures: its iterations
  std::vector<Case> all;
  for (const std::string& op : operations)
    for (const std::size_t size : sizes(step)) {
      const std::size_t bytes = rounded_size(op, size, gpus);
      if (bytes == 0) continue;
      all.push_back({gpus > 1 ? "single_process" : "process", "one_thread", op, gpus, bytes});
      all.push_back({"graph", "one_thread", op, gpus, bytes, 1, 1, kCallsPerGraph});
      if (!held_out_) all.push_back({"graph", "one_thread", op, gpus, bytes, 1, 1, 1});
      if (gpus == 1) continue;
      for (const char* issuers : {"threads", "processes"}) all.push_back({"process", issuers, op, gpus, bytes});
      all.push_back({"graph", "processes", op, gpus, bytes, 1, 1, kCallsPerGraph});
    }
  if (gpus == 1 || held_out_) return all;
  for (const std::size_t bytes : {std::size_t{8}, std::size_t{32} << 10})
    for (const int more : {2, 4, 8, 16}) {
      all.push_back({"single_process", "one_thread", "sendrecv", gpus, bytes, more});
      all.push_back({"process", "processes", "sendrecv", gpus, bytes, more});
      all.push_back({"process", "threads", "sendrecv", gpus, bytes, more});
      if (more > 4) continue;  // a group of so many communicators: what more GPUs in a group cost
      for (const std::string& op : operations)
        if (const std::size_t whole = rounded_size(op, bytes, gpus); whole > 0)
          all.push_back({"single_process", "one_thread", op, gpus, whole, 1, more});
    }
  return all;
}

std::vector<Case> Launch::cuda_cases(bool quick, int gpus) {
  std::vector<Case> all;
  for (const std::string& op : launch_cuda_ops()) {
    std::vector<std::size_t> sizes = {4};
    if (op.rfind("copy_", 0) == 0)
      for (std::size_t size = 64; size <= kLargest; size *= quick ? 256 : 16) sizes.push_back(size);
    for (const std::size_t bytes : sizes) {
      all.push_back({gpus > 1 ? "single_process" : "process", "one_thread", op, gpus, bytes});
      if (gpus > 1)
        for (const char* issuers : {"threads", "processes"}) all.push_back({"process", issuers, op, gpus, bytes});
      if (is_host_call(op) || bytes > kFew) continue;
      for (const int calls : {1, 20}) all.push_back({"graph", "one_thread", op, gpus, bytes, 1, 1, calls});
    }
  }
  return all;
}

std::vector<Point> Launch::points(Context& context) {
  constexpr std::size_t kAll = 4, kSome = 16, kFew = 64;
  const bool many = context.gpus > 2, quick = context.options.quick;
  std::vector<Case> cases;
  if (held_out_) {
    cases = nccl_cases(kCollectives, quick ? kFew : many ? kSome : kAll, context.gpus);
  } else {
    // More than two show what a further one costs its host: few sizes of few operations, none of one GPU.
    const std::vector<std::string> some = {"all_reduce", "all_gather", "alltoall", "sendrecv"};
    for (const int gpus : counts_of(context.gpus, {many ? 2 : 1})) {
      for (const Case& one : cuda_cases(quick || many, gpus)) cases.push_back(one);
      for (const Case& one : nccl_cases(many ? some : kCollectives, quick || many || gpus == 1 ? kFew : kAll, gpus))
        cases.push_back(one);
    }
  }
  // A host issues faster or slower by a third from one start of its processes to the next: each round starts them anew
  // for its share of the points that differ in operation and bytes alone.
  const int rounds = quick ? 1 : many ? 2 : 3;
  std::map<std::tuple<std::string, std::string, int, int>, int> seen;
  std::vector<Point> all;
  for (const Case& one : cases) {
    const int round = seen[{one.launch, one.issuers, one.gpus, one.calls_per_graph}]++ % rounds + 1;
    Json gpus = Json::array();
    for (int gpu = 0; gpu < one.gpus; ++gpu) gpus.push_back(gpu);
    Json key{{"launch", one.launch}, {"issuers", one.issuers}, {"op", one.op}, {"gpus", gpus}, {"size_B", one.bytes}};
    if (one.sends > 1) key["sends"] = one.sends;
    if (one.communicators > 1) key["communicators"] = one.communicators;
    if (one.calls_per_graph > 0) key["calls_per_graph"] = one.calls_per_graph;
    const std::string group =
        "round " + std::to_string(round) + ", " + std::to_string(one.gpus) + " GPUs, " + one.issuers;
    all.push_back({key, group, [this, &context, one, round] { return run(context, one, round); }});
  }
  // One round after the other, in it one set of issuers after the other.
  std::stable_sort(all.begin(), all.end(), [](const Point& a, const Point& b) { return a.group < b.group; });
  return all;
}

Json Launch::run(Context& context, const Case& which, int round) {
  constexpr int kMany = 200, kSome = 20, kRepetitions = 9, kFewRepetitions = 5;
  if (const std::tuple now{which.issuers, which.gpus, round}; !worker_ || running_ != now) {
    worker_.reset();
    running_ = now;
    worker_ = std::make_unique<NcclWorker>(
        std::vector<std::string>{kLaunchFlag, context.options.nccl, which.issuers, std::to_string(which.gpus)},
        context.options.nccl_env);
  }
  const bool large = which.bytes >= kFew;
  try {
    Json answer = worker_->ask({{"op", which.op},
                                {"size_B", which.bytes},
                                {"sends", which.sends},
                                {"communicators", which.communicators},
                                {"calls_per_graph", which.calls_per_graph},
                                {"calls", large ? kSome : kMany},
                                {"repetitions", large || context.options.quick ? kFewRepetitions : kRepetitions},
                                {"held", !is_host_call(which.op) && which.bytes <= (std::size_t{16} << 20)}});
    answer["round"] = round;
    return answer;
  } catch (const Waived&) {
    worker_.reset();  // it may be in any state
    throw;
  }
}

Json Launch::method(const Context& context) const {
  std::string settings = "NCCL_NVLS_ENABLE=0";
  for (const auto& [name, value] : context.options.nccl_env) settings += ", " + name + "=" + value;
  return {
      {"nccl", nccl_version(context.options.nccl).value_or("none")},
      {"settings", settings + "; other NCCL_ variables dropped; peer access on; threads are not pinned to cores"},
      {"launch",
       "single_process: one thread issues for all GPUs in one NCCL group; process: an issuer a GPU; graph: calls "
       "captured into CUDA graphs, calls_per_graph of them launched as one, one graph a GPU"},
      {"issuers", "one_thread: for all GPUs; threads, processes: one a GPU; all start each run together"},
      {"size_B", "the size column of nccl-tests; of each send where there are several sends"},
      {"sends", "sends, and as many receives, of each GPU in one group"},
      {"round", "points of one round and one set of issuers were issued by the same processes, started anew for each"},
      {"communicators", "calls of so many communicators over the same GPUs, each on its own stream, in one group"},
      {"copy",
       "copy_peer_*: to the next GPU of the machine, issued on the source; ce: cudaMemcpyPeerAsync (in graphs "
       "cudaMemcpyAsync), sm: a kernel"},
      {"kernel", "one thread that stores one word"},
      {"times_s",
       "seconds a call (a graph's time by its calls_per_graph): quantiles 5, 25, 50, 75, 95 % over repetitions; host "
       "clock but for device"},
      {"steady", "200 calls (20 from 1 MiB), then all streams synchronised; the slowest issuer; 9 (5) repetitions"},
      {"short", "the same with 20 calls, the default of nccl-tests"},
      {"rest", "one call and the synchronisation of all streams, GPUs idle before; the slowest issuer"},
      {"rest_issue", "the call's own part of rest; mean over issuers"},
      {"issue", "16 calls while a spinning kernel holds every stream: the host alone; mean over issuers"},
      {"device", "CUDA events around those 16 calls once released: the device alone; the slowest GPU"}};
}

const bool registered =
    add_bench({"launch", "what the host pays to issue NCCL calls, kernels and copies, by launch kind", "host", 90, true,
               "launch/1"},
              [] { return std::make_unique<Launch>(false); });
const bool registered_held_out = add_bench(
    {"launch_ops", "held out: NCCL calls by launch kind at other sizes, all GPUs", "host", 91, false, "launch/1"},
    [] { return std::make_unique<Launch>(true); });

}  // namespace
}  // namespace linkcast::bench
