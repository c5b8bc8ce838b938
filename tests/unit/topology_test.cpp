// Topologies: the reader, the kinds of cables, and the shipped machines against what their papers print.
#include "sim/machine/topology.hpp"

#include <algorithm>

#include "tests/support/catch.hpp"
#include "tests/support/error_of.hpp"
#include "tests/unit/program.hpp"

namespace linkcast::test::topology_test {

namespace {

Topology shipped(const std::string& name) { return read_topology(test::data_dir() + "/topologies/" + name + ".json"); }

std::string error_of_index(Topology& topology) {
  return error_of([&] { topology.index(); });
}

Device gpu(const std::string& id) { return {id, DeviceKind::kGpu, "", 60, "", ""}; }

Cable cable(int a, int b, const std::string& kind, int count = 1) {
  return {"", a, b, kind, count, BytesPerSecond{20e9}, "test"};
}

/// Links of each GPU to other GPUs.
std::vector<int> gpu_degrees(const Topology& t) {
  std::vector<int> degrees;
  for (const int a : t.gpus()) {
    int links = 0;
    for (const int b : t.gpus())
      if (a != b) links += t.direct_links(a, b);
    degrees.push_back(links);
  }
  return degrees;
}

}  // namespace

TEST_CASE("a topology is read whole", "[unit]") {
  const Topology t = read_topology(test::data_dir() + "/tests/input/pass_topology.json");
  CHECK(t.name == "pair");
  CHECK(t.title == "two GPUs on one socket");
  CHECK(t.source == "made for tests");
  CHECK(t.sha256.size() == 64);
  CHECK(t.pcie_peer == PciePeer::kNone);
  REQUIRE(t.devices.size() == 4);
  CHECK(t.devices[0].sm == 60);
  CHECK(t.devices[2].kind == DeviceKind::kCpu);
  CHECK(t.devices[2].vendor == "intel");
  REQUIRE(t.cables.size() == 4);
  CHECK(t.cables[0].id == "gpu0-gpu1");
  CHECK(t.cables[0].count == 1);
  CHECK(t.cables[0].bandwidth.si == 20e9);
  CHECK(t.gpus() == std::vector<int>{0, 1});
  CHECK(t.find("plx0") == 3);
  CHECK_FALSE(t.find("plx1").has_value());
  CHECK(t.direct(1, 0) == &t.cables[0]);
  CHECK(t.direct(0, 3) == nullptr);  // PCIe is no accelerator cable
  CHECK(t.direct_links(0, 1) == 1);
  CHECK(t.direct_links(0, 2) == 0);
}

TEST_CASE("every device kind has its name", "[unit]") {
  CHECK(to_text(DeviceKind::kGpu) == "gpu");
  CHECK(to_text(DeviceKind::kCpu) == "cpu");
  CHECK(to_text(DeviceKind::kPcieSwitch) == "pcie_switch");
  CHECK(to_text(DeviceKind::kNvswitch) == "nvswitch");
  CHECK(to_text(DeviceKind::kNic) == "nic");
  CHECK(to_text(DeviceKind::kSwitch) == "switch");
}

TEST_CASE("a cable kind belongs to exactly one family", "[unit]") {
  const std::vector<std::pair<std::string, int>> rows = {{"nvlink1", 0},
                                                         {"nvlink4", 0},
                                                         {"infinity_fabric", 0},
                                                         {"infinity_fabric_gpu2", 0},
                                                         {"c2c", 0},
                                                         {"pcie3", 1},
                                                         {"pcie5", 1},
                                                         {"qpi", 2},
                                                         {"upi", 2},
                                                         {"xbus", 2},
                                                         {"ib_edr", 3},
                                                         {"apelink", 3},
                                                         {"infinity_fabric_cpu", 2},
                                                         {"infinity_fabric_host", 0},
                                                         {"nvlink_cpu", 2},
                                                         {"slingshot11", 3},
                                                         {"string", -1},
                                                         {"qpi2", -1},
                                                         {"ethernet_100", 3},
                                                         {"efa_400", 3},
                                                         {"token_ring", -1}};
  for (const auto& [kind, family] : rows) {
    INFO(kind);
    CHECK(is_accelerator_cable(kind) == (family == 0));
    CHECK(is_pcie_cable(kind) == (family == 1));
    CHECK(is_socket_cable(kind) == (family == 2));
    CHECK(is_fabric_cable(kind) == (family == 3));
  }
}

TEST_CASE("GPUs are known by their number, wherever they are listed", "[unit]") {
  Topology t;
  t.path = "t.json";
  t.devices = {gpu("gpu1"), {"cpu0", DeviceKind::kCpu, "", 0, "", ""}, gpu("gpu0"), gpu("gpu10"), gpu("gpu2")};
  CHECK(error_of_index(t) == "t.json:/devices: gpu3 is missing: gpus count from 0 without gaps");
  t.devices[3].id = "gpu3";
  CHECK(error_of_index(t) == "no error");
  CHECK(t.gpus() == std::vector<int>{2, 0, 4, 3});
}

TEST_CASE("wrong device lists are refused", "[unit]") {
  Topology t;
  t.path = "t.json";
  CHECK(error_of_index(t) == "t.json:/devices: no gpu");
  t.devices = {gpu("gpu0"), gpu("gpu0")};
  CHECK(error_of_index(t) == "t.json:/devices/1/id: duplicate device 'gpu0'");
  for (const std::string name : {"gpu", "gpu-1", "gpu01", "gpu1x", "GPU1", "gpu+1", "a100"}) {
    t.devices = {gpu("gpu0"), gpu(name)};
    CHECK(error_of_index(t) == "t.json:/devices/1/id: '" + name + "': a gpu is called gpu<number>");
  }
}

TEST_CASE("two kinds of cable between the same devices are told apart", "[unit]") {
  Topology t;
  t.path = "t.json";
  t.devices = {gpu("gpu0"), gpu("gpu1")};
  t.cables = {cable(0, 1, "nvlink1"), cable(1, 0, "pcie3")};
  for (int times = 0; times < 2; ++times) {  // after an edit index() runs again
    CHECK(error_of_index(t) == "no error");
    CHECK(t.cables[0].id == "gpu0-gpu1:nvlink1");
    CHECK(t.cables[1].id == "gpu1-gpu0:pcie3");
  }
  t.cables.push_back(cable(1, 0, "nvlink1"));
  CHECK(error_of_index(t) == "t.json:/cables: 'gpu1-gpu0' (nvlink1) is listed twice: give it once with a count");
}

TEST_CASE("the P100 DGX-1 is a hybrid cube mesh of four links a GPU", "[unit]") {
  // source: paper 001 (TPDS 2020), section 2.2, figure 1: two fully connected planes of 4, joined k to k+4
  const Topology t = shipped("p100-dgx1");
  CHECK(gpu_degrees(t) == std::vector<int>(8, 4));
  for (int a = 0; a < 8; ++a)
    for (int b = 0; b < 8; ++b) {
      INFO(a << " " << b);
      const bool joined = a != b && (a / 4 == b / 4 || a % 4 == b % 4);
      CHECK(t.direct_links(t.gpus()[static_cast<std::size_t>(a)], t.gpus()[static_cast<std::size_t>(b)]) ==
            (joined ? 1 : 0));
    }
}

TEST_CASE("V100 machines use all six links of every GPU", "[unit]") {
  // source: paper 001 (TPDS 2020), section 2.2: V100 has six NVLink-V2 slots
  CHECK(gpu_degrees(shipped("v100-dgx1")) == std::vector<int>(8, 6));
  CHECK(gpu_degrees(shipped("abci-v100")) == std::vector<int>(4, 6));
  const Topology dgx2 = shipped("dgx2");
  for (const int each : dgx2.gpus()) {
    int links = 0;
    for (const Cable& c : dgx2.cables)
      if (is_accelerator_cable(c.kind) && (c.a == each || c.b == each)) links += c.count;
    CHECK(links == 6);
  }
  CHECK(dgx2.gpus().size() == 16);
}

TEST_CASE("nodes of POWER machines give each GPU's links to its socket and its neighbours", "[unit]") {
  // source: paper 001 (TPDS 2020), sections 2.2 and 2.3: two links between every two nodes of a subnetwork, all slots
  // used
  for (const auto& [name, slots] : {std::pair<std::string, int>{"summitdev", 4}, {"summit", 6}, {"lassen", 6}}) {
    INFO(name);
    const Topology t = shipped(name);
    for (const int each : t.gpus()) {
      int links = 0;
      for (const Cable& c : t.cables)
        if (is_accelerator_cable(c.kind) && (c.a == each || c.b == each)) links += c.count;
      CHECK(links == slots);
    }
  }
}

TEST_CASE("pairs of GPUs of three supercomputers have the nominal rate that paper 002 prints", "[unit]") {
  const auto gbit_per_s = [](const Topology& t, int a, int b) {
    const Cable* c = t.direct(t.gpus()[static_cast<std::size_t>(a)], t.gpus()[static_cast<std::size_t>(b)]);
    return c ? c->count * c->bandwidth.si * 8e-9 : 0;
  };
  // source: paper 002 (SC24), table I: Alps 1.2 Tb/s, Leonardo 800 Gb/s between any pair
  for (const auto& [name, rate] : {std::pair<std::string, double>{"alps", 1200}, {"leonardo", 800}})
    for (int a = 0; a < 4; ++a)
      for (int b = 0; b < 4; ++b) CHECK(gbit_per_s(shipped(name), a, b) == (a == b ? 0 : rate));
  // source: paper 002 (SC24), sections III-C (four links between GCD 0 and 1) and IV-A (link 1-5)
  const Topology lumi = shipped("lumi");
  CHECK(gbit_per_s(lumi, 0, 1) == 1600);
  CHECK(gbit_per_s(lumi, 1, 5) == 400);
  CHECK(gbit_per_s(lumi, 0, 7) == 0);
  for (const int links : gpu_degrees(lumi)) CHECK(links >= 6);  // section IV-A: any GCD sends on six links at once
}

TEST_CASE("every shipped topology is named like its file and gives every rate a source", "[unit]") {
  int files = 0;
  for (const auto& entry : std::filesystem::directory_iterator(test::data_dir() + "/topologies")) {
    if (entry.path().extension() != ".json") continue;
    const std::string schema = read_json_file(entry.path().string()).value("schema", "");
    if (schema != "topology/1") continue;  // variants: variant_test.cpp
    const Topology t = read_topology(entry.path().string());
    INFO(t.path);
    CHECK(t.name == entry.path().stem().string());
    CHECK_FALSE(t.source.empty());
    for (const Cable& c : t.cables) CHECK_FALSE(c.source.empty());
    ++files;
  }
  CHECK(files >= 4);
}

}  // namespace linkcast::test::topology_test
