// source of every figure: models/libraries/SOURCES.md, "RCCL"
#include "models/libraries/rccl/release.hpp"

#include <charconv>
#include <map>
#include <string_view>

#include "sim/base/input_error.hpp"

namespace linkcast::rccl {
namespace {

constexpr double kKi = 1024, kMi = 1048576;

/// "1x3 10" is 0.1, 0.1, 0.1 and 1: tenths, each so many times.
std::vector<double> tenths(std::string_view text) {
  constexpr double kTenth = 0.1;  // source: unit of these tables
  std::vector<double> values;
  const char *at = text.data(), *const end = at + text.size();
  while (at < end) {
    int value = 0, times = 1;
    at = std::from_chars(at, end, value).ptr;
    if (at < end && *at == 'x') at = std::from_chars(at + 1, end, times).ptr;
    values.insert(values.end(), static_cast<std::size_t>(times), value * kTenth);
    if (at < end) ++at;
  }
  return values;
}

std::array<std::vector<double>, kProtocols> bends(std::string_view ll, std::string_view simple) {
  return {tenths(ll), tenths(ll), tenths(simple)};  // LL128 as LL, where it is there
}

TuningTable table_0() {
  // source: models/libraries/SOURCES.md, "RCCL"
  return {{{0.8, 1.4, 2.5},
           {11.8, 18.2, 20.8},
           {0.04, 0.22, 0.91},
           {0.04, 0.22, 0.95},  // source: the same
           bends("1 2 1x2 9 3 4 1 2 4 2 1 3x2 2x3 1x10", "2 10 1x2 7 2 4 1x2 3 4 3 6 8 10x4 9 8x5 9x3")},
          {{0.8, 2.2, 3.6},    // source: the same
           {9.5, 19.8, 15.1},  // source: the same
           {0.04, 0.34, 1},    // source: the same
           {0.04, 0.34, 1},    // source: the same
           bends("1x5 2 4 2 3 5 3 1 5x2 3 2x2 1x10", "10 8 2 10x2 3 10 1x2 2x2 1 5 10 8x2 10 9 10x9")}};
}

TuningTable table_3() {
  // source: models/libraries/SOURCES.md, "RCCL"
  return {{{0.8, 0, 2.5},
           {12.5, 0, 22.4},
           {0.2, 0, 1.75},
           {0.2, 0, 0.96},  // source: the same
           bends("1x6 10x2 2 10 9 10 6 4 6 4 3x5 2x6", "10x6 1x3 2 10 8 10x9 8 7 8 9 7x2")},
          {{0.8, 0, 3.6},   // source: the same
           {9.5, 0, 19.8},  // source: the same
           {0.2, 0, 1},     // source: the same
           {0.2, 0, 1},     // source: the same
           bends("1x5 3 1 2 1 4x2 2x2 3 7 5 4 3x4 2x6", "1x7 5 10 1 3 1x3 2x3 3 4 7 10x7")}};
}

TuningTable table_5() {
  // source: models/libraries/SOURCES.md, "RCCL"
  return {{{0.9, 0.9, 2.3},
           {10.5, 10.5, 25},
           {0.06, 0.06, 0.11},
           {0.06, 0.06, 0.59},  // source: the same
           bends("1x6 10x5 6 10 9 10x2 1x11", "1x15 7 10x10 8")},
          {{0.8, 0.8, 2.1},  // source: the same
           {9.5, 9.5, 320},  // source: the same
           {0.08, 0.08, 1},  // source: the same
           {0.08, 0.08, 1},  // source: the same
           bends("1x11 10 2 10 4x2 1 2x2 1x8", "1x23 8 10x3")}};
}

/// Table 5 as it was up to ROCm 6.2: hops of table 3.
TuningTable table_51() {
  TuningTable t = table_3();
  // source: models/libraries/SOURCES.md, "RCCL"
  t.tree.ratio = {0.41, 0, 1};
  t.tree.ratio_more = {0.41, 0, 0.86};              // source: the same
  t.ring.ratio = t.ring.ratio_more = {0.41, 0, 1};  // source: the same
  t.tree.bends = bends("1x5 10x2 8 1 4 5 10 6 4 6 1 3 4x2 3 2x7", "1x8 10x3 4 10x3 2 7 10x3 8 7x2 8x3 9");
  t.ring.bends = bends("1x7 10 1 2x2 1 5 8 10 2 4 5 4x2 3 2x6", "1x9 7 1x5 10x3 9 10x8");
  return t;
}

/// Table 5 of newer releases: trees of the largest sizes bend down.
TuningTable table_57() {
  TuningTable t = table_5();
  t.tree.bends[2] = tenths("1x15 7 10x5 7x2 5 6x3");
  t.ring.bends[2] = tenths("1x22 7 2 10x3");
  return t;
}

// MI250X: two dies of four links in a package, packages joined as on LUMI and Frontier.
const std::vector<std::string> kMi250x = {"01x4", "23x4", "45x4", "67x4", "06x2", "24x2",
                                          "02",   "13",   "15",   "37",   "46",   "57"};
const std::vector<std::string> kMi250xNode = {"01324576", "67542310", "01546732", "23764510"};
const std::vector<std::string> kMi250xNodes = {"01546732", "23764510", "76013245", "54231067"};
const std::vector<std::string> kMi300xCycles = {"01234567", "01234576", "02413657", "02461735",
                                                "03152746", "03516274", "04173625"};
const std::vector<std::string> kMi300xChains = {"01234567", "10243576", "25036174", "37042165",
                                                "46273051", "54713260", "63140752", "72064153"};

}  // namespace

const std::vector<Release>& releases() {
  static const std::vector<Release> kReleases = {
      {"rccl-2.15", "2.15 to 2.17 (ROCm 5.5 to 5.7)", "nccl-2.14", 0, false, false, false, false, false},
      {"rccl-2.18", "2.18 to 2.20 (ROCm 6.0 to 6.2)", "nccl-2.18", 51, true, false, false, false, false},
      {"rccl-2.21", "2.21 and 2.22 (ROCm 6.3 and 6.4)", "nccl-2.20", 5, true, false, false, false, false},
      {"rccl-2.26", "2.26 and 2.27 (ROCm 7.0 to 7.2)", "nccl-2.23", 57, true, false, true, false, true},
      {"rccl-2.28", "2.28 and 2.29 (ROCm 7.11 to 7.13)", "nccl-2.27", 57, false, false, true, true, true},
      {"rccl-2.30", "2.30 and 2.31 (ROCm 7.14 and 10)", "nccl-2.30", 57, false, true, true, true, true}};
  return kReleases;
}

const std::vector<Preset>& presets() {
  using enum Generation;
  static const std::vector<Preset> kPresets = {
      {73, {kMi200}, 8, 4, {}, {}, kMi250x, kMi250xNode, false, 0},
      {74, {kMi200}, 8, 4, {4}, {0, 0, 1, 1, 2, 2, 3, 3}, kMi250x, kMi250xNodes, false, 3},
      {79, {kMi300, kMi350}, 8, 0, {}, {}, {}, kMi300xCycles, true, {}},
      {81, {kMi300, kMi350}, 8, 0, {8, 16}, {}, {}, kMi300xChains, false, {}},
      {87, {kMi300, kMi350}, 8, 0, {4}, {}, {}, kMi300xChains, false, 0}};
  return kPresets;
}

const TuningTable& tuning_table(int number) {
  static const std::map<int, TuningTable> kTables = {
      {0, table_0()}, {3, table_3()}, {5, table_5()}, {51, table_51()}, {57, table_57()}};
  const auto found = kTables.find(number);
  if (found == kTables.end()) throw InvariantError("RCCL's tuner has no table " + std::to_string(number));
  return found->second;
}

const ProtocolRanges* protocol_ranges(Generation generation) {
  // source of every figure: models/libraries/SOURCES.md, "RCCL"
  static const ProtocolRanges kOfMi300 = {.all_reduce = {512 * kKi, 4415057},
                                          .all_gather = {96 * kKi, 5046272},
                                          .reduce_scatter = {128 * kKi, 3211264},
                                          .reduce = {4 * kKi, 16 * kMi},
                                          .broadcast = {8 * kKi, 32 * kMi},
                                          .more_nodes = 3.8,  // source: as above
                                          .inside_scatter_B = 352128};
  static const ProtocolRanges kOfMi350 = {.all_reduce = {256 * kKi, 70640910},
                                          .all_gather = {64 * kKi, 8 * kMi},
                                          .reduce_scatter = {64 * kKi, 8 * kMi},
                                          .reduce = {16383, 16 * kMi},
                                          .broadcast = {2 * kKi, 16 * kMi},
                                          .more_nodes = 3.8,  // source: as above
                                          .inside_scatter_B = kMi};
  return generation == Generation::kMi300 ? &kOfMi300 : generation == Generation::kMi350 ? &kOfMi350 : nullptr;
}

double link_GBps(Generation generation) {
  return generation == Generation::kMi100 ? 24 : generation == Generation::kMi200 ? 36 : 48;
}

}  // namespace linkcast::rccl
