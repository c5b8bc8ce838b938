#include "apps-traces/import/dag_streams.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <queue>

namespace linkcast {

std::string DagStreams::add(std::size_t operation, const std::string& resource,
                            const std::vector<std::size_t>& before) {
  Clock clock;
  for (const std::size_t earlier : before) {
    const Clock& other = done_[earlier];
    if (clock.size() < other.size()) clock.resize(other.size(), 0);
    for (std::size_t s = 0; s < other.size(); ++s) clock[s] = std::max(clock[s], other[s]);
  }
  std::size_t chosen = 0;
  std::size_t of_resource = 0;
  for (; chosen < streams_.size(); ++chosen) {
    if (streams_[chosen].resource != resource) continue;
    if (chosen < clock.size() && clock[chosen] == streams_[chosen].length) break;
    ++of_resource;
  }
  if (chosen == streams_.size())
    streams_.push_back({resource, resource + (of_resource == 0 ? "" : fmt::format(".{}", of_resource)), 0});
  if (clock.size() <= chosen) clock.resize(chosen + 1, 0);
  clock[chosen] = ++streams_[chosen].length;
  done_[operation] = std::move(clock);
  place_[operation] = chosen;
  return streams_[chosen].name;
}

std::vector<std::size_t> in_order(const std::vector<std::vector<std::size_t>>& before) {
  std::vector<std::vector<std::size_t>> behind(before.size());
  std::vector<std::size_t> missing(before.size(), 0);
  for (std::size_t i = 0; i < before.size(); ++i) {
    missing[i] = before[i].size();
    for (const std::size_t earlier : before[i]) behind[earlier].push_back(i);
  }
  std::priority_queue<std::size_t, std::vector<std::size_t>, std::greater<>> ready;
  for (std::size_t i = 0; i < before.size(); ++i)
    if (missing[i] == 0) ready.push(i);
  std::vector<std::size_t> order;
  order.reserve(before.size());
  while (!ready.empty()) {
    const std::size_t next = ready.top();
    ready.pop();
    order.push_back(next);
    for (const std::size_t later : behind[next])
      if (--missing[later] == 0) ready.push(later);
  }
  return order;
}

}  // namespace linkcast
