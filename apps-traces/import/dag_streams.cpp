#include "apps-traces/import/dag_streams.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <queue>

namespace linkcast {

/// Both are sorted by stream. What is known of a stream that has gone on since tells nothing: no operation can follow
/// its last one by that.
void DagStreams::join(Clock& clock, const Clock& other) {
  joined_.clear();
  const auto keep = [&](const Known& known) {
    if (known.ended == lengths_[known.stream]) joined_.push_back(known);
  };
  auto mine = clock.begin();
  for (const Known& known : other) {
    while (mine != clock.end() && mine->stream < known.stream) keep(*mine++);
    const bool both = mine != clock.end() && mine->stream == known.stream;
    keep(both ? Known{known.stream, std::max(mine->ended, known.ended)} : known);
    if (both) ++mine;
  }
  while (mine != clock.end()) keep(*mine++);
  clock.assign(joined_.begin(), joined_.end());
}

DagStreams::Clock DagStreams::ended(const std::vector<std::size_t>& before) {
  Clock clock;
  for (const std::size_t earlier : before) join(clock, done_[earlier]);
  return clock;
}

std::uint32_t DagStreams::resource(const std::string& name) {
  const auto [entry, fresh] = numbers_.try_emplace(name, static_cast<std::uint32_t>(resources_.size()));
  if (fresh) resources_.emplace_back();
  return entry->second;
}

std::uint32_t DagStreams::open(std::uint32_t resource, const std::string& name) {
  const std::uint32_t number = resources_[resource]++;
  streams_.push_back({resource, name + (number == 0 ? "" : fmt::format(".{}", number))});
  lengths_.push_back(0);
  return static_cast<std::uint32_t>(streams_.size() - 1);
}

const std::string& DagStreams::put(std::size_t operation, std::uint32_t stream, Clock clock) {
  const auto place = std::lower_bound(clock.begin(), clock.end(), stream,
                                      [](const Known& known, std::uint32_t other) { return known.stream < other; });
  const std::uint32_t length = ++lengths_[stream];
  if (place != clock.end() && place->stream == stream)
    place->ended = length;
  else
    clock.insert(place, {stream, length});
  done_[operation] = std::move(clock);
  place_[operation] = stream;
  return streams_[stream].name;
}

/// Only a stream of which it follows an operation may be one whose last operation it follows.
const std::string& DagStreams::add(std::size_t operation, const std::string& resource,
                                   const std::vector<std::size_t>& before) {
  Clock clock = ended(before);
  const std::uint32_t own = this->resource(resource);
  const auto follows = [&](const Known& known) {
    return streams_[known.stream].resource == own && known.ended == lengths_[known.stream];
  };
  if (const auto found = std::find_if(clock.begin(), clock.end(), follows); found != clock.end()) {
    const std::uint32_t stream = found->stream;
    return put(operation, stream, std::move(clock));
  }
  return put(operation, open(own, resource), std::move(clock));
}

const std::string& DagStreams::add_to_queue(std::size_t operation, const std::string& queue,
                                            const std::vector<std::size_t>& before) {
  Clock clock = ended(before);
  const std::uint32_t own = this->resource(queue);
  std::uint32_t chosen = 0;
  while (chosen < streams_.size() && streams_[chosen].resource != own) ++chosen;
  if (chosen == streams_.size()) chosen = open(own, queue);
  join(clock, streams_[chosen].last);
  const std::string& name = put(operation, chosen, std::move(clock));
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
