#include "sim/place/placement_memory.hpp"

#include <algorithm>

namespace linkcast::placement {
namespace {

// source: ours. Busy GPUs of a node of 8 are 256 sets, about 0.5 kB each
constexpr std::size_t kMostColourings = 16384;
// source: ours. All rank orders of all sets of 8 GPUs are 109592, about 0.1 kB each
constexpr std::size_t kMostKept = 400000;
constexpr std::size_t kMostShapes = 20000;  // source: ours, about 2 kB each
constexpr std::size_t kMostSizes = 64;      // source: ours, of one shape, about 50 B each

constexpr std::size_t kMostNames = 10000;  // source: ours, what-if edits make new ones

/// Short enough for a string that holds it in place. @param numbers  below 65536; nearly always below 255
std::string key_of(std::string key, const std::vector<int>& numbers) {
  constexpr int escape = 255;
  for (const int number : numbers) {
    if (number < escape) {
      key += static_cast<char>(number);
      continue;
    }
    key += static_cast<char>(escape);
    key += static_cast<char>(number & 255);
    key += static_cast<char>(number >> 8 & 255);
  }
  return key;
}

}  // namespace

PlacementMemory::PlacementMemory() : symmetries_(kMostColourings), by_gpus_(kMostKept), by_shape_(kMostShapes) {}

std::string PlacementMemory::short_name(const catalogue::MachinePtr& machine, const std::string& what) {
  if (next_name_ >= kMostNames && names_[machine].count(what) == 0) *this = PlacementMemory();
  const auto [found, added] = names_[machine].try_emplace(what, next_name_);
  if (added) ++next_name_;
  const std::uint32_t number = found->second;
  return {reinterpret_cast<const char*>(&number), sizeof number};
}

std::vector<GpuPermutation> PlacementMemory::symmetries(const catalogue::MachinePtr& machine,
                                                        const std::vector<int>& colours) {
  const std::string key = key_of(short_name(machine, ""), colours);
  if (const auto* known = symmetries_.find(key)) return *known;
  return symmetries_.put(key, gpu_symmetries(machine->platform(), colours));
}

std::shared_ptr<PlacementMemory::Shape> PlacementMemory::shape(const catalogue::MachinePtr& machine,
                                                               const std::string& library, const std::string& op,
                                                               const std::vector<int>& gpus) {
  const std::string context = short_name(machine, library + '\r' + op);
  const std::string key = key_of(context, gpus);
  if (const auto* known = by_gpus_.find(key)) return *known;
  const Platform& platform = machine->platform();
  // The machine keeps what it builds, and there are many orders.
  Communicator made = ring_library(library).build(platform, gpus);
  std::shared_ptr<Shape> shape;
  if (const auto text = collective::collective_shape(platform, made, op)) {
    const std::string shape_key = context + *text;
    if (const auto* known = by_shape_.find(shape_key))
      shape = *known;
    else
      shape = by_shape_.put(
          shape_key,
          std::make_shared<Shape>(Shape{std::move(made), BoundedMap<double, collective::CollectiveTimes>(kMostSizes)}));
  }
  return by_gpus_.put(key, shape);
}

}  // namespace linkcast::placement
