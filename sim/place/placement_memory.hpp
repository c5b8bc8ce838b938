#pragma once
// What one placement leaves for the next: most of the work of a search does not depend on who asks.
#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "sim/forecast/collective_shape.hpp"
#include "sim/machine/symmetry.hpp"

namespace linkcast::placement {

/// A map that forgets what was not asked for since it was last full. References stand until the next put().
template <class Key, class Value>
class BoundedMap {
 public:
  explicit BoundedMap(std::size_t most) : most_(most) {}
  const Value* find(const Key& key) {
    if (const auto it = young_.find(key); it != young_.end()) return &it->second;
    const auto it = old_.find(key);
    return it == old_.end() ? nullptr : &put(key, it->second);
  }
  const Value& put(const Key& key, Value value) {
    if (young_.size() >= most_ / 2) {
      old_ = std::move(young_);
      young_.clear();
    }
    return young_.insert_or_assign(key, std::move(value)).first->second;
  }
  [[nodiscard]] std::size_t size() const { return young_.size() + old_.size(); }

 private:
  std::size_t most_;
  std::unordered_map<Key, Value> young_, old_;
};

/// Memory of bounded size, for one thread. Everything in it follows from what it is asked by: an answer with it is the
/// answer without it.
class PlacementMemory {
 public:
  PlacementMemory();

  /// gpu_symmetries(), kept.
  std::vector<GpuPermutation> symmetries(const catalogue::MachinePtr& machine, const std::vector<int>& colours);

  /// What the GPUs of a job come down to, and the times that were forecast for it.
  struct Shape {
    Communicator communicator;  ///< of the first GPUs that had it
    BoundedMap<double, collective::CollectiveTimes> times;
  };
  /// @param gpus  in rank order. @returns  nullptr: the operation has none
  std::shared_ptr<Shape> shape(const catalogue::MachinePtr& machine, const std::string& library, const std::string& op,
                               const std::vector<int>& gpus);

 private:
  /// A library's operation on a machine, or the machine alone, in four bytes.
  std::string short_name(const catalogue::MachinePtr& machine, const std::string& what);

  /// Weak: an entry keeps no machine alive, and no later machine is taken for one that is gone.
  using Machines = std::map<std::weak_ptr<const catalogue::Machine>, std::unordered_map<std::string, std::uint32_t>,
                            std::owner_less<>>;
  Machines names_;
  std::uint32_t next_name_ = 0;
  BoundedMap<std::string, std::vector<GpuPermutation>> symmetries_;
  BoundedMap<std::string, std::shared_ptr<Shape>> by_gpus_, by_shape_;
};

}  // namespace linkcast::placement
