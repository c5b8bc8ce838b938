// The table of parameters: names and units of every shipped calibration follow it, and so does what makes links alike.
#include "sim/records/parameters.hpp"

#include <filesystem>
#include <fstream>

#include "sim/machine/symmetry.hpp"
#include "tests/support/catch.hpp"
#include "tests/unit/program.hpp"

using namespace linkcast;

namespace {

/// Two GPUs below one switch and one CPU, with the NIC and the kinds of cable that every parameter of a link needs.
Topology pair() {
  Topology t;
  t.path = "pair.json";
  t.name = t.title = t.source = "pair";
  for (const char* id : {"gpu0", "gpu1"}) t.devices.push_back({id, DeviceKind::kGpu, "", 90, "", ""});
  t.devices.push_back({"cpu0", DeviceKind::kCpu, "", 0, "", ""});
  t.devices.push_back({"nic0", DeviceKind::kNic, "", 0, "", ""});
  t.devices.push_back({"nic1", DeviceKind::kNic, "", 0, "", ""});
  for (int gpu = 0; gpu < 2; ++gpu) {
    t.cables.push_back({"", gpu, 2, "pcie5", 1, {63e9}, "test"});
    t.cables.push_back({"", gpu, 2, "c2c", 1, {450e9}, "test"});
    t.cables.push_back({"", gpu, 3 + gpu, "pcie4", 1, {31e9}, "test"});
  }
  t.index();
  return t;
}

Calibration calibration_of(const Topology& t) {
  Calibration c;
  c.path = "c.json";
  c.name = c.topology = t.name;
  return c;
}

bool alike(Topology t, const Calibration& c) { return !gpu_symmetries(Platform(std::move(t), c), {0, 0}).empty(); }

double value_of(const ParameterRow& row) { return row.unit == "1" ? 0.25 : 1e9; }

}  // namespace

TEST_CASE("links that differ in one parameter alone are not taken for each other", "[unit]") {
  const Topology t = pair();
  CHECK(alike(t, calibration_of(t)));
  for (const ParameterRow* one_row : parameter_rows()) {
    const ParameterRow& row = *one_row;
    if (!row.breaks_symmetry()) continue;
    const bool link = row.of == ParameterOf::kLink;
    const std::string of_kind = row.key("pcie5").name, of_one = row.key(one_cable("pcie5", "gpu0-cpu0:pcie5")).name;
    const std::string head = link ? row.key("gpu0->nic0").name : of_one;
    INFO(head);
    REQUIRE(find_parameter_row(head) == &row);
    const double value = value_of(row);
    Calibration both = calibration_of(t), one = both, less_sure = both;
    if (link) {
      both.parameters[head] = both.parameters[row.key("gpu1->nic1").name] = {value, 0, std::string(row.unit), "fitted"};
      less_sure = both;
    } else {
      both.parameters[of_kind] = less_sure.parameters[of_kind] = {value, 0, std::string(row.unit), "fitted"};
    }
    one = both;
    one.parameters[head] = {value / 2, 0, std::string(row.unit), "fitted"};
    less_sure.parameters[head] = {value, value / 8, std::string(row.unit), "fitted"};
    CHECK(alike(t, both));
    CHECK_FALSE(alike(t, one));
    CHECK_FALSE(alike(t, less_sure));  // the interval of a forecast depends on it
  }
}

TEST_CASE("cards whose engines differ in one figure are not taken for each other", "[unit]") {
  Topology t = pair();
  NicEngine engine{{4096}, {1e-6}, {8192}, {1e-6}, {1e-6}, {1e9}, {2e9}, {4096}, {1e-6}, {1e-6}, "test"};
  t.devices[3].engine = t.devices[4].engine = engine;
  CHECK(alike(t, calibration_of(t)));
  for (const auto& [name, value] : engine.figures()) {
    INFO(name);
    Topology other = t;
    const bool time = name == "read_interval" || name == "head_latency" || name == "transmit_start" ||
                      name == "message_overhead" || name == "staged_overhead";
    const bool rate = name == "gpu_read" || name == "host_read";
    REQUIRE(other.devices[4].engine->set(name, time ? "7us" : rate ? "7GB/s" : "7KiB"));
    CHECK_FALSE(alike(other, calibration_of(t)));
  }
}

