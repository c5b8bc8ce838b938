// Figures of each version of NCCL, for its search and for its tuner: a version starts from the one before it and names
// what changed. A new version is functions here and one row of versions().
#include "models/libraries/graph/version.hpp"

namespace linkcast::graph {

double by_sm(const BySm& figures, int sm) {
  auto above = figures.upper_bound(sm);
  return above == figures.begin() ? above->second : std::prev(above)->second;
}

namespace {

using enum PathClass;

// source of every figure of the search: models/libraries/SOURCES.md, "Graph era: search"

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

// source of every figure of the tuner: models/libraries/SOURCES.md, "Graph era: tuner"

// Whatever is neither Volta nor exactly 8.0 has Volta's limits, up to 2.17.
constexpr int kAfterA100 = 81;

TunerTraits tuner_v2_7() {
  TunerTraits t;
  // source: models/libraries/SOURCES.md; base, hop over NVLink, hop over anything else of a node, between nodes
  t.tree = {{4.4, 4.4, 0}, {0.52, 1.2, 28}, {1.0, 1.9, 28}, {5.0, 8.5, 50}};
  t.ring = {{3.6, 10.0, 8.4}, {0.47, 1.9, 3.4}, {1.0, 2.5, 5.7}, {2.7, 4.0, 9.6}};
  // source: models/libraries/SOURCES.md
  t.ring_ll128_by_op = {{RingOperation::kBroadcast, 18.8},
                        {RingOperation::kReduce, 12.0},
                        {RingOperation::kAllGather, 18.3},
                        {RingOperation::kReduceScatter, 15.2},  // source: as above
                        {RingOperation::kAllReduce, 16.7}};     // source: as above
  t.tree_share = 0.9;                                           // source: models/libraries/SOURCES.md
  t.ring_ll128_alone = 0.7;                                     // source: models/libraries/SOURCES.md
  t.tree_total = 110;
  t.tree_total_a100_ll128 = 130;
  t.network_tree_total = {110, 80};
  t.network_tree_ll128_a100 = {130, 105};
  t.network_tree_ll128_share = 0.915;  // source: models/libraries/SOURCES.md
  t.network_ll_stretch = 1.8;          // source: models/libraries/SOURCES.md
  t.plateau = t.plateau_ampere = 1.9;  // source: models/libraries/SOURCES.md
  t.a100_total = 235;
  t.collnet_hop_us = 3.7;        // source: models/libraries/SOURCES.md, "CollNet and PAT"
  t.collnet_chain_hop_us = 2.8;  // source: as above
  t.collnet_network_us = 31;     // the same
  t.collnet_chain_network_us = 30;
  return t;
}

TunerTraits tuner_v2_8() {
  TunerTraits t = tuner_v2_7();
  // source: models/libraries/SOURCES.md
  t.tree.nvlink_hop[1] = 1.25;
  t.tree.network_hop[2] = 28;
  t.network_tree_ll128_share = 120.0 / 128;  // source: models/libraries/SOURCES.md
  t.network_ll = {39.0, 20.4};               // source: models/libraries/SOURCES.md
  t.network_ll_amd = {22.5, 19.0};           // source: models/libraries/SOURCES.md
  t.network_tree_channel = {{70, {18.5, 10.0}}, {80, {22.5, 16.0}}, {kAfterA100, {18.5, 10.0}}};  // source: the same
  t.ring_ll128_by_op[RingOperation::kAllReduce] = 16.9;
  t.ll_max = {{70, 39.0}, {80, 87.7}, {kAfterA100, 39.0}};        // source: models/libraries/SOURCES.md
  t.tree_share = 0.92;                                            // source: models/libraries/SOURCES.md
  t.tree_channel = {{70, 26.5}, {80, 24.0}, {kAfterA100, 26.5}};  // source: models/libraries/SOURCES.md
  t.late_corrections = true;
  return t;
}

TunerTraits tuner_v2_12() {
  TunerTraits t = tuner_v2_8();
  t.network_tree_channel[80] = {23.6, 17.8};  // source: models/libraries/SOURCES.md
  t.network_tree_ll128 = {{70, {20, 20}}};
  t.ring.network_hop[2] = 28;
  t.ring_ll128_by_op.clear();
  t.ring_ll128 = {{70, 20}};
  t.tree_ll128 = {{70, 20}};
  return t;
}

TunerTraits tuner_v2_14() {
  TunerTraits t = tuner_v2_12();
  t.ring.network_hop[2] = 9.6;  // source: models/libraries/SOURCES.md
  return t;
}

TunerTraits tuner_v2_18() {
  TunerTraits t = tuner_v2_14();
  t.network_ll_stretch = 1;  // source: models/libraries/SOURCES.md
  t.ll_max.erase(kAfterA100);
  t.tree_channel.erase(kAfterA100);
  t.network_tree_channel.erase(kAfterA100);
  t.send_us = 1;
  t.send_us_amd = 2;
  // source: models/libraries/SOURCES.md
  t.tree = {{6.8, 14.0, 0}, {0.6, 1.25, 4}, {1.0, 1.9, 6}, {5.0, 8.5, 14}};
  t.ring = {{6.6, 14.0, 8.4}, {0.6, 1.9, 3.4}, {1.0, 2.5, 5.7}, {2.7, 4.0, 14}};
  t.nvls_hop_us = 23;                   // the base latency of 2.18; a hop latency of 0 is added to it
  t.nvls_efficiency = {{90, 5.0 / 6}};  // source: models/libraries/SOURCES.md
  t.nvls_network_us = 18;
  t.nvls_tree_network_hop_us = 19;
  t.ring_ll128[90] = t.tree_ll128[90] = 36.7;  // source: models/libraries/SOURCES.md
  t.tree_channel[90] = 38.7;
  t.network_tree_channel[90] = {41.4, 36.0};  // source: models/libraries/SOURCES.md
  t.network_tree_ll128[90] = {36.7, 29.0};    // source: models/libraries/SOURCES.md
  t.a100_total = 0;
  return t;
}

TunerTraits tuner_v2_20() {
  TunerTraits t = tuner_v2_18();
  t.tree.nvlink_hop[2] = t.tree.pci_hop[2] = t.tree.network_hop[2] = 28;
  t.nvls_parts = NvlsParts::kShare;
  t.whole_chunks = true;
  return t;
}

TunerTraits tuner_v2_22() {
  TunerTraits t = tuner_v2_20();
  t.plugin_tuners = true;  // version 3 of their interface; that of 2.21 alone is not modelled
  t.nvls_hop_us = 25;
  t.nvls_tree_network_hop_us = 14;
  t.ll_half = true;
  t.ll_max[90] = 141.0;  // source: models/libraries/SOURCES.md
  return t;
}

TunerTraits tuner_v2_23() {
  TunerTraits t = tuner_v2_22();
  // source: models/libraries/SOURCES.md
  t.tree.base[2] = 8.4;
  t.ring_ll128_alone = 0.92;  // source: models/libraries/SOURCES.md
  t.tree.nvlink_hop[2] = t.tree.pci_hop[2] = 4;
  t.tree.network_hop[2] = 14;
  t.last_step_inside = true;
  t.plateau_ampere = 1.4;  // source: models/libraries/SOURCES.md
  t.nvls_parts = NvlsParts::kWhole;
  t.pat_base_us = 8;
  t.pat_network_hop_us = 14 / 3.5;  // source: models/libraries/SOURCES.md, "CollNet and PAT"
  t.pat_rank_us = 2.8;              // source: the same
  return t;
}

TunerTraits tuner_v2_27() {
  TunerTraits t = tuner_v2_23();
  t.nvls_efficiency = {{90, 0.85}, {100, 0.74}};  // source: models/libraries/SOURCES.md
  t.ll_max[100] = 282.0;                          // source: models/libraries/SOURCES.md
  t.ring_ll128[100] = 73.4;                       // source: models/libraries/SOURCES.md
  t.cells = true;
  t.nvls_parts = NvlsParts::kOthers;
  t.nvls_tree_network_hop_us = 20.9;  // source: models/libraries/SOURCES.md
  return t;
}

TunerTraits tuner_v2_30() {
  TunerTraits t = tuner_v2_27();
  t.ring_ll128[100] = 40.0;  // source: models/libraries/SOURCES.md
  t.tree_channel[100] = 70.0;
  t.network_tree_channel[100] = {42.8, 24.0};  // source: models/libraries/SOURCES.md
  t.network_tree_ll128[100] = {31.67, 20.0};   // source: models/libraries/SOURCES.md
  t.tree_ll128[100] = 55.6;
  return t;
}

}  // namespace

const std::vector<Version>& versions() {
  static const std::vector<Version> kVersions = {
      {"nccl-2.7", "v2.7.8", "2.7", search_v2_7(), tuner_v2_7()},
      {"nccl-2.8", "v2.8.4", "2.8 and 2.9", search_v2_8(), tuner_v2_8()},
      {"nccl-2.12", "v2.12.12", "2.12 and 2.13", search_v2_12(), tuner_v2_12()},
      {"nccl-2.14", "v2.14.3", "2.14 to 2.17", search_v2_12(), tuner_v2_14()},
      {"nccl-2.18", "v2.18.5", "2.18 and 2.19", search_v2_18(), tuner_v2_18()},
      {"nccl-2.20", "v2.20.5", "2.20 and 2.21", search_v2_22(), tuner_v2_20()},
      {"nccl-2.22", "v2.22.3", "2.22", search_v2_22(), tuner_v2_22()},
      {"nccl-2.23", "v2.23.4", "2.23 to 2.26", search_v2_22(), tuner_v2_23()},
      {"nccl-2.27", "v2.27.7", "2.27 and 2.28", search_v2_27(), tuner_v2_27()},
      {"nccl-2.30", "v2.30.7", "2.30", search_v2_30(), tuner_v2_30()}};
  return kVersions;
}

}  // namespace linkcast::graph
