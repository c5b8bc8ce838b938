#include "validate/diagnosis/access.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace linkcast::diagnosis {
namespace {

using Pair = std::pair<std::string, std::string>;

/// Pairs of which all that a predicate takes have no access.
template <class Takes>
bool all_refused(const std::set<Pair>& able, const std::set<Pair>& refused, Takes takes) {
  bool any = false;
  for (const Pair& pair : able) {
    if (!takes(pair)) continue;
    any = true;
    if (refused.count(pair) == 0) return false;
  }
  return any;
}

/// Whether the predicate takes every refused pair, and every pair that it takes is refused.
template <class Takes>
bool are(const std::set<Pair>& able, const std::set<Pair>& refused, Takes takes) {
  return std::all_of(refused.begin(), refused.end(), takes) && all_refused(able, refused, takes);
}

}  // namespace

NoAccess without_access(const Platform& platform, const Measurement& measurement) {
  if (measurement.source.rfind("p2pBandwidthLatencyTest", 0) != 0) return {};
  std::set<Pair> peers, twice, able, refused;
  for (const MeasuredPoint& p : measurement.points) {
    if (p.transport == Carrier::kPeer) peers.emplace(p.source, p.target);
    if (p.transport == Carrier::kStaged && p.time_s.size() > 1)
      twice.emplace(p.source, p.target);  // with P2P off and on
  }
  for (const auto& pairs : {peers, twice})
    for (const Pair& pair : pairs) {
      const auto from = platform.topology().find(pair.first), to = platform.topology().find(pair.second);
      if (!from || !to || !platform.peer_route(*from, *to)) continue;
      able.insert(pair);
      if (peers.count(pair) == 0) refused.insert(pair);
    }
  if (refused.empty()) return {};
  const auto socket = [&](const std::string& id) { return platform.socket_of(*platform.topology().find(id)); };
  if (are(able, refused, [](const Pair&) { return true; })) return {refused, "all pairs"};
  if (are(able, refused, [&](const Pair& p) { return socket(p.first) != socket(p.second); }))
    return {refused, "pairs across sockets"};
  for (const Device& device : platform.topology().devices) {
    if (device.kind == DeviceKind::kGpu &&
        are(able, refused, [&](const Pair& p) { return p.first == device.id || p.second == device.id; }))
      return {refused, device.id};
    const auto cpu = platform.topology().find(device.id);
    if (device.kind == DeviceKind::kCpu &&
        are(able, refused, [&](const Pair& p) { return socket(p.first) == *cpu && socket(p.second) == *cpu; }))
      return {refused, "GPUs of " + device.id};
  }
  return {refused,
          fmt::format("{} pairs, {} -> {} the first", refused.size(), refused.begin()->first, refused.begin()->second)};
}

}  // namespace linkcast::diagnosis
