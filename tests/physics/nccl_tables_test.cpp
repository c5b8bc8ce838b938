// The tables of real NCCL's tuner (calibrate/choices/ask.py), latency and bandwidth of each row, against those here.
#include <cmath>
#include <filesystem>

#include "sim/base/quantity.hpp"
#include "sim/machine/library.hpp"
#include "sim/records/nccl_choices.hpp"
#include "tests/support/catch.hpp"
#include "tests/support/nccl_records.hpp"

namespace linkcast::test::nccl_tables_test {
namespace {

constexpr double kDigit = 0.051;  // NCCL prints one digit

struct Compared {
  int latencies = 0, bandwidths = 0, rows = 0;
};

Compared compared(const NcclCase& one) {
  constexpr double kSmall_B = 8;   // below the sizes for which rows are corrected
  constexpr double kNear = 0.011;  // bandwidths of NVLink that are printed with two digits
  const Asked at = asked(one);
  Compared found;
  for (const TunerRow& row : one.tuner) {
    const std::vector<TunerEntry> ours = at.library.tuner(at.platform, at.made, {row.op, {kSmall_B}, "", ""});
    const auto same = std::find_if(ours.begin(), ours.end(), [&](const TunerEntry& entry) {
      return entry.algorithm == row.algorithm && entry.protocol == row.protocol;
    });
    INFO(row.op << " " << row.algorithm << " " << row.protocol);
    REQUIRE(same != ours.end());
    ++found.rows;
    found.latencies += std::abs(same->latency.si / kMicro - row.latency_us) < kDigit ? 1 : 0;
    found.bandwidths += std::abs(same->bandwidth.si / kGiga - row.bus_GBps) < kDigit + kNear * row.bus_GBps ? 1 : 0;
  }
  return found;
}

/// What NVLS is counted to carry on B200, and as a tree between nodes, is not known.
bool counts_nvls(const NcclCase& one) {
  return one.version >= "2.28" && (one.nodes > 1 ? one.platform == "hgx-h100" : one.platform == "dgx-b200");
}

}  // namespace

TEST_CASE("tables of the tuner are those of real versions of NCCL", "[physics]") {
  int rows = 0, latencies = 0, bandwidths = 0;
  for (const std::string nodes : {"one-node-", "two-nodes-"})
    for (const auto& [version, library] : asked_versions()) {
      const std::string file = choices_folder() + nodes + version + ".json";
      if (!std::filesystem::exists(file)) continue;
      for (const NcclCase& one : read_nccl_choices(file)) {
        const Compared found = compared(one);
        INFO(one.platform << " " << version << ", nodes: " << one.nodes << ": latencies " << found.latencies
                          << ", bandwidths " << found.bandwidths << " of " << found.rows);
        const bool known = crosses_by_nics(one) || early_power(one) || other_channels(one);
        CHECK((found.latencies == found.rows && found.bandwidths == found.rows) == !(known || counts_nvls(one)));
        if (counts_nvls(one)) CHECK((found.latencies == found.rows && found.bandwidths == found.rows - 1));
        rows += found.rows;
        latencies += found.latencies;
        bandwidths += found.bandwidths;
      }
    }
  INFO("latencies " << latencies << ", bandwidths " << bandwidths << " of " << rows);
  CHECK(latencies > 0.88 * rows);
  CHECK(bandwidths > 0.85 * rows);
  CHECK(rows > 2000);
}

}  // namespace linkcast::test::nccl_tables_test
