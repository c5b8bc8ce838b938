// Figures of the tuner by version: each starts from the version before it and names what changed.
#include "models/libraries/graph/version.hpp"
#include "sim/base/input_error.hpp"

namespace linkcast::graph {
namespace {

// source of every figure of this file: models/libraries/SOURCES.md, "Graph era: tuner"

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
  return t;
}

TunerTraits tuner_v2_22() {
  TunerTraits t = tuner_v2_20();
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

TunerTraits tuner_traits(const std::string& name) {
  static const std::map<std::string, TunerTraits (*)()> kMade = {
      {"2.7", tuner_v2_7},   {"2.8", tuner_v2_8},   {"2.12", tuner_v2_12}, {"2.14", tuner_v2_14},
      {"2.18", tuner_v2_18}, {"2.20", tuner_v2_20}, {"2.22", tuner_v2_22}, {"2.23", tuner_v2_23},
      {"2.27", tuner_v2_27}, {"2.30", tuner_v2_30}};
  const auto it = kMade.find(name);
  if (it == kMade.end()) throw InvariantError("no tuner traits of version " + name);
  return it->second();
}

}  // namespace linkcast::graph
