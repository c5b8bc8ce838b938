#pragma once
#include <algorithm>
#include <cstddef>
#include <iterator>
#include <utility>
#include <vector>

namespace linkcast {

/// Sorts by a value >= 0, ascending. Values within a billionth of the least of them are equal and keep their order:
/// rounding, which differs from solver to solver, must not choose between what takes as long.
template <class T, class Value>
void sort_near(std::vector<T>& list, Value value) {
  constexpr double kEqual = 1 + 1e-9;  // source: what solvers agree to in tests/physics
  struct Place {
    double value = 0;
    std::size_t index = 0;
  };
  std::vector<Place> places;
  for (std::size_t i = 0; i < list.size(); ++i) places.push_back({value(list[i]), i});
  std::stable_sort(places.begin(), places.end(), [](const Place& a, const Place& b) { return a.value < b.value; });
  for (auto begin = places.begin(); begin != places.end();) {
    const auto end =
        std::find_if(begin, places.end(), [&](const Place& one) { return one.value > begin->value * kEqual; });
    std::sort(begin, end, [](const Place& a, const Place& b) { return a.index < b.index; });
    begin = end;
  }
  std::vector<T> sorted;
  for (const Place& place : places) sorted.push_back(std::move(list[place.index]));
  list = std::move(sorted);
}

}  // namespace linkcast
