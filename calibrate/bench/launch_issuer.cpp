#include "calibrate/bench/launch_issuer.hpp"

#ifdef LINKCAST_HAS_NCCL

#include <algorithm>
#include <chrono>
#include <cstring>

#include "calibrate/bench/copy.hpp"
#include "calibrate/bench/cuda_check.hpp"
#include "calibrate/bench/kernels.hpp"

namespace linkcast::bench {
namespace {

constexpr int kShortCalls = 20;  // iterations of nccl-tests by default
constexpr int kHeldCalls = 16;   // fit into NCCL's queue of work behind a stream that waits
constexpr int kWarmUp = 20;
constexpr int kRestFactor = 5;
constexpr long long kHoldLimitNs = 2'000'000'000;
constexpr double kMillisecond = 1e-3;

double now_s() { return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count(); }

int next_gpu(int gpu) {
  int count = 0;
  CUDA_CHECK(cudaGetDeviceCount(&count));
  return (gpu + 1) % count;
}

}  // namespace

struct LaunchIssuer::Lane {
  Lane(int gpu, std::size_t place)
      : gpu(gpu),
        next(next_gpu(gpu)),
        blocks(resident_blocks(gpu)),
        place(place),
        stream(gpu),
        start(gpu, true),
        end(gpu, true) {}
  int gpu, next;      ///< next: of the machine, where copies go
  int blocks;         ///< of a copy by a kernel
  std::size_t place;  ///< index among the issuer's GPUs
  Stream stream;
  Event start, end;
  ncclComm_t communicator = nullptr;
};

struct LaunchIssuer::Graphs {
  std::vector<std::pair<const Lane*, cudaGraphExec_t>> all;
  ~Graphs() {
    for (auto& [lane, graph] : all) cudaGraphExecDestroy(graph);
  }
};

LaunchIssuer::LaunchIssuer(LaunchBoard& board, const std::string& library, int index, std::vector<int> own, int gpus)
    : board_(board),
      nccl_(library),
      index_(index),
      gpus_(gpus),
      own_(std::move(own)),
      words_(allocate_pinned(own_.front(), 2 * sizeof(int))) {
  std::memset(words_.get(), 0, 2 * sizeof(int));
  for (const int gpu : own_) {  // copies to the next GPU of the machine
    const int next = next_gpu(gpu);
    int possible = 0;
    if (next != gpu) CUDA_CHECK(cudaDeviceCanAccessPeer(&possible, gpu, next));
    CUDA_CHECK(cudaSetDevice(gpu));
    if (possible != 0 && cudaDeviceEnablePeerAccess(next, 0) != cudaSuccess)
      cudaGetLastError();  // threads: once is enough
  }
}

LaunchIssuer::~LaunchIssuer() = default;  // communicators end with the process: destroying them is a collective call

void LaunchIssuer::reserve(std::size_t bytes) {
  if (bytes <= capacity_) return;
  for (auto* all : {&send_, &receive_, &remote_}) all->clear();
  host_.clear();
  for (const int gpu : own_) {
    remote_.push_back(allocate(next_gpu(gpu), bytes));
    host_.push_back(allocate_pinned(gpu, bytes));
    send_.push_back(allocate(gpu, bytes));
    receive_.push_back(allocate(gpu, bytes));
    CUDA_CHECK(cudaMemset(send_.back().get(), 0x3C, bytes));  // floats of 0.0115: sums stay finite
    CUDA_CHECK(cudaDeviceSynchronize());
  }
  capacity_ = bytes;
}

void LaunchIssuer::connect(int communicators) {
  static_assert(sizeof(ncclUniqueId) == LaunchBoard::kIdBytes);
  while (static_cast<int>(lanes_.size()) < communicators) {
    const std::size_t at = lanes_.size();
    ncclUniqueId id{};
    if (index_ == 0) {
      nccl_.check(nccl_.get_unique_id(&id), "ncclGetUniqueId");
      std::memcpy(board_.ids[at].data(), &id, sizeof id);
    }
    board_.meet();
    std::memcpy(&id, board_.ids[at].data(), sizeof id);
    auto& lanes = lanes_.emplace_back();
    for (std::size_t place = 0; place < own_.size(); ++place)
      lanes.push_back(std::make_unique<Lane>(own_[place], place));
    nccl_.check(nccl_.group_start(), "ncclGroupStart");
    for (const auto& lane : lanes) {
      CUDA_CHECK(cudaSetDevice(lane->gpu));
      nccl_.check(nccl_.comm_init_rank(&lane->communicator, gpus_, id, lane->gpu), "ncclCommInitRank");
    }
    nccl_.check(nccl_.group_end(), "ncclGroupEnd");
  }
}

std::vector<LaunchIssuer::Lane*> LaunchIssuer::lanes(int communicators) {
  std::vector<Lane*> all;
  for (int c = 0; c < communicators; ++c)
    for (const auto& lane : lanes_[static_cast<std::size_t>(c)]) all.push_back(lane.get());
  return all;
}

void LaunchIssuer::issue_nccl(const LaunchRequest& request) {
  const std::string op = request.op.data();
  const bool messages = op == "sendrecv" || op == "alltoall";
  const bool group = messages || own_.size() * static_cast<std::size_t>(request.communicators) > 1;
  const std::size_t count = request.bytes / sizeof(float);
  if (group) nccl_.check(nccl_.group_start(), "ncclGroupStart");
  for (int c = 0; c < request.communicators; ++c)
    for (const auto& lane : lanes_[static_cast<std::size_t>(c)])
      for (int send = 0; send < request.sends; ++send) {
        const std::size_t offset = static_cast<std::size_t>(send) * count;
        issue(nccl_, op, count,
              {lane->communicator, static_cast<const float*>(send_[lane->place].get()) + offset,
               static_cast<float*>(receive_[lane->place].get()) + offset, lane->stream.get(), lane->gpu, gpus_});
      }
  if (group) nccl_.check(nccl_.group_end(), "ncclGroupEnd");
}

void LaunchIssuer::issue_cuda(const std::string& op, std::size_t bytes, const Lane& lane) {
  cudaStream_t stream = lane.stream.get();
  void* send = send_[lane.place].get();
  if (own_.size() > 1 || op == "set_device") CUDA_CHECK(cudaSetDevice(lane.gpu));
  if (op == "kernel")
    launch_chase(static_cast<std::uint32_t*>(send), 0, static_cast<std::uint32_t*>(receive_[lane.place].get()), stream);
  if (op == "copy_peer_ce" && !capturing_)
    CUDA_CHECK(cudaMemcpyPeerAsync(remote_[lane.place].get(), lane.next, send, lane.gpu, bytes, stream));
  if (op == "copy_peer_ce" && capturing_)  // cudaMemcpyPeerAsync cannot be captured
    CUDA_CHECK(cudaMemcpyAsync(remote_[lane.place].get(), send, bytes, cudaMemcpyDeviceToDevice, stream));
  if (op == "copy_peer_sm") launch_copy(remote_[lane.place].get(), send, bytes, lane.blocks, stream);
  if (op == "copy_local_ce")
    CUDA_CHECK(cudaMemcpyAsync(receive_[lane.place].get(), send, bytes, cudaMemcpyDeviceToDevice, stream));
  if (op == "copy_h2d")
    CUDA_CHECK(cudaMemcpyAsync(send, host_[lane.place].get(), bytes, cudaMemcpyHostToDevice, stream));
  if (op == "copy_d2h")
    CUDA_CHECK(cudaMemcpyAsync(host_[lane.place].get(), send, bytes, cudaMemcpyDeviceToHost, stream));
  if (op == "event_record") CUDA_CHECK(cudaEventRecord(lane.end.get(), stream));
  if (op == "event_wait") CUDA_CHECK(cudaStreamWaitEvent(stream, lane.end.get(), 0));
  if (op == "event_synchronise") CUDA_CHECK(cudaEventSynchronize(lane.end.get()));
  if (op == "stream_synchronise") CUDA_CHECK(cudaStreamSynchronize(stream));
  if (op == "stream_query") CUDA_CHECK(cudaStreamQuery(stream));
}

void LaunchIssuer::issue_once(const LaunchRequest& request) {
  const std::string op = request.op.data();
  const auto& cuda = launch_cuda_ops();
  if (std::find(cuda.begin(), cuda.end(), op) == cuda.end()) return issue_nccl(request);
  for (const auto& lane : lanes_[0]) issue_cuda(op, request.bytes, *lane);
}

void LaunchIssuer::capture(const LaunchRequest& request) {
  graphs_ = std::make_unique<Graphs>();
  const auto all = lanes(request.communicators);
  for (const Lane* lane : all) {
    CUDA_CHECK(cudaSetDevice(lane->gpu));
    CUDA_CHECK(cudaStreamBeginCapture(lane->stream.get(), cudaStreamCaptureModeThreadLocal));
  }
  capturing_ = true;
  for (int call = 0; call < request.calls_per_graph; ++call) issue_once(request);
  capturing_ = false;
  std::vector<cudaGraph_t> captured(all.size());
  for (std::size_t i = 0; i < all.size(); ++i) {  // all end before one is instantiated
    CUDA_CHECK(cudaSetDevice(all[i]->gpu));
    CUDA_CHECK(cudaStreamEndCapture(all[i]->stream.get(), &captured[i]));
  }
  for (std::size_t i = 0; i < all.size(); ++i) {
    cudaGraphExec_t executable = nullptr;
    CUDA_CHECK(cudaSetDevice(all[i]->gpu));
    CUDA_CHECK(cudaGraphInstantiate(&executable, captured[i], 0));
    CUDA_CHECK(cudaGraphDestroy(captured[i]));
    graphs_->all.emplace_back(all[i], executable);
  }
}

void LaunchIssuer::launch_graphs() {
  for (const auto& [lane, graph] : graphs_->all) {
    if (own_.size() > 1) CUDA_CHECK(cudaSetDevice(lane->gpu));
    CUDA_CHECK(cudaGraphLaunch(graph, lane->stream.get()));
  }
}

void LaunchIssuer::synchronise() {
  for (const Lane* lane : lanes(used_)) CUDA_CHECK(cudaStreamSynchronize(lane->stream.get()));
}

void LaunchIssuer::note(LaunchTime which, int repetition, double seconds) {
  board_.times[static_cast<std::size_t>(index_)][which][static_cast<std::size_t>(repetition)] = seconds;
  if (index_ == 0) board_.counts[which] = repetition + 1;
}

double LaunchIssuer::timed_run(const Call& call, int calls) {
  board_.meet();
  const double start = now_s();
  for (int i = 0; i < calls; ++i) call();
  synchronise();
  return now_s() - start;
}

void LaunchIssuer::measure_free(const LaunchRequest& request, const Call& call, int per_call) {
  const auto launches = [&](int calls) { return std::max(1, calls / per_call); };
  timed_run(call, launches(kWarmUp));
  for (int i = 0; i < request.repetitions; ++i) {
    const int many = launches(request.calls), few = launches(kShortCalls);
    note(kSteady, i, timed_run(call, many) / (many * per_call));
    note(kShort, i, timed_run(call, few) / (few * per_call));
  }
  for (int i = 0; i < std::min(LaunchBoard::kRepetitions, kRestFactor * request.repetitions); ++i) {
    board_.meet();
    const double start = now_s();
    call();
    const double issued = now_s();
    synchronise();
    note(kRest, i, now_s() - start);
    note(kRestIssue, i, issued - start);
  }
}

void LaunchIssuer::measure_held(const LaunchRequest& request, const Call& call, int per_call) {
  auto* words = static_cast<volatile int*>(words_.get());
  const auto used = lanes(used_);
  for (int i = 0; i < request.repetitions; ++i) {
    words[1] = 0;
    ++ticket_;
    board_.meet();
    for (const Lane* lane : used) {
      CUDA_CHECK(cudaSetDevice(lane->gpu));
      launch_hold(words, ticket_, static_cast<int*>(words_.get()) + 1, kHoldLimitNs, lane->stream.get());
      CUDA_CHECK(cudaEventRecord(lane->start.get(), lane->stream.get()));
    }
    board_.meet();
    const double start = now_s();
    for (int k = 0; k < kHeldCalls; ++k) call();
    const double issued = now_s() - start;
    for (const Lane* lane : used) {
      CUDA_CHECK(cudaSetDevice(lane->gpu));
      CUDA_CHECK(cudaEventRecord(lane->end.get(), lane->stream.get()));
    }
    board_.meet();
    words[0] = ticket_;
    synchronise();
    if (words[1] != 0) throw Waived("the call cannot be issued while its stream waits");
    float slowest = 0;
    for (const Lane* lane : used) {
      float milliseconds = 0;
      CUDA_CHECK(cudaEventElapsedTime(&milliseconds, lane->start.get(), lane->end.get()));
      slowest = std::max(slowest, milliseconds);
    }
    note(kIssue, i, issued / (kHeldCalls * per_call));
    note(kDevice, i, slowest * kMillisecond / (kHeldCalls * per_call));
  }
}

void LaunchIssuer::run() {
  const LaunchRequest request = board_.request;
  used_ = request.communicators;
  reserve(request.bytes * static_cast<std::size_t>(request.sends));
  connect(request.communicators);
  if (index_ == 0) board_.counts.fill(0);
  board_.meet();
  for (int i = 0; i < 2; ++i) {  // NCCL connects at first use
    issue_once(request);
    synchronise();
  }
  board_.meet();
  Call call = [&] { issue_once(request); };
  if (request.calls_per_graph > 0) {
    capture(request);
    call = [this] { launch_graphs(); };
  }
  const int per_call = std::max(1, request.calls_per_graph);
  measure_free(request, call, per_call);
  if (request.held) measure_held(request, call, per_call);
  board_.meet();
  graphs_.reset();
  board_.meet();
}

}  // namespace linkcast::bench

#endif
