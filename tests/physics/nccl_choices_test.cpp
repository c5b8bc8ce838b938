// What real versions of NCCL found and took (calibrate/choices/ask.py), against the search and the tuner here.
#include "sim/records/nccl_choices.hpp"

#include <algorithm>
#include <cmath>
#include <map>
#include <string>
#include <vector>

#include "sim/base/quantity.hpp"
#include "sim/machine/library.hpp"
#include "tests/support/catch.hpp"
#include "tests/support/nccl_records.hpp"

namespace linkcast::test::nccl_choices_test {
namespace {

std::vector<int> from_first(std::vector<int> ring) {
  std::rotate(ring.begin(), std::min_element(ring.begin(), ring.end()), ring.end());
  return ring;
}

/// How many blocks run each ring.
std::map<std::vector<int>, int> rings_of(const NcclCase& one) {
  std::map<std::vector<int>, int> rings;
  for (const std::vector<int>& ring : one.rings) ++rings[from_first(ring)];
  return rings;
}

std::map<std::vector<int>, int> rings_of(const Communicator& made) {
  std::map<std::vector<int>, int> rings;
  for (const Channel& ring : made.channels) rings[from_first(ring.order)] += ring.blocks;
  return rings;
}

bool same_rings(const NcclCase& one) {
  const Communicator made = asked(one).made;
  const FoundGraph& found = one.graphs[0];
  const double speed = made.library_channel_bandwidth.si / kGiga;
  return rings_of(one) == rings_of(made) && found.path_class == made.path_class &&
         std::abs(speed - found.speed_GBps) < 0.01 * speed;
}

std::vector<NcclCase> cases_of(const std::string& version) {
  return read_nccl_choices(choices_folder() + "one-node-" + version + ".json");
}

}  // namespace

TEST_CASE("rings are those that real versions of NCCL find", "[physics]") {
  int compared = 0;
  for (const auto& [version, library] : asked_versions())
    for (const NcclCase& one : cases_of(version)) {
      INFO(one.platform << " " << version);
      CHECK(same_rings(one) == !(crosses_by_nics(one) || early_power(one)));
      ++compared;
    }
  CHECK(compared == 132);
}

TEST_CASE("algorithm and protocol are those that real versions of NCCL take", "[physics]") {
  int all = 0, cases = 0;
  for (const std::string file : {"one-node-2.28.9", "one-node-2.30.4", "two-nodes-2.28.9"})
    for (const NcclCase& one : read_nccl_choices(choices_folder() + file + ".json")) {
      const Asked at = asked(one);
      int calls = 0, same = 0;
      for (const TakenCall& call : one.calls) {
        const auto taken = at.library.choose(at.platform, at.made, {call.op, {call.size_B}, "", ""});
        REQUIRE(taken);
        ++calls;
        same += call.algorithm == taken->entry.algorithm && call.protocol == taken->entry.protocol ? 1 : 0;
      }
      INFO(one.platform << " " << one.version << ", nodes " << one.nodes << ": " << same << " of " << calls);
      CHECK(calls > 100);
      CHECK((same == calls) == !(crosses_by_nics(one) || other_channels(one)));
      all += calls;
      ++cases;
    }
  CHECK(cases == 45);
  CHECK(all > 5000);
}

}  // namespace linkcast::test::nccl_choices_test
