#include "sim/forecast/library_view.hpp"

#include <fmt/format.h>

#include "sim/base/index.hpp"
#include "sim/plan/message_ways.hpp"

namespace linkcast::collective {
namespace {

Json hops_json(const std::vector<Hop>& hops) {
  Json list = Json::array();
  for (const Hop& hop : hops)
    list.push_back(hop.kind == HopKind::kPeer         ? "peer"
                   : hop.kind == HopKind::kHostMemory ? "host memory"
                                                      : fmt::format("relay gpu{}", hop.via));
  return list;
}

Json entry_json(const TunerEntry& entry) {
  return {{"algorithm", entry.algorithm},  {"protocol", entry.protocol}, {"bandwidth_Bps", entry.bandwidth.si},
          {"latency_s", entry.latency.si}, {"time_s", entry.time.si},    {"enabled", entry.enabled}};
}

}  // namespace

Json communicator_json(const Communicator& communicator) {
  Json out;
  Json channels = Json::array(), hops = Json::array(), trees = Json::array();
  int blocks = 0;
  for (const Channel& channel : communicator.channels) {
    channels.push_back(channel.order);
    hops.push_back(hops_json(channel.hops));
    blocks += channel.blocks;
  }
  for (const Tree& tree : communicator.trees) trees.push_back(tree.order);
  const double rings = static_cast<double>(communicator.channels.size());
  out["channels"] = channels;
  out["hops"] = hops;
  out["blocks"] = blocks;
  out["path_class"] = communicator.path_class;
  out["library_channel_bandwidth_Bps"] = communicator.library_channel_bandwidth.si;
  out["library_bandwidth_Bps"] = rings * communicator.library_channel_bandwidth.si;
  out["link_equivalents"] = communicator.link_equivalents;
  out["fallback"] = communicator.fallback;
  out["why"] = communicator.why;
  out["trees"] = trees;
  if (communicator.trees.empty()) return out;
  out["tree_class"] = communicator.tree_class;
  out["library_tree_bandwidth_Bps"] = communicator.tree_channel_bandwidth.si;
  out["rings_found"] = communicator.rings_found;
  return out;
}

Json nics_json(const Cluster& machine, const Communicator& communicator) {
  const std::vector<std::string> ids = machine.nic_ids();
  const auto end = [&](int gpu, const NicWay& way) {
    const activities::NetworkEnd end = activities::network_end(machine, {0, gpu}, way);
    Json one = {{"gpu", gpu}, {"nic", ids[at(end.nic)]}, {"through_host", way.staged}};
    if (way.handover) one["proxy"] = end.gpu.gpu;
    return one;
  };
  Json rings = Json::array(), trees = Json::array();
  for (const Channel& ring : communicator.channels)
    rings.push_back({{"in", end(ring.order.front(), ring.in)}, {"out", end(ring.order.back(), ring.out)}});
  for (const Tree& tree : communicator.trees) trees.push_back(end(tree.order.front(), tree.first));
  Json out = {{"nics", rings}, {"swaps_rings", communicator.swaps_rings}};
  if (!communicator.trees.empty()) out["tree_nics"] = trees;
  if (!communicator.network_class.empty()) out["network_class"] = communicator.network_class;
  return out;
}

Json tuner_json(const RingLibrary& library, const Platform& platform, const Communicator& communicator,
                const TunerRequest& request) {
  Json out;
  out["tuner"] = Json::array();
  for (const TunerEntry& entry : library.tuner(platform, communicator, request))
    out["tuner"].push_back(entry_json(entry));
  const auto choice = library.choose(platform, communicator, request);
  if (!choice) return out;
  out["library_takes"] = entry_json(choice->entry);
  out["library_takes"]["channels"] = choice->channels;
  out["library_takes"]["threads"] = choice->threads;
  out["library_takes"]["payload_share"] = choice->payload_share;
  return out;
}

}  // namespace linkcast::collective
