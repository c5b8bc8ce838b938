// Routes in closed form, and the rate of every link from its calibration.
#include "sim/machine/platform.hpp"

#include <algorithm>
#include <set>

#include "sim/machine/routing.hpp"
#include "sim/records/parameters.hpp"
#include "tests/support/catch.hpp"
#include "tests/support/error_of.hpp"
#include "tests/unit/program.hpp"

namespace linkcast::test::platform_test {

namespace {

using Ids = std::vector<std::string>;

Topology shipped(const std::string& name) { return read_topology(test::data_dir() + "/topologies/" + name + ".json"); }

Calibration calibration_for(const Topology& topology, const std::map<std::string, double>& values = {}) {
  Calibration c;
  c.path = "c.json";
  c.name = c.topology = topology.name;
  for (const auto& [name, value] : values) c.parameters[name] = {value, 0.01 * value, "B/s", "fitted"};
  return c;
}

Platform platform(const std::string& name, const std::map<std::string, double>& values = {}) {
  Topology topology = shipped(name);
  Calibration calibration = calibration_for(topology, values);
  return {std::move(topology), std::move(calibration)};
}

int device(const Platform& p, const std::string& id) { return p.topology().find(id).value(); }

Ids ids(const Platform& p, const Route& route) {
  Ids list;
  for (const int link : route.links) list.push_back(p.constraints()[static_cast<std::size_t>(link)].id);
  return list;
}

Ids peer(const Platform& p, int a, int b) {
  const auto& route = p.peer_route(p.gpu(a), p.gpu(b));
  return route ? ids(p, *route) : Ids{"none"};
}

const Constraint& constraint(const Platform& p, const std::string& id) {
  const auto it =
      std::find_if(p.constraints().begin(), p.constraints().end(), [&](const auto& c) { return c.id == id; });
  REQUIRE(it != p.constraints().end());
  return *it;
}

double capacity(const Platform& p, const std::string& id) { return constraint(p, id).capacity.value; }

Device make(const std::string& id, DeviceKind kind, const std::string& group = "") {
  return {id, kind, "", 60, group, ""};
}

Cable cable(int a, int b, const std::string& kind, int count = 1, double rate = 10e9) {
  return {"", a, b, kind, count, BytesPerSecond{rate}, "test"};
}

Topology made(std::vector<Device> devices, std::vector<Cable> cables, PciePeer pcie_peer = PciePeer::kNone) {
  Topology t;
  t.path = "t.json";
  t.name = "made";
  t.pcie_peer = pcie_peer;
  t.devices = std::move(devices);
  t.cables = std::move(cables);
  t.index();
  return t;
}

Platform plain(const Topology& topology) { return {topology, calibration_for(topology)}; }

std::string error_of(const std::string& name, const std::map<std::string, double>& values) {
  return test::error_of([&] { platform(name, values); });
}

}  // namespace

TEST_CASE("peer copies of the P100 DGX-1 take the direct cable or nothing", "[unit]") {
  const Platform p = platform("p100-dgx1");
  CHECK(p.gpu_count() == 8);
  for (int a = 0; a < 8; ++a)
    for (int b = 0; b < 8; ++b) {
      const std::string hop = "gpu" + std::to_string(a) + "->gpu" + std::to_string(b);
      INFO(hop);
      const bool joined = a / 4 == b / 4 || a % 4 == b % 4;
      CHECK(peer(p, a, b) == (a == b ? Ids{} : joined ? Ids{hop} : Ids{"none"}));
    }
}

TEST_CASE("relays have a cable to both ends", "[unit]") {
  const Platform p = platform("p100-dgx1");
  const auto relays = [&](int a, int b) { return p.relays(p.gpu(a), p.gpu(b)); };
  CHECK(relays(0, 5) == std::vector<int>{p.gpu(1), p.gpu(4)});
  CHECK(relays(3, 4) == std::vector<int>{p.gpu(0), p.gpu(7)});
  CHECK(relays(0, 1) == std::vector<int>{p.gpu(2), p.gpu(3)});
  CHECK(relays(0, 4).empty());
  CHECK(platform("dgx2").relays(0, 1).size() == 14);  // through the switches
}

TEST_CASE("the host is reached over PCIe, sockets over their own cable", "[unit]") {
  const Platform p = platform("p100-dgx1");
  CHECK(ids(p, p.to_host(p.gpu(2))) == Ids{"gpu2->plx1", "plx1->cpu0"});
  CHECK(ids(p, p.from_host(p.gpu(7))) == Ids{"cpu1->plx3", "plx3->gpu7"});
  CHECK(ids(p, p.to_host(device(p, "nic2"))) == Ids{"nic2->plx2", "plx2->cpu1"});
  for (int k = 0; k < 8; ++k) CHECK(p.socket_of(p.gpu(k)) == device(p, k < 4 ? "cpu0" : "cpu1"));
  CHECK(p.socket_of(device(p, "plx0")) == -1);
  CHECK(ids(p, p.between_sockets(device(p, "cpu0"), device(p, "cpu1"))) == Ids{"cpu0->cpu1"});
  CHECK(p.between_sockets(device(p, "cpu1"), device(p, "cpu1")).links.empty());
}

TEST_CASE("NVSwitch planes of one board act as one switch with the planes' links", "[unit]") {
  const Platform p = platform("dgx2");
  CHECK(peer(p, 0, 1) == Ids{"gpu0->board0", "board0->gpu1"});
  CHECK(peer(p, 0, 8) == Ids{"gpu0->board0", "board0->board1", "board1->gpu8"});
  CHECK_THAT(capacity(p, "gpu0->board0"), WithinRel(6 * 25e9, 1e-12));
  // source: DGX-2 data sheet: 6 planes of 8 trunk links
  CHECK_THAT(capacity(p, "board0->board1"), WithinRel(48 * 25e9, 1e-12));
  CHECK(p.wiring().devices.size() == p.topology().devices.size() + 10);
  CHECK(p.wiring().find("nvs3").has_value());
  CHECK_FALSE(p.topology().find("nvs3").has_value());
  CHECK_THAT(capacity(platform("dgx2", {{"cable.nvlink2.bandwidth_Bps", 24e9}}), "board0->gpu1"),
             WithinRel(6 * 24e9, 1e-12));
}

TEST_CASE("planes merge in whichever order a cable names its ends", "[unit]") {
  using K = DeviceKind;
  const Topology t = made({make("gpu0", K::kGpu), make("s0", K::kNvswitch, "g"), make("s1", K::kNvswitch, "g"),
                           make("s2", K::kNvswitch), make("gpu1", K::kGpu)},
                          {cable(0, 1, "nvlink2"), cable(2, 0, "nvlink2", 2), cable(0, 3, "nvlink2"),
                           cable(4, 1, "nvlink2"), cable(4, 3, "nvlink2")});
  const Topology merged = merge_switch_planes(t);
  REQUIRE(merged.devices.size() == 4);  // s2 has no group and stays
  REQUIRE(merged.cables.size() == 4);
  CHECK(merged.cables[0].id == "gpu0-g");
  CHECK(merged.cables[0].count == 3);
}

TEST_CASE("a copy over PCIe passes switches and one socket, never from socket to socket", "[unit]") {
  using K = DeviceKind;
  const std::vector<Device> devices = {make("gpu0", K::kGpu),        make("gpu1", K::kGpu), make("gpu2", K::kGpu),
                                       make("plx0", K::kPcieSwitch), make("cpu0", K::kCpu), make("cpu1", K::kCpu)};
  const std::vector<Cable> cables = {cable(0, 3, "pcie3"), cable(3, 4, "pcie3"), cable(1, 4, "pcie3"),
                                     cable(4, 5, "qpi"), cable(2, 5, "pcie3")};
  const Platform allowed = plain(made(devices, cables, PciePeer::kSameSocket));
  CHECK(peer(allowed, 0, 1) == Ids{"gpu0->plx0", "plx0->cpu0", "cpu0->gpu1"});
  CHECK(peer(allowed, 0, 2) == Ids{"none"});
  const Platform forbidden = plain(made(devices, cables, PciePeer::kNone));
  CHECK(peer(forbidden, 0, 1) == Ids{"none"});
  CHECK(ids(forbidden, forbidden.to_host(0)) == Ids{"gpu0->plx0", "plx0->cpu0"});
}

TEST_CASE("an accelerator cable to the CPU carries host copies, but no GPU is passed through", "[unit]") {
  using K = DeviceKind;
  const Platform p = plain(made({make("gpu0", K::kGpu), make("gpu1", K::kGpu), make("cpu0", K::kCpu)},
                                {cable(0, 2, "nvlink2", 2), cable(0, 1, "nvlink2")}));
  CHECK(ids(p, p.to_host(0)) == Ids{"gpu0->cpu0"});
  CHECK_THROWS_WITH(p.to_host(1), "platform made: gpu1 has no path to a CPU");
  CHECK_THROWS_WITH(p.from_host(1), "platform made: gpu1 has no path to a CPU");
  CHECK(p.socket_of(1) == -1);
}

TEST_CASE("on POWER the host is reached over NVLink, and sockets keep GPUs apart", "[unit]") {
  const Platform p = platform("summit");
  CHECK(ids(p, p.to_host(p.gpu(4))) == Ids{"gpu4->cpu1"});
  CHECK(ids(p, p.from_host(p.gpu(0))) == Ids{"cpu0->gpu0"});
  CHECK(peer(p, 0, 2) == Ids{"gpu0->gpu2"});
  CHECK(peer(p, 2, 3) == Ids{"none"});
}

TEST_CASE("Infinity Fabric forwards through GPUs, NVLink does not", "[unit]") {
  // source: paper 002 (SC24), figure 4 and section III-D: copies from GCD 0 reach all others, GCD 6 and 7 at one rate
  const Platform p = platform("lumi");
  CHECK(peer(p, 0, 6) == Ids{"gpu0->gpu6"});
  CHECK(peer(p, 0, 7) == Ids{"gpu0->gpu6", "gpu6->gpu7"});
  CHECK(peer(p, 0, 5) == Ids{"gpu0->gpu1", "gpu1->gpu5"});
  CHECK(ids(p, p.to_host(p.gpu(0))) == Ids{"gpu0->cpu3"});
  CHECK(peer(platform("p100-dgx1"), 0, 7) == Ids{"none"});
}

TEST_CASE("of equally short routes the cable listed first is taken, and the nearest socket", "[unit]") {
  using K = DeviceKind;
  const Platform p =
      plain(made({make("gpu0", K::kGpu), make("gpu1", K::kGpu), make("s0", K::kNvswitch), make("s1", K::kNvswitch),
                  make("cpu0", K::kCpu), make("cpu1", K::kCpu), make("plx0", K::kPcieSwitch)},
                 {cable(0, 3, "nvlink2"), cable(0, 2, "nvlink2"), cable(1, 2, "nvlink2"), cable(1, 3, "nvlink2"),
                  cable(0, 6, "pcie3"), cable(6, 4, "pcie3"), cable(0, 5, "pcie3")}));
  CHECK(peer(p, 0, 1) == Ids{"gpu0->s1", "s1->gpu1"});
  CHECK(p.socket_of(0) == 5);  // one hop, cpu0 is two away
  CHECK_THROWS_WITH(p.between_sockets(4, 5), "platform made: no cable joins the sockets cpu0 and cpu1");
}

TEST_CASE("the rate of a link: its own, its cable's, its kind's, nominal", "[unit]") {
  const Platform p = platform("p100-dgx1", {{"cable.nvlink1.bandwidth_Bps", 18e9},
                                            {"cable.nvlink1@gpu0-gpu1.bandwidth_Bps", 17e9},
                                            {"link.gpu1->gpu0.bandwidth_Bps", 16e9},
                                            {"cable.pcie3.to_host_Bps", 13e9},
                                            {"cable.pcie3.from_host_Bps", 10e9}});
  CHECK(capacity(p, "gpu2->gpu3") == 18e9);
  CHECK(capacity(p, "gpu0->gpu1") == 17e9);
  CHECK(capacity(p, "gpu1->gpu0") == 16e9);
  CHECK(capacity(p, "gpu0->plx0") == 13e9);
  CHECK(capacity(p, "plx0->cpu0") == 13e9);
  CHECK(capacity(p, "cpu0->plx0") == 10e9);
  CHECK(capacity(p, "plx0->nic0") == 10e9);
  const Resolved& link = constraint(p, "gpu0->gpu1").capacity;
  CHECK(link.calibrated);
  CHECK(link.name == "cable.nvlink1@gpu0-gpu1.bandwidth_Bps");
  CHECK_THAT(link.rel_error, WithinRel(0.01, 1e-12));
  const Resolved& qpi = constraint(p, "cpu0->cpu1").capacity;  // 2 x 19.2 GB/s, nothing fitted
  CHECK_THAT(qpi.value, WithinRel(38.4e9, 1e-12));
  CHECK_FALSE(qpi.calibrated);
  CHECK(qpi.rel_error > 0.1);
}

TEST_CASE("both directions together are a constraint only where a duplex capacity was fitted", "[unit]") {
  const Platform none = platform("p100-dgx1");
  CHECK(none.constraints().size() == none.links().size() + 8);  // processes, one a GPU
  CHECK(none.duplex_of(0) == -1);
  const Platform p =
      platform("p100-dgx1", {{"cable.pcie3.duplex_Bps", 19e9}, {"cable.pcie3@plx0-cpu0.duplex_Bps", 20e9}});
  CHECK(p.constraints().size() == p.links().size() + 16 + 8);  // 8 GPUs, 4 adapters, 4 uplinks; processes
  CHECK(capacity(p, "plx0<->cpu0") == 20e9);
  CHECK(capacity(p, "gpu0<->plx0") == 19e9);
  CHECK(constraint(p, "plx0<->cpu0").kind == ConstraintKind::kDuplex);
  for (std::size_t i = 0; i < p.links().size(); ++i) CHECK(p.constraints()[i].link == static_cast<int>(i));
}

TEST_CASE("a parameter that is absent is marked", "[unit]") {
  const Platform p = platform("p100-dgx1", {{"transport.peer.r0.startup_s", 9e-6}});
  CHECK(resolve(p.calibration(), key::startup("peer", 0), 1).value == 9e-6);
  CHECK(resolve(p.calibration(), key::startup("peer", 0), 1).calibrated);
  CHECK(resolve(p.calibration(), key::startup("peer", 1), 7).value == 7);
  CHECK_FALSE(resolve(p.calibration(), key::startup("peer", 1), 7).calibrated);
  CHECK_FALSE(p.cable_parameter(p.topology().cables[0], key::cable_duplex).has_value());
}

TEST_CASE("a calibration that does not fit the topology is refused", "[unit]") {
  const std::string what = ": names no transport, cable kind, cable or link of topology p100-dgx1";
  for (const std::string name :
       {"cable.nvlink2.bandwidth_Bps", "cable.pcie3@gpu0-plx1.duplex_Bps", "link.gpu0->gpu5.bandwidth_Bps",
        "cable.bandwidth_Bps", "nonsense", "gpu.gpu0.bandwidth_Bps"})
    CHECK(error_of("p100-dgx1", {{name, 1e9}}) == "c.json:/parameters/" + name + what);
  Topology t = shipped("p100-dgx1");
  Calibration c = calibration_for(t);
  c.topology = "v100-dgx1";
  CHECK_THROWS_WITH(Platform(t, c), "c.json:/topology: is for 'v100-dgx1', not for 'p100-dgx1'");
}

}  // namespace linkcast::test::platform_test
