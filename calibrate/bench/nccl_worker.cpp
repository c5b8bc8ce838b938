#include "calibrate/bench/nccl_worker.hpp"

#if !defined(LINKCAST_WITHOUT_NCCL) && __has_include(<nccl.h>)

#include <dlfcn.h>
#include <nccl.h>

#include <cstdio>
#include <iostream>

#include "calibrate/bench/cuda_check.hpp"
#include "calibrate/bench/kernels.hpp"

namespace linkcast::bench {
namespace {

constexpr int kReplyDescriptor = 3;

/// The NCCL entry points in use, from a library loaded at run time.
class Nccl {
  void* library_;  // first: the members below are looked up in it. Stays loaded: NCCL cannot be unloaded

 public:
  explicit Nccl(const std::string& path)
      : library_(dlopen(path.empty() ? "libnccl.so.2" : path.c_str(), RTLD_NOW | RTLD_LOCAL)) {
    if (library_ == nullptr) throw Waived(dlerror());
  }

  decltype(&ncclGetVersion) get_version = load("ncclGetVersion");
  decltype(&ncclGetErrorString) get_error_string = load("ncclGetErrorString");
  decltype(&ncclCommInitAll) comm_init_all = load("ncclCommInitAll");
  decltype(&ncclCommDestroy) comm_destroy = load("ncclCommDestroy");
  decltype(&ncclGroupStart) group_start = load("ncclGroupStart");
  decltype(&ncclGroupEnd) group_end = load("ncclGroupEnd");
  decltype(&ncclAllReduce) all_reduce = load("ncclAllReduce");
  decltype(&ncclAllGather) all_gather = load("ncclAllGather");
  decltype(&ncclReduceScatter) reduce_scatter = load("ncclReduceScatter");
  decltype(&ncclBroadcast) broadcast = load("ncclBroadcast");
  decltype(&ncclSend) send = load("ncclSend");
  decltype(&ncclRecv) recv = load("ncclRecv");

  void check(ncclResult_t result, const char* what) const {
    if (result != ncclSuccess) throw Waived(std::string("NCCL: ") + what + ": " + get_error_string(result));
  }

 private:
  struct Symbol {
    void* address;
    template <class Function>
    operator Function*() const {  // NOLINT(google-explicit-constructor): takes the type of the member it initialises
      return reinterpret_cast<Function*>(address);
    }
  };
  [[nodiscard]] Symbol load(const char* name) const {
    void* symbol = dlsym(library_, name);
    if (symbol == nullptr) throw Waived(std::string("libnccl has no ") + name);
    return {symbol};
  }
};

/// The communicators of one set of GPUs with their buffers.
class Group {
 public:
  Group(const Nccl& nccl, std::vector<int> gpus) : gpus_(std::move(gpus)), nccl_(nccl), timer_(gpus_) {
    communicators_.resize(gpus_.size());
    nccl_.check(nccl_.comm_init_all(communicators_.data(), size(), gpus_.data()), "ncclCommInitAll");
  }
  ~Group() {
    for (ncclComm_t communicator : communicators_) nccl_.comm_destroy(communicator);
  }
  Group(const Group&) = delete;
  Group& operator=(const Group&) = delete;

  [[nodiscard]] const std::vector<int>& gpus() const { return gpus_; }
  Json measure(const NcclRequest& request);

 private:
  [[nodiscard]] int size() const { return static_cast<int>(gpus_.size()); }
  void reserve(std::size_t bytes);
  void fill(std::size_t bytes);
  void call(const std::string& op, std::size_t count, const Streams& streams);
  ncclResult_t call_rank(const std::string& op, std::size_t count, int rank, cudaStream_t stream);
  bool verify(const std::string& op, std::size_t count);
  unsigned long long wrong_values(const std::string& op, std::size_t count, int rank);

