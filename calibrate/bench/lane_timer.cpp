#include "calibrate/bench/lane_timer.hpp"

#include <algorithm>
#include <chrono>
#include <cmath>

#include "calibrate/bench/cuda_check.hpp"
#include "calibrate/bench/kernels.hpp"

namespace linkcast::bench {
namespace {

constexpr long long kHoldLimitNs = 400'000'000;
constexpr double kMillisecond = 1e-3;

}  // namespace

LaneTimer::LaneTimer(const std::vector<int>& devices) : words_(allocate_pinned(devices.front(), 2 * sizeof(int))) {
  lanes_.reserve(devices.size());
  for (const int device : devices) {
    lanes_.push_back({Stream(device), Event(device, true), Event(device, true)});
    streams_.push_back(lanes_.back().stream.get());
  }
  auto* words = static_cast<int*>(words_.get());
  words[0] = 0;
  for (const Lane& lane : lanes_) {  // an open hold loads the kernel now: loading behind a held stream could block
    CUDA_CHECK(cudaSetDevice(lane.stream.device()));
    launch_hold(words, 0, words + 1, kHoldLimitNs, lane.stream.get());
    CUDA_CHECK(cudaStreamSynchronize(lane.stream.get()));
  }
}

void LaneTimer::queue(const Enqueue& enqueue, bool hold) {
  auto* words = static_cast<volatile int*>(words_.get());
  words[1] = 0;
  ++ticket_;
  for (const Lane& lane : lanes_) {
    CUDA_CHECK(cudaSetDevice(lane.stream.device()));
    if (hold) launch_hold(words, ticket_, static_cast<int*>(words_.get()) + 1, kHoldLimitNs, lane.stream.get());
    CUDA_CHECK(cudaEventRecord(lane.start.get(), lane.stream.get()));
  }
  enqueue(streams_);
  for (const Lane& lane : lanes_) {
    CUDA_CHECK(cudaSetDevice(lane.stream.device()));
    CUDA_CHECK(cudaEventRecord(lane.end.get(), lane.stream.get()));
  }
  words[0] = ticket_;
}

std::vector<double> LaneTimer::time(const Enqueue& enqueue, bool& hold) {
  queue(enqueue, hold);
  for (const Lane& lane : lanes_) CUDA_CHECK(cudaStreamSynchronize(lane.stream.get()));
  if (hold && static_cast<volatile int*>(words_.get())[1] != 0) {
    hold = false;
    return time(enqueue, hold);
  }
  std::vector<double> seconds;
  for (const Lane& lane : lanes_) {
    float milliseconds = 0;
    CUDA_CHECK(cudaEventElapsedTime(&milliseconds, lane.start.get(), lane.end.get()));
    seconds.push_back(milliseconds * kMillisecond);
  }
  return seconds;
}

Samples LaneTimer::repeat(const Enqueue& enqueue, int copies, const Effort& effort, bool hold) {
  Samples samples{{}, std::vector<std::vector<double>>(lanes_.size()), hold};
  for (int i = 0; i < effort.warm_up; ++i) time(enqueue, samples.held);
  const auto start = std::chrono::steady_clock::now();
  for (int i = 0; i < effort.max_repetitions; ++i) {
    const bool held_before = samples.held;
    const auto lanes = time(enqueue, samples.held);
    if (samples.held != held_before) samples = {{}, std::vector<std::vector<double>>(lanes_.size()), false};
    samples.makespan_s.push_back(*std::max_element(lanes.begin(), lanes.end()) / copies);
    for (std::size_t lane = 0; lane < lanes.size(); ++lane) samples.lane_s[lane].push_back(lanes[lane] / copies);
    const std::chrono::duration<double> spent = std::chrono::steady_clock::now() - start;
    if (i + 1 >= effort.min_repetitions && spent.count() > effort.budget_s) break;
  }
  return samples;
}

int copies_per_repetition(std::size_t bytes) {
  constexpr double kTarget = 1e-3, kStart = 2e-6, kRate = 300e9;  // as copies_rule() says
  const double guess = kStart + static_cast<double>(bytes) / kRate;
  return static_cast<int>(std::clamp(std::floor(kTarget / guess), 2.0, 64.0));
}

const char* copies_rule() { return "floor(1 ms / (2 us + size / 300 GB/s)), at least 2, at most 64"; }

}  // namespace linkcast::bench
