#include "models/libraries/pair_rings.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace linkcast {

Channel pair_channel(const PairTable& pairs, const std::vector<int>& gpus, const std::vector<int>& ring, double links) {
  Channel made;
  made.links = links;
  for (const int member : ring) made.order.push_back(gpus[static_cast<std::size_t>(member)]);
  for (std::size_t i = 0; i < ring.size(); ++i) {
    const std::size_t next = (i + 1) % ring.size();
    const bool host = pairs.at(ring[i], ring[next]).kind == PairKind::kHostMemory;
    made.hops.push_back({made.order[i], made.order[next], host ? HopKind::kHostMemory : HopKind::kPeer});
  }
  return made;
}

PathClass worst_class(const PairTable& pairs, const std::vector<std::vector<int>>& rings) {
  PathClass worst = PathClass::kNvl;
  for (const auto& ring : rings)
    for (std::size_t i = 0; i < ring.size(); ++i)
      worst = std::max(worst, pairs.at(ring[i], ring[(i + 1) % ring.size()]).path_class);
  return worst;
}

std::string listed(const std::vector<std::string>& parts) {
  std::string text;
  for (std::size_t i = 0; i < parts.size(); ++i)
    text += (i == 0 ? "" : i + 1 == parts.size() ? " and " : ", ") + parts[i];
  return text;
}

std::string host_hops(const PairTable& pairs, const std::vector<int>& ring, const std::vector<int>& gpus) {
  std::vector<std::string> hops;
  for (std::size_t i = 0; i < ring.size(); ++i) {
    const int from = ring[i], to = ring[(i + 1) % ring.size()];
    if (pairs.at(from, to).kind == PairKind::kHostMemory)
      hops.push_back(fmt::format("{}->{}", gpus[static_cast<std::size_t>(from)], gpus[static_cast<std::size_t>(to)]));
  }
  if (hops.empty()) return "every hop by peer access";
  return (hops.size() == 1 ? "hop " : "hops ") + listed(hops) + " through host memory";
}

}  // namespace linkcast
