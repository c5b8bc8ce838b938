// NICs in NCCL's search, on small machines. Expected: by hand from the rules in models/libraries/SOURCES.md, "Graph
// era: NICs".
#include <algorithm>
#include <set>

#include "sim/machine/library.hpp"
#include "tests/support/catalogue.hpp"
#include "tests/support/catch.hpp"
#include "tests/support/error_of.hpp"
#include "tests/support/fabric_examples.hpp"

namespace linkcast::test::nccl_nics_test {

namespace {

constexpr int kNodes = 2;
const BytesPerSecond kGen4x16{31.508e9}, kGen4x8{15.754e9}, kNvlink3{25e9};  // data sheets, as of dgx-a100

/// A node that is wired by hand.
class Box {
 public:
  Box() {
    topology_.name = topology_.title = topology_.source = "test";
    topology_.pcie_peer = PciePeer::kNone;
  }
  Box& device(const std::string& id, DeviceKind kind, int sm = 0) {
    Device made;
    made.id = id;
    made.kind = kind;
    made.sm = sm;
    if (kind == DeviceKind::kCpu) made.vendor = "amd";
    topology_.devices.push_back(made);
    return *this;
  }
  Box& cable(const std::string& a, const std::string& b, const std::string& kind, BytesPerSecond rate, int count = 1) {
    Cable made;
    made.id = a + "-" + b;
    made.a = place(a);
    made.b = place(b);
    made.kind = kind;
    made.count = count;
    made.bandwidth = rate;
    topology_.cables.push_back(made);
    return *this;
  }
  /// GPUs behind one NVSwitch, below one CPU.
  Box& gpus(int count, int sm) {
    device("cpu0", DeviceKind::kCpu).device("nvs0", DeviceKind::kNvswitch);
    for (int gpu = 0; gpu < count; ++gpu) {
      device(numbered("gpu", gpu), DeviceKind::kGpu, sm);
      cable(numbered("gpu", gpu), "nvs0", "nvlink3", kNvlink3, 12);
    }
    return *this;
  }
  Box& pcie_switch(int number) {
    return device(numbered("plx", number), DeviceKind::kPcieSwitch)
        .cable(numbered("plx", number), "cpu0", "pcie4", kGen4x16);
  }
  /// Of a switch, CPU or GPU.
  Box& nic(int number, const std::string& at, BytesPerSecond rate = kGen4x16) {
    return device(numbered("nic", number), DeviceKind::kNic).cable(numbered("nic", number), at, "pcie4", rate);
  }
  Box& gpudirect(bool there) {
    topology_.gpudirect_rdma = there;
    return *this;
  }
  [[nodiscard]] Topology take() const {
    Topology made = topology_;
    made.index();
    return made;
  }
  static std::string numbered(const std::string& name, int number) { return name + std::to_string(number); }

