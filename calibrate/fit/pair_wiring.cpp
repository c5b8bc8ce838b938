#include "calibrate/fit/pair_wiring.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace linkcast::fit {
namespace {

const Link& link_at(const Platform& wires, int index) { return wires.links()[static_cast<std::size_t>(index)]; }

/// Bundles on a way, each kind once, and what lies between them.
std::string way_text(const Platform& wires, const std::vector<int>& links) {
  std::string bundles, via;
  for (std::size_t i = 0; i < links.size(); ++i) {
    const Link& link = link_at(wires, links[i]);
    const Cable& cable = wires.topology().cables[static_cast<std::size_t>(link.cable)];
    const std::string bundle = fmt::format("{} x{}", cable.kind, cable.count);
    if (bundles.find(bundle) == std::string::npos) bundles += (bundles.empty() ? "" : " and ") + bundle;
    if (i == 0) continue;
    via += (via.empty() ? " via " : ", ") + to_text(wires.topology().devices[static_cast<std::size_t>(link.from)].kind);
  }
  return bundles + via;
}

/// Copies through host memory: what both ways have in common makes the difference.
std::string staged_text(const Platform& wires, int source, int target) {
  if (wires.socket_of(source) != wires.socket_of(target)) return "other socket";
  const auto& up = wires.to_host(source).links;
  const auto& down = wires.from_host(target).links;
  const auto shared = std::count_if(up.begin(), up.end(), [&](int link) {
    return std::any_of(down.begin(), down.end(),
                       [&](int other) { return link_at(wires, link).cable == link_at(wires, other).cable; });
  });
  if (shared == 0) return "same socket";
  return shared == 1 ? "one cable up to the host in common" : fmt::format("{} cables up to the host in common", shared);
}

}  // namespace

std::string wiring_of(const Platform& wires, const std::string& transport, int source, int target) {
  if (source == target) return "one device";
  if (transport == "staged") return staged_text(wires, source, target);
  if (transport.starts_with("h2d")) return way_text(wires, wires.from_host(target).links);
  if (transport.starts_with("d2h")) return way_text(wires, wires.to_host(source).links);
  const auto& route = wires.peer_route(source, target);
  return route ? way_text(wires, route->links) : "no way of its own";
}

}  // namespace linkcast::fit