  std::vector<int> gpus_;
  const Nccl& nccl_;
  LaneTimer timer_;
  std::vector<ncclComm_t> communicators_;
  std::vector<DeviceMemory> send_, receive_, counters_;
  std::size_t capacity_ = 0;
};

void Group::reserve(std::size_t bytes) {
  if (bytes <= capacity_) return;
  send_.clear();
  receive_.clear();
  counters_.clear();
  for (const int gpu : gpus_) {
    send_.push_back(allocate(gpu, bytes));
    receive_.push_back(allocate(gpu, bytes));
    counters_.push_back(allocate(gpu, sizeof(unsigned long long)));
  }
  capacity_ = bytes;
}

void Group::fill(std::size_t bytes) {
  constexpr int kNotANumber = 0xFF;
  for (int rank = 0; rank < size(); ++rank) {
    const auto index = static_cast<std::size_t>(rank);
    CUDA_CHECK(cudaSetDevice(gpus_[index]));
    launch_rank_values(static_cast<float*>(send_[index].get()), bytes / sizeof(float), rank, nullptr);
    CUDA_CHECK(cudaMemset(receive_[index].get(), kNotANumber, bytes));
    CUDA_CHECK(cudaDeviceSynchronize());
  }
}

// `count`: floats of the whole buffer ("size" of nccl-tests) for every op.
ncclResult_t Group::call_rank(const std::string& op, std::size_t count, int rank, cudaStream_t stream) {
  const auto index = static_cast<std::size_t>(rank);
  const std::size_t share = count / gpus_.size();
  const auto* send = static_cast<const float*>(send_[index].get());
  auto* receive = static_cast<float*>(receive_[index].get());
  ncclComm_t communicator = communicators_[index];
  if (op == "all_reduce") return nccl_.all_reduce(send, receive, count, ncclFloat, ncclSum, communicator, stream);
  if (op == "all_gather") return nccl_.all_gather(send, receive, share, ncclFloat, communicator, stream);
  if (op == "reduce_scatter")
    return nccl_.reduce_scatter(send, receive, share, ncclFloat, ncclSum, communicator, stream);
  if (op == "broadcast") return nccl_.broadcast(send, receive, count, ncclFloat, 0, communicator, stream);
  if (op == "sendrecv") {
    nccl_.check(nccl_.send(send, count, ncclFloat, (rank + 1) % size(), communicator, stream), "ncclSend");
    return nccl_.recv(receive, count, ncclFloat, (rank + size() - 1) % size(), communicator, stream);
  }
  if (op != "alltoall") throw Waived("no op '" + op + "'");
  for (int peer = 0; peer < size(); ++peer) {
    const std::size_t at = static_cast<std::size_t>(peer) * share;
    nccl_.check(nccl_.send(send + at, share, ncclFloat, peer, communicator, stream), "ncclSend");
    nccl_.check(nccl_.recv(receive + at, share, ncclFloat, peer, communicator, stream), "ncclRecv");
  }
  return ncclSuccess;
}

void Group::call(const std::string& op, std::size_t count, const Streams& streams) {
  nccl_.check(nccl_.group_start(), "ncclGroupStart");
  for (int rank = 0; rank < size(); ++rank)
    nccl_.check(call_rank(op, count, rank, streams[static_cast<std::size_t>(rank)]), op.c_str());
  nccl_.check(nccl_.group_end(), "ncclGroupEnd");
}

unsigned long long Group::wrong_values(const std::string& op, std::size_t count, int rank) {
  const auto index = static_cast<std::size_t>(rank);
  const std::size_t share = count / gpus_.size(), mine = index * share;
  const auto* data = static_cast<const float*>(receive_[index].get());
  auto* counter = static_cast<unsigned long long*>(counters_[index].get());
  CUDA_CHECK(cudaSetDevice(gpus_[index]));
  CUDA_CHECK(cudaMemset(counter, 0, sizeof *counter));
  const int previous = (rank + size() - 1) % size();
  if (op == "all_reduce") launch_rank_check(data, count, 0, size(), 0, counter, nullptr);
  if (op == "broadcast") launch_rank_check(data, count, 0, 1, 0, counter, nullptr);
  if (op == "sendrecv") launch_rank_check(data, count, previous, previous + 1, 0, counter, nullptr);
  if (op == "reduce_scatter") launch_rank_check(data, share, 0, size(), mine, counter, nullptr);
  if (op == "all_gather" || op == "alltoall")
    for (int from = 0; from < size(); ++from)
      launch_rank_check(data + static_cast<std::size_t>(from) * share, share, from, from + 1,
                        op == "alltoall" ? mine : 0, counter, nullptr);
  unsigned long long wrong = 0;
  CUDA_CHECK(cudaMemcpy(&wrong, counter, sizeof wrong, cudaMemcpyDeviceToHost));
  return wrong;
}

bool Group::verify(const std::string& op, std::size_t count) {
  bool right = true;
  for (int rank = 0; rank < size(); ++rank) right = wrong_values(op, count, rank) == 0 && right;
  return right;
}

Json Group::measure(const NcclRequest& request) {
  constexpr int kConnectingCalls = 2;
  const std::size_t count = request.bytes / sizeof(float);
  reserve(request.bytes);
  fill(request.bytes);
  for (int i = 0; i < kConnectingCalls; ++i) {  // NCCL connects at first use and may wait for the device: not held
    bool hold = false;
    timer_.time([&](const Streams& streams) { call(request.op, count, streams); }, hold);
  }
  const auto queue = [&](const Streams& streams) {
    for (int copy = 0; copy < request.copies; ++copy) call(request.op, count, streams);
  };
  const Samples samples = timer_.repeat(queue, request.copies, request.effort);
  return result_fields(samples, verify(request.op, count));
}

/// @throws nlohmann::json::exception  if the parent sent something else
NcclRequest read_request(const std::string& line) {
  const Json json = Json::parse(line);
  return {json.at("op"),
          json.at("gpus"),
          json.at("size_B"),
          json.at("copies"),
          {json.at("warm_up"), json.at("min_repetitions"), json.at("max_repetitions"), json.at("budget_s")}};
}

}  // namespace

std::optional<std::string> nccl_version(const std::string& path) try {
  const Nccl nccl(path);
  int code = 0;
  nccl.check(nccl.get_version(&code), "ncclGetVersion");
  constexpr int kMajor = 10000, kMinor = 100;  // source: NCCL_VERSION macro since 2.9
  return std::to_string(code / kMajor) + "." + std::to_string(code % kMajor / kMinor) + "." +
         std::to_string(code % kMinor);
} catch (const Waived&) {
  return std::nullopt;
}

int serve_nccl(const std::string& library) {
  std::FILE* replies = fdopen(kReplyDescriptor, "w");
  if (replies == nullptr) throw std::runtime_error("the NCCL process is started by linkcast-bench, not by hand");
  const Nccl nccl(library);
  std::unique_ptr<Group> group;
  for (std::string line; std::getline(std::cin, line);) {
    Json reply;
    try {
      const NcclRequest request = read_request(line);
      if (!group || group->gpus() != request.gpus) {
        group.reset();
        group = std::make_unique<Group>(nccl, request.gpus);
      }
      reply = group->measure(request);
    } catch (const Waived& waived) {
      reply = {{"error", waived.what()}};
    }
    std::fprintf(replies, "%s\n", reply.dump().c_str());
    std::fflush(replies);
  }
  return 0;
}

}  // namespace linkcast::bench

#else  // built without nccl.h: the NCCL benches report themselves as waived

namespace linkcast::bench {
std::optional<std::string> nccl_version(const std::string&) { return std::nullopt; }
int serve_nccl(const std::string&) { throw std::runtime_error("built without nccl.h"); }
}  // namespace linkcast::bench

#endif
