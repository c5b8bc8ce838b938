// What messages and staged buffers cost the processes of an MPI: which parameter each cost is, whose, and what stands
// in where none was measured.
#include <cmath>

#include "sim/base/index.hpp"
#include "sim/plan/mpi_costs.hpp"
#include "tests/support/ask.hpp"
#include "tests/support/catch.hpp"
#include "tests/support/made_machine.hpp"

namespace linkcast::test::process_costs_test {

namespace {

/// The shipped machine with these parameters instead of all mpi.* that it has.
Platform with(const std::string& shipped, const Values& values, const std::string& without = "mpi.") {
  Calibration made = catalogue().machine(shipped)->platform().calibration();
  std::erase_if(made.parameters,
                [&](const auto& one) { return one.first.rfind("mpi.", 0) == 0 || one.first.rfind(without, 0) == 0; });
  for (const auto& [name, value] : values) made.parameters[name] = {value, 0.1 * value, "", "fitted"};
  made.correlation = {};
  return {catalogue().machine(shipped)->platform().wiring(), made};
}

}  // namespace

TEST_CASE("costs of messages: posting by where buffers are, eager sizes and NICs of hosts alone",
          "[physics][process]") {
  const Platform node = with("hgx-h200", {{"mpi.host@openmpi.post_s", 1.1e-6},
                                          {"mpi.gpu@openmpi.post_s", 2.2e-6},
                                          {"mpi.host@openmpi.eager_B", 3300},
                                          {"mpi.inside@openmpi.startup_s", 4.4e-6},
                                          {"mpi.inside@openmpi.bandwidth_Bps", 5.5e9},
                                          {"mpi.host@openmpi.nics", 2}});
  const activities::MessageCosts host = activities::message_costs(node, "mpi-openmpi", true),
                                 gpu = activities::message_costs(node, "mpi-openmpi", false);
  CHECK(host.post_s == 1.1e-6);
  CHECK(host.eager_B == 3300);
  CHECK(host.nics == 2);
  CHECK(gpu.post_s == 2.2e-6);
  CHECK(gpu.eager_B == 0);  // a sender of GPU memory waits
  CHECK(gpu.nics == 1);
  REQUIRE_FALSE(node.transports().message("mpi_socket_host"));
  CHECK(host.inside.delay_s == 4.4e-6);
  CHECK(host.inside.cap_Bps == 5.5e9);
  // another library has none of these
  const activities::MessageCosts other = activities::message_costs(node, "mpi-mpich", true);
  CHECK(other.post_s != host.post_s);
  CHECK(other.nics == 1);
  // where messages between host processes were measured nothing stands in for them
  const Platform& summit = catalogue().machine("summit")->platform();
  REQUIRE((summit.transports().message("mpi_socket_host") || summit.transports().message("mpi_node_host")));
  CHECK(activities::message_costs(summit, "mpi-openmpi", true).inside.delay_s == Pace{}.delay_s);
  const activities::PostCost post = activities::post_cost(node, true),
                             none = activities::post_cost(with("hgx-h200", {}), true);
  CHECK(post.time_s == 1.1e-6);
  CHECK_THAT(post.error, WithinRel(0.1, kExact));
  CHECK(post.measured);
  CHECK(activities::post_cost(node, false).time_s == 2.2e-6);
  CHECK_FALSE(none.measured);
  // half of 1.02 us that a small message between hosts takes on Leonardo (paper 002); Spectrum MPI has 0.6 us
  CHECK_THAT(none.time_s, WithinRel(0.51e-6, 0.03));
  CHECK(std::log(0.6e-6 / none.time_s) < none.error);
  const Platform old = with("hgx-h200", {{"mpi.library@openmpi.version", 4.0}});
  CHECK(activities::library_version(old.calibration(), "mpi-openmpi") == 4.0);
  CHECK(activities::library_version(old.calibration(), "mpi-mpich") == 0);
}

TEST_CASE("costs of staging and of reductions: a library's own, else those of copies", "[physics][process]") {
  const Platform own = with("hgx-h200", {{"mpi.staging@openmpi.copy_s", 11e-6},
                                         {"mpi.staging@openmpi.copy_Bps", 12e9},
                                         {"mpi.staging@openmpi.fresh_Bps", 13e9},
                                         {"mpi.staging@openmpi.fresh_from_B", 14e6},
                                         {"mpi.host@openmpi.reduce_Bps", 15e9}});
  const activities::StagingCosts costs = activities::staging_costs(own, "mpi-openmpi");
  CHECK(costs.copy_s == 11e-6);
  CHECK(costs.copy_Bps == 12e9);
  CHECK(costs.fresh_Bps == 13e9);
  CHECK(costs.fresh_from_B == 14e6);
  CHECK(costs.measured);
  CHECK_THAT(costs.start_error.sigma, WithinRel(0.1, kExact));
  CHECK_THAT(costs.rate_error.sigma, WithinRel(0.1, kExact));
  const activities::CombineCost sums = activities::combine_cost(own, "mpi-openmpi", true);
  CHECK(sums.rate_Bps == 15e9);
  CHECK(sums.start_s == 0);
  CHECK(sums.measured);
  CHECK_THAT(sums.rate_error.sigma, WithinRel(0.1, kExact));
  CHECK_FALSE(activities::combine_cost(own, "mpi-mpich", true).measured);
  CHECK_FALSE(activities::combine_cost(own, "mpi-openmpi", false).measured);
  // not of this library: copies of pageable memory, where they were measured
  const activities::StagingCosts copies = activities::staging_costs(with("hgx-h200", {}), "mpi-openmpi");
  const Transports& known = own.transports();
  REQUIRE(known.measured("d2h_pageable"));
  CHECK(copies.copy_s == known.get("d2h_pageable").regimes.front().startup.value);
  CHECK(copies.copy_Bps == known.get("d2h_pageable").regimes.back().rate_cap->value);
  CHECK_FALSE(copies.measured);
  // else a third of the way, 18.5 of 55 GB/s on H200, and the start of a copy of pinned memory
  const Platform pinned = with("hgx-h200", {}, "transport.d2h_pageable");
  const activities::StagingCosts guessed = activities::staging_costs(pinned, "mpi-openmpi");
  double way = kInfinity;
  for (const int link : pinned.to_host(pinned.gpu(0)).links)
    way = std::min(way, pinned.constraints()[static_cast<std::size_t>(link)].capacity.value);
  CHECK_THAT(guessed.copy_Bps, WithinRel(18.5 / 55 * way, 0.02));
  CHECK(guessed.copy_s == known.get("d2h").regimes.front().startup.value);
  CHECK(guessed.rate_error.sigma > copies.rate_error.sigma);
}

}  // namespace linkcast::test::process_costs_test
