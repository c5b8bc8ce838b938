#include "calibrate/bench/bench.hpp"

#include <algorithm>
#include <chrono>

#include "calibrate/bench/copy.hpp"

namespace linkcast::bench {
namespace {

std::vector<BenchEntry>& registry() {
  static std::vector<BenchEntry> entries;
  return entries;
}

}  // namespace

bool add_bench(BenchInfo info, std::function<std::unique_ptr<Bench>()> make) {
  for (const BenchEntry& entry : registry())
    if (entry.info.name == info.name) throw std::logic_error("bench '" + info.name + "' is registered twice");
  registry().push_back({std::move(info), std::move(make)});
  return true;
}

std::vector<BenchEntry> benches() {
  auto entries = registry();
  std::sort(entries.begin(), entries.end(), [](const auto& a, const auto& b) { return a.info.order < b.info.order; });
  return entries;
}

Json result_fields(const Samples& samples, bool verified) {
  Json fields{{"status", "ok"}, {"time_s", samples.makespan_s}, {"verified", verified}};
  if (!samples.held) fields["held_start"] = false;
  return fields;
}

std::vector<std::size_t> copy_sizes(bool quick, std::size_t largest) {
  constexpr std::size_t kKiB = 1024, kMiB = 1024 * kKiB;
  std::vector<std::size_t> sizes;
  for (std::size_t size = 4; size <= Buffers::kLargestCopy; size *= quick ? 16 : 4) sizes.push_back(size);
  if (!quick)
    for (const std::size_t between : {8 * kKiB, 32 * kKiB, 128 * kKiB, 512 * kKiB, 2 * kMiB, 32 * kMiB, 512 * kMiB})
      sizes.push_back(between);
  std::sort(sizes.begin(), sizes.end());
  sizes.erase(std::upper_bound(sizes.begin(), sizes.end(), largest), sizes.end());
  return sizes;
}

std::string gpu_id(int gpu) { return "gpu" + std::to_string(gpu); }

Buffers& Context::buffers() {
  if (!buffers_) buffers_ = std::make_unique<Buffers>(gpus);
  return *buffers_;
}

PeerAccess& Context::peers() {
  if (!peers_) peers_ = std::make_unique<PeerAccess>(gpus);
  return *peers_;
}

LaneTimer& Context::timer(const std::vector<int>& devices) {
  return timers_.try_emplace(devices, devices).first->second;
}

Effort Context::effort(std::size_t bytes) const {
  constexpr std::size_t kLarge = std::size_t{16} << 20;
  if (options.quick) return {1, 3, bytes < kLarge ? 7 : 3, 0.02};
  return {bytes < kLarge ? 2 : 1, 5, bytes < kLarge ? 20 : 8, bytes < kLarge ? 0.03 : 0.05};
}

void Context::warm_clocks() {
  constexpr std::chrono::milliseconds kLong{300}, kQuick{100};
  const auto stop = std::chrono::steady_clock::now() + (options.quick ? kQuick : kLong);
  std::vector<Copy> copies;
  for (int gpu = 0; gpu < gpus; ++gpu) {
    Copy copy;
    copy.source = copy.target = gpu;
    copy.bytes = buffers().largest_copy() / 4;
    copy.engine = Engine::kMultiprocessors;
    copies.push_back(copy);
  }
  place(copies, buffers());
  while (std::chrono::steady_clock::now() < stop) run_copies(*this, copies, 4, {0, 1, 1, 0});
}

}  // namespace linkcast::bench