TEST_CASE("every row of the parameters has a unit and a meaning, and is found by one name only", "[unit]") {
  const std::vector<std::pair<std::string, std::string>> found = {{"cable.nvlink2.bandwidth_Bps", "B/s"},
                                                                  {"cable.nvlink2@gpu0-gpu1.bandwidth_Bps", "B/s"},
                                                                  {"link.gpu0->gpu1.bandwidth_Bps", "B/s"},
                                                                  {"transport.peer.r0.startup_s", "s"},
                                                                  {"transport.peer.r0.to_B", "B"},
                                                                  {"transport.peer.single_s", "s"},
                                                                  {"transport.staged.chunk_B", "B"},
                                                                  {"transport.relay.handover_s", "s"},
                                                                  {"copy_engine.turn_s", "s"},
                                                                  {"nccl.ring.LL128.hop_s", "s"},
                                                                  {"nccl.ring.LL.copy_steps", "1"},
                                                                  {"nccl.ring.Simple@2.28.reduce_steps", "1"},
                                                                  {"nccl.ring.LL128.copy_s", "s"},
                                                                  {"nccl.ring.Simple.reduce_s", "s"},
                                                                  {"nccl.sendrecv.unidirectional", "1"},
                                                                  {"nccl.tree.LL.slowness", "1"},
                                                                  {"launch.copy.call_s", "s"},
                                                                  {"mpi.host@openmpi.post_s", "s"},
                                                                  {"noise.most_loss", "1"}};
  for (const auto& [name, unit] : found) {
    INFO(name);
    REQUIRE(find_parameter_row(name));
    CHECK(find_parameter_row(name)->unit == unit);
    CHECK_FALSE(find_parameter_row(name)->meaning.empty());
  }
  for (const std::string name :
       {"cable.nvlink2.bandwith_Bps", "link.gpu0->gpu1.duplex_Bps", "transport.peer.chunk_B",
        "transport.peer.startup_s", "transport.peer.r0.single_s", "nccl.ring.LL256.hop_s", "tccl.ring.LL.hop_s",
        "nccl.ring.LL.turn_steps", "nccl.ring.LL.channels_s", "nccl.tree.LL.base_s", "nccl.tree.Simple.hop_s",
        "nccl.tree.LL.copy_steps", "launch.copy.send_s", "transport.peer.rx.startup_s", "gpu.gpu0.bandwidth_Bps",
        "nonsense", ""})
    CHECK(find_parameter_row(name) == nullptr);
}

TEST_CASE("a key is the name that its row is found by", "[unit]") {
  for (const ParameterRow* row : parameter_rows()) {
    if (row->of == ParameterOf::kLibrary || row->of == ParameterOf::kRange) continue;
    const bool alone = row->of == ParameterOf::kEngine || row->of == ParameterOf::kNoise ||
                       row->of == ParameterOf::kRecording || row->of == ParameterOf::kHostMemory;
    const std::string_view first = row->subject.substr(0, row->subject.find(' '));
    const ParameterKey key = row->key(alone ? "" : first.empty() ? "peer" : first);
    INFO(key.name);
    CHECK(find_parameter_row(key.name) == row);
  }
  CHECK(find_parameter_row(key::startup("peer", 12).name) == &key::startup);
  CHECK(ParameterName(key::startup("peer", 12).name).range() == 12U);
  CHECK(ParameterName(key::startup("peer", 12).name).transport() == "peer");
  CHECK(find_parameter_row(key::ring_base["LL"]("nccl-2.8").name) == &key::ring_base["LL"]);
  CHECK_THROWS_AS(key::ring_base["LL256"], InvariantError);
}

TEST_CASE("rows of a plug-in join the table, with a family of libraries of their own", "[unit]") {
  static constexpr LibraryRow row{{.what = "base_s", .unit = "s", .meaning = "of a test", .subject = "bruck"}};
  CHECK(find_parameter_row(row("testccl-1.0").name) == nullptr);
  join_parameters("testccl", {&row});
  CHECK(find_parameter_row(row("testccl-1.0").name) == &row);
  CHECK(find_parameter_row(row.of_all("testccl").name) == &row);
  CHECK(is_of_library("testccl.bruck.base_s"));
  CHECK(find_parameter_row("testccl.ring.LL.base_s") == &key::ring_base["LL"]);
}

TEST_CASE("a calibration is read with the names and units of the table", "[unit]") {
  const std::string file = test::data_dir() + "/models/params/p100-dgx1.json";
  const auto error_of = [&](const std::string& name, Json parameter) -> std::string {
    Json json = read_json_file(file);
    json["parameters"][name] = std::move(parameter);
    const auto path = std::filesystem::temp_directory_path() / "linkcast_parameters_test.json";
    std::ofstream(path) << json;
    try {
      read_calibration(path.string());
    } catch (const InputError& error) {
      const std::string text = error.what();
      return text.substr(text.find(":/") + 1);
    }
    return "";
  };
  const Json seconds = {{"value", 1}, {"stderr", 0}, {"unit", "s"}, {"provenance", "fitted"}};
  CHECK(error_of("transport.peer.single_s", seconds).empty());
  CHECK(error_of("cable.nvlink1.duplex_Bps", seconds) ==
        "/parameters/cable.nvlink1.duplex_Bps/unit: 's' is not the unit of this parameter: B/s");
  CHECK(error_of("cable.nvlink1.latency_s", seconds) ==
        "/parameters/cable.nvlink1.latency_s: no such parameter of a cable");
}