 private:
  [[nodiscard]] int place(const std::string& id) const {
    for (std::size_t i = 0; i < topology_.devices.size(); ++i)
      if (topology_.devices[i].id == id) return static_cast<int>(i);
    throw InvariantError("no device " + id);
  }
  Topology topology_;
};

/// NICs of 25 GB/s at one switch.
Communicator across(const Box& box, int gpus, int nics, const std::string& library, bool pxn = true) {
  Calibration nothing;
  nothing.topology = "test";
  const Platform node(box.take(), nothing);
  std::vector<std::string> ids;
  for (int nic = 0; nic < nics; ++nic) ids.push_back(Box::numbered("nic", nic));
  const Cluster cluster(node, test::single_switch(kNodes, nics), FabricRouting::kMinimal, ids);
  std::vector<int> members;
  for (int gpu = 0; gpu < gpus; ++gpu) members.push_back(gpu);
  return ring_library(library).build_across(cluster, members, kNodes, {.pxn = pxn});
}

/// As many GPUs as NICs, one of each below a switch.
Box rails(int gpus, int sm) {
  Box box;
  box.gpus(gpus, sm);
  for (int i = 0; i < gpus; ++i)
    box.pcie_switch(i)
        .cable(Box::numbered("gpu", i), Box::numbered("plx", i), "pcie4", kGen4x16)
        .nic(i, Box::numbered("plx", i));
  return box;
}

/// Two GPUs and `nics_each` NICs below each of two switches.
Box pairs(int nics_each) {
  Box box;
  box.gpus(4, 80).pcie_switch(0).pcie_switch(1);
  for (int gpu = 0; gpu < 4; ++gpu)
    box.cable(Box::numbered("gpu", gpu), Box::numbered("plx", gpu / 2), "pcie4", kGen4x16);
  for (int nic = 0; nic < 2 * nics_each; ++nic) box.nic(nic, Box::numbered("plx", nic / nics_each));
  return box;
}

std::set<int> entries(const Communicator& made) {
  std::set<int> nics;
  for (const Channel& ring : made.channels) nics.insert(ring.in.nic);
  return nics;
}

double total_GBps(const Communicator& made) {
  return static_cast<double>(made.channels.size()) * made.network_channel_bandwidth.si / 1e9;
}

}  // namespace

TEST_CASE("rails: a ring a NIC, in by its own GPU, out by the same NIC through that GPU", "[unit][nics]") {
  for (const std::string library : {"nccl-2.12", "nccl-2.18", "nccl-2.27"}) {
    INFO(library);
    const Communicator made = across(rails(4, 80), 4, 4, library);
    CHECK(made.channels.size() == 4);
    CHECK(entries(made) == std::set<int>{0, 1, 2, 3});
    CHECK(made.network_class == "PXN");
    CHECK_FALSE(made.nics_near);  // LL128 takes no detour before Hopper
    for (const Channel& ring : made.channels) {
      CHECK(ring.order.front() == ring.in.nic);
      CHECK(ring.hops.size() == 3);
      CHECK(ring.out.nic == ring.in.nic);
      REQUIRE(ring.out.handover);
      CHECK(ring.out.handover->from == ring.order.back());
      CHECK(ring.out.handover->to == ring.order.front());
      CHECK_FALSE(ring.out.staged);
    }
    CHECK(total_GBps(made) == 4 * 24);  // the fastest speed of the list below 25
  }
  CHECK(across(rails(4, 90), 4, 4, "nccl-2.18").nics_near);
}

TEST_CASE("rails: without PXN data leave through the CPU, and messages cross the rails", "[unit][nics]") {
  const Communicator with = across(rails(4, 80), 4, 4, "nccl-2.18");
  for (const Communicator& without :
       {across(rails(4, 80), 4, 4, "nccl-2.18", false), across(rails(4, 80), 4, 4, "nccl-2.8")}) {
    CHECK(without.network_class == "PHB");
    for (const Channel& ring : without.channels) {
      CHECK(ring.out.staged);
      CHECK_FALSE(ring.out.handover);
      CHECK_FALSE(ring.in.staged);
    }
    CHECK(without.exits[1][2].nic == 1);
    CHECK_FALSE(without.exits[1][2].handover);
  }
  CHECK(with.exits[1][2].nic == 2);
  REQUIRE(with.exits[1][2].handover);
  CHECK(with.exits[1][2].handover->to == 2);
  CHECK_FALSE(with.exits[1][1].handover);
}

TEST_CASE("one NIC for two GPUs: in by one, out by the other", "[unit][nics]") {
  for (const std::string library : {"nccl-2.8", "nccl-2.12", "nccl-2.18"}) {
    INFO(library);
    const Communicator made = across(pairs(1), 4, 2, library);
    CHECK(entries(made) == std::set<int>{0, 1});
    CHECK(made.network_class == "PIX");
    CHECK(made.nics_near);
    for (const Channel& ring : made.channels) {
      CHECK(ring.order.front() / 2 == ring.in.nic);
      CHECK(ring.order.back() / 2 == ring.in.nic);
      CHECK(ring.out.nic == ring.in.nic);
      CHECK_FALSE(ring.out.handover);
    }
  }
}

TEST_CASE("two NICs for two GPUs below one switch: a ring each, a NIC in and out", "[unit][nics]") {
  const Communicator made = across(pairs(2), 4, 4, "nccl-2.8");
  CHECK(made.channels.size() == 4);
  CHECK(entries(made) == std::set<int>{0, 1, 2, 3});
  for (const Channel& ring : made.channels) CHECK(ring.out.nic == ring.in.nic);
  CHECK(total_GBps(made) == 4 * 24);
}

TEST_CASE("a NIC behind the CPU: through host memory, without LL128", "[unit][nics]") {
  Box box;
  box.gpus(2, 80);
  for (const char* gpu : {"gpu0", "gpu1"}) box.cable(gpu, "cpu0", "pcie4", kGen4x16);
  box.nic(0, "cpu0");
  const Communicator made = across(box, 2, 1, "nccl-2.18");
  CHECK(made.network_class == "PHB");
  CHECK_FALSE(made.nics_near);
  REQUIRE(made.channels.size() == 1);
  CHECK(made.channels.front().in.staged);
  CHECK(made.channels.front().out.staged);
  CHECK(made.network_channel_bandwidth.si == 24e9);
}

TEST_CASE("NICs that do not access GPU memory share the switch's cable to the CPU", "[unit][nics]") {
  const Communicator made = across(pairs(1).gpudirect(false), 4, 2, "nccl-2.8");
  CHECK(made.network_class == "PHB");
  CHECK_FALSE(made.nics_near);
  for (const Channel& ring : made.channels) CHECK((ring.in.staged && ring.out.staged));
  CHECK(total_GBps(made) == 2 * 12);  // half of 24 a switch: what comes in and what goes out both climb
}

TEST_CASE("unequal NICs: channels are as fast as both carry in whole numbers", "[unit][nics]") {
  Box box;
  box.gpus(2, 80).pcie_switch(0).pcie_switch(1);
  box.cable("gpu0", "plx0", "pcie4", kGen4x16).cable("gpu1", "plx1", "pcie4", kGen4x16);
  box.nic(0, "plx0").nic(1, "plx1", kGen4x8);
  const Communicator made = across(box, 2, 2, "nccl-2.18");
  CHECK(made.network_channel_bandwidth.si == 12e9);
  CHECK(made.channels.size() == 3);  // two by the wide one, one by the narrow one
  CHECK(std::count_if(made.channels.begin(), made.channels.end(), [](const Channel& r) { return r.in.nic == 1; }) == 1);
}

TEST_CASE("crossing NICs: where rings cannot all come back to their NICs, every second one runs the other way",
          "[unit][nics]") {
  // Links of 2 x 20 GB/s as the library counts carry one ring of 24 each way, but not two with their ways back.
  Box box;
  box.device("cpu0", DeviceKind::kCpu).device("nvs0", DeviceKind::kNvswitch);
  for (int i = 0; i < 2; ++i) {
    box.device(Box::numbered("gpu", i), DeviceKind::kGpu, 90)
        .cable(Box::numbered("gpu", i), "nvs0", "nvlink4", kNvlink3, 2)
        .device(Box::numbered("plx", i), DeviceKind::kPcieSwitch)
        .cable(Box::numbered("plx", i), "cpu0", "pcie4", kGen4x8)
        .cable(Box::numbered("gpu", i), Box::numbered("plx", i), "pcie4", kGen4x16)
        .nic(i, Box::numbered("plx", i));
  }
  const Communicator made = across(box, 2, 2, "nccl-2.18");
  REQUIRE(made.channels.size() == 2);
  CHECK(made.swaps_rings);
  CHECK(made.network_class == "PIX");
  CHECK(made.channels[0].out.nic != made.channels[0].in.nic);
  CHECK(made.channels[1].in.nic == made.channels[0].out.nic);
  CHECK(made.channels[1].out.nic == made.channels[0].in.nic);
  CHECK(total_GBps(made) == 2 * 24);
}

TEST_CASE("one GPU a node: in and out by the NIC next to it", "[unit][nics]") {
  const Communicator made = across(rails(4, 80), 1, 4, "nccl-2.18");
  REQUIRE(made.channels.size() == 1);
  CHECK(made.channels.front().in.nic == 0);
  CHECK(made.channels.front().out.nic == 0);
  CHECK(made.channels.front().hops.empty());
  CHECK(made.path_class == "LOC");
}

TEST_CASE("trees begin at a NIC, after Ampere both children talk to the first GPU", "[unit][nics]") {
  const Communicator ampere = across(pairs(1), 4, 2, "nccl-2.18");
  REQUIRE(ampere.trees.size() == ampere.channels.size());
  for (const Tree& tree : ampere.trees) {
    CHECK(tree.order[0] / 2 == tree.first.nic);
    CHECK(tree.order[1] / 2 == tree.first.nic);
    CHECK(tree.second.nic == tree.first.nic);
  }
  const Communicator hopper = across(rails(4, 90), 4, 4, "nccl-2.18");
  CHECK(hopper.plain_trees);
  for (const Tree& tree : hopper.trees) CHECK(tree.order.front() == tree.first.nic);
}

}  // namespace linkcast::test::nccl_nics_test
