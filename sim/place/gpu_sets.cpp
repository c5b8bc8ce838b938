#include "sim/place/gpu_sets.hpp"

#include <algorithm>
#include <boost/functional/hash.hpp>
#include <limits>
#include <unordered_map>

namespace linkcast::placement {
namespace {

GpuSet image(const GpuSet& set, const GpuPermutation& permutation) {
  GpuSet moved;
  moved.reserve(set.size());
  for (const int gpu : set) moved.push_back(permutation[static_cast<std::size_t>(gpu)]);
  std::sort(moved.begin(), moved.end());
  return moved;
}

/// In lexicographic order.
std::vector<GpuSet> all_sets(const GpuSet& free, std::size_t size) {
  std::vector<GpuSet> sets;
  std::vector<char> taken(free.size(), 0);
  std::fill(taken.begin(), taken.begin() + static_cast<std::ptrdiff_t>(size), 1);
  do {
    GpuSet set;
    for (std::size_t i = 0; i < free.size(); ++i)
      if (taken[i] != 0) set.push_back(free[i]);
    sets.push_back(std::move(set));
  } while (std::prev_permutation(taken.begin(), taken.end()));
  return sets;
}

}  // namespace

int number_of_sets(int gpus, int size) {
  long long number = 1;
  for (int i = 1; i <= std::min(size, gpus - size); ++i) {
    number = number * (gpus - i + 1) / i;
    if (number > std::numeric_limits<int>::max()) return std::numeric_limits<int>::max();
  }
  return static_cast<int>(number);
}

std::vector<std::vector<GpuSet>> set_classes(const GpuSet& free, int size,
                                             const std::vector<GpuPermutation>& symmetries) {
  const std::vector<GpuSet> sets = all_sets(free, static_cast<std::size_t>(size));
  std::unordered_map<GpuSet, std::size_t, boost::hash<GpuSet>> number;
  for (std::size_t i = 0; i < sets.size(); ++i) number[sets[i]] = i;
  std::vector<std::vector<GpuSet>> classes;
  std::vector<char> seen(sets.size(), 0);
  for (std::size_t first = 0; first < sets.size(); ++first) {
    if (seen[first] != 0) continue;
    std::vector<std::size_t> orbit = {first};
    seen[first] = 1;
    for (std::size_t i = 0; i < orbit.size(); ++i)
      for (const GpuPermutation& symmetry : symmetries) {
        const std::size_t next = number.at(image(sets[orbit[i]], symmetry));
        if (seen[next] != 0) continue;
        seen[next] = 1;
        orbit.push_back(next);
      }
    std::sort(orbit.begin(), orbit.end());
    std::vector<GpuSet>& members = classes.emplace_back();
    for (const std::size_t one : orbit) members.push_back(sets[one]);
  }
  return classes;
}

}  // namespace linkcast::placement
