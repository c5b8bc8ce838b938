// Messages over several NICs of a node, and a NIC's engine, against closed forms.
#include <algorithm>
#include <cmath>

#include "sim/query/query.hpp"
#include "tests/support/ask.hpp"
#include "tests/support/catch.hpp"

namespace linkcast::test::nic_test {

namespace {

catalogue::Catalogue& catalogue() {
  static catalogue::Catalogue shared(test::data_dir());
  return shared;
}

Json result(const std::string& platform, const std::string& src, const std::string& dst, double size_B,
            Json more = Json::object()) {
  Json query{{"platform", platform}, {"kind", "p2p"}, {"src", src}, {"dst", dst}, {"size_B", size_B}};
  query.update(more);
  return query::answer(catalogue(), query);
}

double time_s(const std::string& platform, const std::string& src, const std::string& dst, double size_B,
              const Json& more = Json::object()) {
  const Json out = result(platform, src, dst, size_B, more);
  INFO(out.value("error", ""));
  REQUIRE(out.contains("time_s"));
  return out["time_s"].get<double>();
}

const Json kQueue{{"timing", "back_to_back"}};
// source: topologies/apenet-plus.json, from paper 004 sections IV and V
constexpr double kStart_s = 3e-6, kHead_s = 1.8e-6, kFermi_Bps = 1536e6, kAsked_Bps = 128 / 80e-9, kHost_s = 5e-6,
                 kStaged_s = 17e-6;

double edited_rate(const std::vector<std::string>& edits) {
  constexpr double size = 4194304;
  return size / (time_s("apenet-plus", "gpu0", "nic0", size, {{"edits", edits}}) - kStart_s);
}

}  // namespace

TEST_CASE("a message that was measured faster than one NIC goes over several", "[physics]") {
  // Both ports of SummitDev: 14.25 GB/s attained, 12.5 GB/s a port.
  const double start = parameter("summitdev", "transport.pinned_gpudirect.r4.startup_s");
  const double rate = parameter("summitdev", "transport.pinned_gpudirect.r4.bandwidth_Bps");
  REQUIRE(rate > 12.5e9);
  const Json transport{{"transport", "pinned_gpudirect"}};
  for (const char* target : {"node1/gpu0", "node1/gpu2"}) {  // whichever of the two ports is the nearest
    const Json both = result("summitdev", "node0/gpu0", target, 1e9, transport);
    CHECK(both["nics"] == 2);
    CHECK_THAT(both["time_s"].get<double>(), WithinRel(start + 1e9 / rate, 1e-5));  // and switches between two leaves
  }
  CHECK_FALSE(result("summitdev", "node0/gpu0", "node1/gpu0", 1e9, {{"transport", "gpudirect_rdma"}}).contains("nics"));
  CHECK_FALSE(result("summitdev", "node0/gpu0", "node1/gpu0", 1e4, transport).contains("nics"));
}

TEST_CASE("several NICs carry no more than their cables", "[physics]") {
  for (const char* platform : {"abci-v100", "abci-a100", "lassen", "summit", "summitdev", "leonardo"}) {
    const Cluster& cluster = catalogue().machine(platform)->cluster();
    const double port =
        cluster.nics_for(1) == 1 ? cluster.capacity(cluster.key_of_fabric_link(0)) / cluster.wire_share() : 0;
    for (const char* memory : {"cpu0", "gpu0"}) {
      const Json out = result(platform, std::string("node0/") + memory, std::string("node1/") + memory, 1e9);
      if (out.contains("error")) continue;  // not measured there
      CHECK(out["bandwidth_Bps"].get<double>() <= out.value("nics", 1) * port * (1 + 1e-9));
    }
  }
}

TEST_CASE("both directions of striped messages share no cable", "[physics]") {
  const Json transport{{"transport", "pinned_gpudirect"}},
      both{{"transport", "pinned_gpudirect"}, {"bidirectional", true}};
  CHECK_THAT(time_s("summitdev", "node0/gpu0", "node1/gpu0", 1e9, both),
             WithinRel(time_s("summitdev", "node0/gpu0", "node1/gpu0", 1e9, transport), 1e-9));
}

TEST_CASE("a card reads GPU memory at the slower of requests, answers and window", "[physics]") {
  CHECK_THAT(edited_rate({}), WithinRel(kFermi_Bps, 1e-6));
  CHECK_THAT(edited_rate({"set nic0.gpu_read=8GB/s"}), WithinRel(kAsked_Bps, 1e-6));
  CHECK_THAT(edited_rate({"set nic0.read_interval=160ns"}), WithinRel(kAsked_Bps / 2, 1e-6));
  for (const double window : {2048.0, 4096.0})  // both halves wait for the first byte
    CHECK_THAT(edited_rate({"set nic0.read_window=" + std::to_string(static_cast<int>(window)) + "B"}),
               WithinRel(window / (kHead_s + window / 2 / kFermi_Bps), 1e-6));
  CHECK_THAT(edited_rate({"set nic0.read_window=8KiB"}), WithinRel(kFermi_Bps, 1e-6));
  CHECK_THAT(edited_rate({"set nic0.read_window=0"}), WithinRel(4096 / (kStart_s + kHead_s + 4096 / kFermi_Bps), 1e-6));
  CHECK_THAT(time_s("apenet-plus", "cpu0", "nic0", 4e6), WithinRel(4e6 / 2.4e9, 1e-6));
}

TEST_CASE("a queue of messages is as fast as its slowest stage", "[physics]") {
  const double host_Bps = parameter("apenet-plus", "transport.mpi_network_host.r0.bandwidth_Bps");
  const double gpu_Bps = parameter("apenet-plus", "transport.gpudirect_rdma.r0.bandwidth_Bps");
  const double down_Bps = parameter("apenet-plus", "cable.pcie2.to_host_Bps");
  for (const double size : {1.0, 4096.0, 5000.0, 16384.0, 32768.0, 262144.0}) {
    const double whole = std::ceil(size / 4096) * 4096;
    CHECK_THAT(time_s("apenet-plus", "node0/cpu0", "node1/cpu0", size, kQueue),
               WithinRel(std::max(kHost_s, whole / host_Bps), 1e-6));
    CHECK_THAT(time_s("apenet-plus", "node0/cpu0", "node1/gpu0", size, kQueue),
               WithinRel(std::max(kHost_s, whole / gpu_Bps), 1e-6));
    CHECK_THAT(time_s("apenet-plus", "node0/gpu0", "node1/gpu0", size, kQueue),
               WithinRel(std::max(kHost_s + kStart_s + size / kFermi_Bps, whole / gpu_Bps), 1e-6));
    CHECK_THAT(
        time_s("apenet-plus", "node0/gpu0", "node1/gpu0", size, {{"timing", "back_to_back"}, {"transport", "pinned"}}),
        WithinRel(std::max(kStaged_s + size / down_Bps, whole / host_Bps), 1e-6));
  }
}

TEST_CASE("loop-back on one card is limited by the slower of reading and receiving", "[physics]") {
  const Json card{{"via", "nic0"}};
  CHECK_THAT(4194304 / time_s("apenet-plus", "cpu0", "cpu0", 4194304, card),
             WithinRel(parameter("apenet-plus", "transport.mpi_network_host.r0.bandwidth_Bps"), 1e-6));
  CHECK_THAT(4194304 / time_s("apenet-plus", "gpu0", "gpu0", 4194304,
                              {{"via", "nic0"}, {"edits", {"set nic0.read_window=0"}}}),
             WithinRel(4096 / (kStart_s + kHead_s + 4096 / kFermi_Bps), 0.005));  // reading, and the start of a message
}

TEST_CASE("what is not known of a NIC is refused", "[physics]") {
  const auto error = [](const Json& out) { return out.value("error", ""); };
  CHECK(error(result("alps", "node0/gpu0", "node1/gpu0", 1e6, kQueue)).find("overlaps messages") != std::string::npos);
  CHECK(error(result("apenet-plus", "gpu0", "cpu0", 1e6, {{"via", "nic0"}})).find("name gpu0") != std::string::npos);
  CHECK(error(result("apenet-plus", "gpu0", "nic1", 1e6)).find("not on the fabric") != std::string::npos);
  CHECK(error(result("apenet-plus", "gpu0", "nic0", 1e6, {{"edits", {"set nic0.read_window=8"}}}))
            .find("set nic0.read_window") != std::string::npos);
  CHECK(error(result("apenet-plus", "gpu0", "nic0", 1e6, {{"edits", {"set nic0.packet=0"}}})).find("above 0") !=
        std::string::npos);
  CHECK(error(result("apenet-plus", "gpu0", "nic0", 1e6, {{"edits", {"set nic0.color=1us"}}}))
            .find("no such parameter") != std::string::npos);
}

TEST_CASE("the messages of a collective share a card's engine", "[physics]") {
  // Eight nodes in a torus of 4 x 2. From each card leave seven parts of an alltoall, over at most three cables; into
  // the root of a gather come seven. The card moves them at the rate of one long message, latencies are some 1e-4 of
  // it.
  const double gpu_Bps = parameter("apenet-plus", "transport.gpudirect_rdma.r0.bandwidth_Bps");
  constexpr double kSize = 8e9;
  for (const char* op : {"alltoall", "gather", "scatter"}) {
    INFO(op);
    const Json out = query::answer(catalogue(), {{"platform", "apenet-plus"},
                                                 {"kind", "collective"},
                                                 {"launch", "graph"},
                                                 {"op", op},
                                                 {"nodes", 8},
                                                 {"gpus_per_node", 1},
                                                 {"size_B", kSize}});
    INFO(out.value("error", ""));
    REQUIRE(out.contains("time_s"));
    CHECK_THAT(out["time_s"].get<double>(), WithinRel(7.0 / 8 * kSize / gpu_Bps, 1e-3));
    CHECK(out["bottleneck"].dump().find(op == std::string("gather") ? "nic0 receives" : "nic0 sends") !=
          std::string::npos);
  }
  // Round a ring every card sends and receives at once, each by itself.
  const Json ring = query::answer(catalogue(), {{"platform", "apenet-plus"},
                                                {"kind", "collective"},
                                                {"launch", "graph"},
                                                {"op", "all_gather"},
                                                {"algorithm", "ring"},
                                                {"protocol", "Simple"},
                                                {"nodes", 8},
                                                {"gpus_per_node", 1},
                                                {"size_B", kSize}});
  CHECK(ring["time_s"].get<double>() >= 7.0 / 8 * kSize / gpu_Bps);
}

}  // namespace linkcast::test::nic_test
