// What real versions of NCCL found and took (calibrate/choices/ask.py), against the search and the tuner here.
#include "sim/records/nccl_choices.hpp"

#include <algorithm>
#include <cmath>
#include <map>
#include <numeric>
#include <string>
#include <vector>

#include "sim/plugin/library.hpp"
#include "sim/units/factors.hpp"
#include "tests/support/catalogue.hpp"
#include "tests/support/catch.hpp"

namespace linkcast::test::nccl_choices_test {
namespace {

const std::string kFolder = std::string(LINKCAST_DATA_DIR) + "/calibrate/data/nccl-choices/";

// Which library stands for which version. source: `linkcast list libraries`
const std::map<std::string, std::string> kStandsFor = {{"2.14.3", "nccl-2.12"}, {"2.18.3", "nccl-2.18"},
                                                       {"2.22.3", "nccl-2.22"}, {"2.23.4", "nccl-2.23"},
                                                       {"2.28.9", "nccl-2.27"}, {"2.30.4", "nccl-2.30"}};

struct Asked {
  const Platform& platform;
  const RingLibrary& library;
  Communicator made;
};

Asked asked(const NcclCase& one) {
  const Platform& platform = catalogue().platform(one.platform);
  const RingLibrary& library = *libraries().get(kStandsFor.at(one.version)).rings();
  std::vector<int> gpus(static_cast<std::size_t>(one.gpus));
  std::iota(gpus.begin(), gpus.end(), 0);
  return {platform, library, library.build(platform, gpus)};
}

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
  return read_nccl_choices(kFolder + "one-node-" + version + ".json");
}

/// PCIe machines whose NICs are faster than the way between their sockets: NCCL crosses by the NICs, as between nodes,
/// which is not modelled (docs/limits.md).
bool crosses_by_nics(const NcclCase& one) {
  const bool late = one.version >= "2.2";  // a100-pcie's sockets count 16 instead of 24 GB/s then
  return one.platform == "h100-pcie" || one.platform == "l40s" || (one.platform == "a100-pcie" && late);
}

/// How POWER's sockets were counted until 2.21 is not known.
bool early_power(const NcclCase& one) {
  const bool power = one.platform == "summit" || one.platform == "summitdev" || one.platform == "lassen";
  return power && one.version < "2.2";
}

}  // namespace

TEST_CASE("rings are those that real versions of NCCL find", "[physics]") {
  int compared = 0;
  for (const auto& [version, library] : kStandsFor)
    for (const NcclCase& one : cases_of(version)) {
      INFO(one.platform << " " << version);
      CHECK(same_rings(one) == !(crosses_by_nics(one) || early_power(one)));
      ++compared;
    }
  CHECK(compared == 114);
}

TEST_CASE("algorithm and protocol are those that real versions of NCCL take", "[physics]") {
  constexpr double kShare = 0.97;  // the rest: broadcast and reduce of rings in several orders; one tie
  for (const std::string version : {"2.28.9", "2.30.4"})
    for (const NcclCase& one : cases_of(version)) {
      const Asked at = asked(one);
      int calls = 0, same = 0;
      for (const TakenCall& call : one.calls) {
        const auto taken = at.library.choose(at.platform, at.made, {call.op, {call.size_B}, "", ""});
        REQUIRE(taken);
        ++calls;
        same += call.algorithm == taken->entry.algorithm && call.protocol == taken->entry.protocol ? 1 : 0;
      }
      INFO(one.platform << " " << version << ": " << same << " of " << calls);
      CHECK(calls > 100);
      CHECK((same >= kShare * calls) == !crosses_by_nics(one));
    }
}

}  // namespace linkcast::test::nccl_choices_test
