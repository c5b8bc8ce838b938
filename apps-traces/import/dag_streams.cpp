#include "apps-traces/import/dag_streams.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <queue>

namespace linkcast {

namespace {

void join(std::vector<std::uint32_t>& clock, const std::vector<std::uint32_t>& other) {
  if (clock.size() < other.size()) clock.resize(other.size(), 0);
  for (std::size_t s = 0; s < other.size(); ++s) clock[s] = std::max(clock[s], other[s]);
}

}  // namespace

DagStreams::Clock DagStreams::ended(const std::vector<std::size_t>& before) const {
  Clock clock;
  for (const std::size_t earlier : before) join(clock, done_[earlier]);
  return clock;
}

const std::string& DagStreams::put(std::size_t operation, std::size_t stream, Clock clock) {
  if (clock.size() <= stream) clock.resize(stream + 1, 0);
  clock[stream] = ++streams_[stream].length;
  done_[operation] = std::move(clock);
  place_[operation] = stream;
  return streams_[stream].name;
}

std::string DagStreams::add(std::size_t operation, const std::string& resource,
                            const std::vector<std::size_t>& before) {
  Clock clock = ended(before);
  std::size_t chosen = 0;
  std::size_t of_resource = 0;
  for (; chosen < streams_.size(); ++chosen) {
    if (streams_[chosen].resource != resource) continue;
    if (chosen < clock.size() && clock[chosen] == streams_[chosen].length) break;
    ++of_resource;
  }
  if (chosen == streams_.size())
    streams_.push_back({resource, resource + (of_resource == 0 ? "" : fmt::format(".{}", of_resource))});
  return put(operation, chosen, std::move(clock));
}

std::string DagStreams::add_to_queue(std::size_t operation, const std::string& queue,
                                     const std::vector<std::size_t>& before) {
  Clock clock = ended(before);
  std::size_t chosen = 0;
  while (chosen < streams_.size() && streams_[chosen].resource != queue) ++chosen;
  if (chosen == streams_.size()) streams_.push_back({queue, queue});
  join(clock, streams_[chosen].last);
  std::string name = put(operation, chosen, std::move(clock));
  streams_[chosen].last = done_[operation];
  return name;
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
