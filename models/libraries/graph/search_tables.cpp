// Figures of the search by version: each starts from the version before it and names what changed.
#include "models/libraries/graph/version.hpp"
#include "sim/base/input_error.hpp"

namespace linkcast::graph {
namespace {

using enum PathClass;

// source of every figure of this file: models/libraries/SOURCES.md, "Graph era: search"

SearchTraits search_v2_7() {
  SearchTraits t;
  t.nvlink = {{60, 18}, {70, 21}, {80, 21}, {86, 12}, {90, 21}};
  t.cpu = {6, 9, 9, 9, 5000, 32, 6};
  t.intel_peer_overhead = 4.0 / 3;  // source: models/libraries/SOURCES.md
  t.classes = {kLoc, kNvl, kPix, kPxb, kPhb, kSys};
  t.nvlink_through_power = true;
  t.peers = PeerRule::kByIntelModel;
  // source: models/libraries/SOURCES.md
  t.speeds = {{0, {42, 24, 21, 18, 15, 12, 10, 9, 7, 6, 5, 4, 3, 2.4, 1.2, 0.24, 0.12}}};
  t.network_speeds = t.speeds;
  t.budgets = {1572864, 262144, 262144, 1024};
  t.max_channels = 32;
  return t;
}

SearchTraits search_v2_8() {
  SearchTraits t = search_v2_7();
  t.classes = {kLoc, kNvl, kNvb, kPix, kPxb, kPhb, kSys};
  t.nvlink_through_power = false;
  t.relays = true;
  // source: models/libraries/SOURCES.md
  t.speeds = {{0, {42, 30, 24, 21, 18, 15, 12, 10, 9, 7, 6, 5, 4, 3, 2.4, 1.2, 0.24, 0.12}}};
  t.network_speeds = t.speeds;
  t.budgets.trees = 131072;
  return t;
}

SearchTraits search_v2_12() {
  SearchTraits t = search_v2_8();
  t.nvlink = {{60, 18}, {70, 22}, {80, 22}, {86, 12}, {90, 22}};
  t.intel_peer_overhead = 6.0 / 5;  // source: models/libraries/SOURCES.md
  t.classes = {kLoc, kNvl, kNvb, kPix, kPxb, kPxn, kPhb, kSys};
  t.driver_decides_peers = true;
  t.peers = PeerRule::kIntelPxb;
  t.speeds = {{0, {44, 30, 22, 18, 15, 12, 10, 9, 7, 6, 5, 4, 3}}};
  // source: models/libraries/SOURCES.md
  t.network_speeds = {{0, {48, 30, 24, 22, 18, 15, 12, 10, 9, 7, 6, 5, 4, 3, 2.4, 1.2, 0.24, 0.12}}};
  t.proxies_to_nic = true;
  t.budgets = {262144, 16384, 16384, 256};
  return t;
}

SearchTraits search_v2_18() {
  SearchTraits t = search_v2_12();
  t.nvlink = {{60, 18}, {70, 20}, {80, 20}, {86, 12}, {90, 20}};
  t.cpu.skylake = t.cpu.sapphire_rapids = t.cpu.emerald_rapids = 10;
  t.speeds = {{0, {40, 30, 20, 18, 15, 12, 10, 9, 7, 6, 5, 4, 3}}, {90, {60, 40, 30, 24, 20, 15, 12, 6, 3}}};
  // source: models/libraries/SOURCES.md
  t.network_speeds = {{0, {48, 30, 28, 24, 20, 18, 15, 12, 10, 9, 7, 6, 5, 4, 3, 2.4, 1.2, 0.24, 0.12}},
                      {90, {48, 45, 42, 40, 30, 24, 22, 20, 17.5, 15, 12, 6, 3, 2.4, 1.2, 0.24, 0.12}}};
  t.budgets.all = 327680;
  t.many_hopper_stay_single = true;
  t.trees_match_rings = true;
  t.plain_trees = true;
  return t;
}

SearchTraits search_v2_22() {
  SearchTraits t = search_v2_18();
  t.nvlink[90] = 20.6;  // source: models/libraries/SOURCES.md
  t.cpu.amd = 16;
  t.reverse_link_by_kind = true;
  t.speeds[90] = {60, 50, 40, 30, 24, 20, 15, 12, 11, 6, 3};
  t.budgets.all = 524288;
  return t;
}

SearchTraits search_v2_27() {
  SearchTraits t = search_v2_22();
  t.nvlink[100] = 40.1;  // source: models/libraries/SOURCES.md
  t.cpu.sapphire_rapids = 22;
  t.cpu.emerald_rapids = 40;
  t.classes = {kLoc, kNvl, kNvb, kC2c, kPix, kPxb, kP2c, kPxn, kPhb, kSys};
  t.peers = PeerRule::kPxb;
  t.speeds[100] = {90, 80, 70, 60, 50, 40, 30, 24, 20, 19};
  t.max_channels = 64;
  return t;
}

SearchTraits search_v2_30() {
  SearchTraits t = search_v2_27();
  t.class_before_width = true;
  t.speeds[100] = {90, 80, 70, 60, 50, 45, 40, 30, 24, 20, 19, 18};
  // source: models/libraries/SOURCES.md
  t.network_speeds[100] = {96, 86, 80, 48, 45.1, 42, 40, 30, 24, 22, 20, 17.5, 15, 12, 6, 3, 2.4, 1.2, 0.24, 0.12};
  return t;
}

}  // namespace

SearchTraits search_traits(const std::string& name) {
  static const std::map<std::string, SearchTraits (*)()> kMade = {
      {"2.7", search_v2_7},   {"2.8", search_v2_8},   {"2.12", search_v2_12}, {"2.14", search_v2_12},
      {"2.18", search_v2_18}, {"2.20", search_v2_22}, {"2.22", search_v2_22}, {"2.23", search_v2_22},
      {"2.27", search_v2_27}, {"2.30", search_v2_30}};
  const auto it = kMade.find(name);
  if (it == kMade.end()) throw InvariantError("no search traits of version " + name);
  return it->second();
}

}  // namespace linkcast::graph
