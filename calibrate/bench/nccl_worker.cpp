#include "calibrate/bench/nccl_worker.hpp"

#include "calibrate/bench/nccl_library.hpp"

#ifdef LINKCAST_HAS_NCCL

#include <algorithm>
#include <cstdio>
#include <iostream>

#include "calibrate/bench/cuda_check.hpp"
#include "calibrate/bench/kernels.hpp"

namespace linkcast::bench {
namespace {

constexpr int kReplyDescriptor = 3;

/// The communicators of one set of GPUs with their buffers.
class Group {
 public:
  Group(const Nccl& nccl, std::vector<int> gpus) : gpus_(std::move(gpus)), nccl_(nccl) {
    communicators_.resize(gpus_.size());
    nccl_.check(nccl_.comm_init_all(communicators_.data(), size(), gpus_.data()), "ncclCommInitAll");
  }
  ~Group() {
    for (ncclComm_t communicator : communicators_) nccl_.comm_destroy(communicator);
  }
  Group(const Group&) = delete;
  Group& operator=(const Group&) = delete;

  [[nodiscard]] const std::vector<int>& gpus() const { return gpus_; }
  /// Buffers for `bytes` with test data in them.
  void prepare(std::size_t bytes);
  /// Queues one call. @param streams  of the ranks, in order. @param count  floats in the size column of nccl-tests
  void call(const std::string& op, std::size_t count, const cudaStream_t* streams);
  /// True if the last call left the right values.
  bool verify(const std::string& op, std::size_t count);

 private:
  [[nodiscard]] int size() const { return static_cast<int>(gpus_.size()); }
  void reserve(std::size_t bytes);
  unsigned long long wrong_values(const std::string& op, std::size_t count, int rank);

  std::vector<int> gpus_;
  const Nccl& nccl_;
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

void Group::prepare(std::size_t bytes) {
  constexpr int kNotANumber = 0xFF;
  reserve(bytes);
  for (int rank = 0; rank < size(); ++rank) {
    const auto index = static_cast<std::size_t>(rank);
    CUDA_CHECK(cudaSetDevice(gpus_[index]));
    launch_rank_values(static_cast<float*>(send_[index].get()), bytes / sizeof(float), rank, nullptr);
    CUDA_CHECK(cudaMemset(receive_[index].get(), kNotANumber, bytes));
    CUDA_CHECK(cudaDeviceSynchronize());
  }
}

void Group::call(const std::string& op, std::size_t count, const cudaStream_t* streams) {
  nccl_.check(nccl_.group_start(), "ncclGroupStart");
  for (int rank = 0; rank < size(); ++rank) {
    const auto index = static_cast<std::size_t>(rank);
    issue(nccl_, op, count,
          {communicators_[index], static_cast<const float*>(send_[index].get()),
           static_cast<float*>(receive_[index].get()), streams[rank], rank, size()});
  }
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
  if (op == "reduce" && rank == 0) launch_rank_check(data, count, 0, size(), 0, counter, nullptr);
  if (op == "scatter") launch_rank_check(data, share, 0, 1, mine, counter, nullptr);
  if (op == "all_gather" || op == "alltoall" || (op == "gather" && rank == 0))
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

/// The communicators in use, made when first asked for.
class Groups {
 public:
  explicit Groups(const Nccl& nccl) : nccl_(nccl) {}
  Json measure(const NcclRequest& request);

 private:
  /// All communicators of a request, the timed one first; those of the request before are reused or dropped.
  void take(const NcclRequest& request);
  /// Starting takes seconds: what failed once in this environment is not tried for each point anew.
  std::unique_ptr<Group> made(const std::vector<int>& gpus);

  const Nccl& nccl_;
  std::map<std::vector<int>, std::string> refused_;  ///< why
  std::vector<std::unique_ptr<Group>> groups_;
  std::unique_ptr<LaneTimer> timer_;  ///< one lane a rank, communicator after communicator
};

std::unique_ptr<Group> Groups::made(const std::vector<int>& gpus) {
  if (const auto known = refused_.find(gpus); known != refused_.end()) throw Waived(known->second);
  try {
    return std::make_unique<Group>(nccl_, gpus);
  } catch (const Waived& waived) {
    refused_[gpus] = waived.what();
    throw;
  }
}

void Groups::take(const NcclRequest& request) {
  std::vector<std::vector<int>> wanted = {request.gpus};
  for (const NcclCall& other : request.with) wanted.push_back(other.gpus);
  const auto same = [](const std::unique_ptr<Group>& group, const std::vector<int>& gpus) {
    return group->gpus() == gpus;
  };
  if (std::equal(groups_.begin(), groups_.end(), wanted.begin(), wanted.end(), same)) return;
  groups_.clear();
  std::vector<int> lanes;
  for (const std::vector<int>& gpus : wanted) {
    groups_.push_back(made(gpus));
    lanes.insert(lanes.end(), gpus.begin(), gpus.end());
  }
  timer_ = std::make_unique<LaneTimer>(lanes);
}

/// What the lanes of the timed communicator say.
Samples of_first(const Samples& all, std::size_t lanes) {
  Samples first{{}, {all.lane_s.begin(), all.lane_s.begin() + static_cast<std::ptrdiff_t>(lanes)}, all.held};
  for (std::size_t i = 0; i < all.makespan_s.size(); ++i) {
    first.makespan_s.push_back(0);
    for (const auto& lane : first.lane_s) first.makespan_s[i] = std::max(first.makespan_s[i], lane[i]);
  }
  return first;
}

Json Groups::measure(const NcclRequest& request) {
  constexpr int kConnectingCalls = 2;
  take(request);
  const std::size_t count = request.bytes / sizeof(float);
  std::vector<std::string> ops = {request.op};
  for (const NcclCall& other : request.with) ops.push_back(other.op);
  for (const auto& group : groups_) group->prepare(request.bytes);
  const auto queue = [&](const Streams& streams, int calls) {
    for (int i = 0; i < calls; ++i) {
      const cudaStream_t* first = streams.data();
      for (std::size_t k = 0; k < groups_.size(); ++k) {
        groups_[k]->call(ops[k], count, first);
        first += groups_[k]->gpus().size();
      }
    }
  };
  for (int i = 0; i < kConnectingCalls; ++i) {  // NCCL connects at first use and may wait for the device: not held
    bool hold = false;
    timer_->time([&](const Streams& streams) { queue(streams, 1); }, hold);
  }
  const Samples samples =
      timer_->repeat([&](const Streams& streams) { queue(streams, request.copies); }, request.copies, request.effort);
  bool right = true;
  for (std::size_t k = 0; k < groups_.size(); ++k) right = groups_[k]->verify(ops[k], count) && right;
  return result_fields(of_first(samples, request.gpus.size()), right);
}

/// @throws nlohmann::json::exception  if the parent sent something else
NcclRequest read_request(const std::string& line) {
  const Json json = Json::parse(line);
  std::vector<NcclCall> with;
  for (const Json& other : json.at("with")) with.push_back({other.at("op"), other.at("gpus")});
  return {json.at("op"),
          json.at("gpus"),
          json.at("size_B"),
          json.at("copies"),
          {json.at("warm_up"), json.at("min_repetitions"), json.at("max_repetitions"), json.at("budget_s")},
          std::move(with)};
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
  Groups groups(nccl);
  for (std::string line; std::getline(std::cin, line);) {
    Json reply;
    try {
      reply = groups.measure(read_request(line));
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
