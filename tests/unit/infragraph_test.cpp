// InfraGraph: what linkcast exports comes back; a file of the package's own; slices, units and errors by hand.
#include "topologies/formats/infragraph.hpp"

#include <set>

#include "sim/base/regex.hpp"
#include "tests/support/catalogue.hpp"
#include "tests/unit/import_topology.hpp"

namespace linkcast::test::infragraph_test {

namespace {

/// Ends, kind, number and rate of every cable.
std::multiset<std::string> cables(const Topology& t) {
  std::multiset<std::string> all;
  for (const Cable& c : t.cables)
    all.insert(c.id + " " + std::to_string(c.count) + " " + c.kind + " " + to_text(c.bandwidth));
  return all;
}

std::multiset<std::string> devices(const Topology& t) {
  std::multiset<std::string> all;
  for (const Device& d : t.devices)
    all.insert(d.id + "|" + to_text(d.kind) + "|" + d.model + "|" + std::to_string(d.sm) + "|" + d.group + "|" +
               d.vendor);
  return all;
}

std::set<std::pair<int, int>> nvlink_pairs(const Topology& t) {
  std::set<std::pair<int, int>> pairs;
  for (std::size_t a = 0; a < t.gpus().size(); ++a)
    for (std::size_t b = a + 1; b < t.gpus().size(); ++b)
      if (t.direct_links(t.gpus()[a], t.gpus()[b]) > 0) pairs.emplace(a, b);
  return pairs;
}

/// A device of 4 GPUs and 2 CPUs.
Json small(const std::vector<Json>& links, const std::vector<Json>& edges) {
  const Json components = {{{"name", "xpu"}, {"count", 4}, {"choice", "xpu"}, {"description", "Tesla V100-SXM2-16GB"}},
                           {{"name", "cpu"}, {"count", 2}, {"choice", "cpu"}, {"description", "Intel Xeon"}}};
  return {{"name", "i"},
          {"devices", {{{"name", "box"}, {"components", components}, {"links", links}, {"edges", edges}}}}};
}

Json link(const std::string& name, const std::string& unit = "", double value = 0) {
  if (unit.empty()) return {{"name", name}};
  return {{"name", name}, {"physical", {{"bandwidth", {{"choice", unit}, {unit, value}}}}}};
}

Json edge(const std::string& a, const std::string& b, const std::string& name, const std::string& scheme = "one2one") {
  return {{"ep1", {{"component", a}}}, {"ep2", {{"component", b}}}, {"scheme", scheme}, {"link", name}};
}

Topology imported(const Json& file, const test::Options& options = {}) {
  const test::ScratchFolder scratch;
  const std::string path = (scratch / "i.json").string();
  std::ofstream(path) << file.dump();
  return import_file("infragraph", {path}, options);
}

/// What is wrong with a file, behind its path.
std::string refusal(const Json& file, const test::Options& options = {}) {
  const test::ScratchFolder scratch;
  const std::string path = (scratch / "i.json").string();
  std::ofstream(path) << file.dump();
  try {
    static_cast<void>(import_file("infragraph", {path}, options));
  } catch (const InputError& error) {
    const std::string what = error.what();
    return what.rfind(path + ":", 0) == 0 ? what.substr(path.size() + 1) : what;
  }
  return "";
}

}  // namespace

TEST_CASE("InfraGraph: every platform comes back as it was written", "[unit][import]") {
  int read = 0;
  for (const std::string& name : catalogue().platforms()) {
    INFO(name);
    const Topology& shipped = catalogue().machine(name)->platform().wiring();
    const Json written = Json::parse(exporters::infragraph_json(shipped));
    const Topology back =
        imported(written, {{"pcie_peer", shipped.pcie_peer == PciePeer::kNone ? "none" : "same_socket"}});
    CHECK(devices(back) == devices(shipped));
    CHECK(cables(back) == cables(shipped));
    CHECK(back.pcie_peer == shipped.pcie_peer);
    // source: openapi.yaml of infragraph 3.1.0, pattern of names; they are unique
    const Regex pattern("[ a-zA-Z0-9_()<>\\[\\]-]+");
    std::set<std::string> names;
    for (const char* list : {"components", "links"})
      for (const Json& item : written["devices"][0][list]) {
        CHECK(pattern.whole(item["name"].get<std::string>()));
        CHECK(names.insert(item["name"]).second);
      }
    ++read;
  }
  CHECK(read >= 16);
}

// The P100 DGX-1 of another project: its NVLinks are those of the paper, its rates are not in the file.
TEST_CASE("InfraGraph: the package's own DGX-1 has the NVLinks of ours", "[unit][import]") {
  const Topology t = import_file("infragraph", {"infragraph-dgx1.json"});
  CHECK(nvlink_pairs(t) == nvlink_pairs(catalogue().machine("p100-dgx1")->platform().wiring()));
  REQUIRE(t.gpus().size() == 8);
  for (const int gpu : t.gpus()) CHECK(t.devices[static_cast<std::size_t>(gpu)].sm == 60);  // "NVIDIA Tesla P100 SXM2"
  int adapters = 0;
  for (const Cable& c : t.cables) {
    if (c.kind == "nvlink1") CHECK(c.bandwidth.si == 20e9);  // source: topologies/SOURCES.md, nominal
    if (c.kind == "nvlink1") CHECK(c.source.find("assumed: one link") != std::string::npos);
    if (c.kind == "pcie3") CHECK(c.source.find("assumed") == std::string::npos);  // "PCI Express PCIE_GEN3 x16"
    adapters += c.id.find("cx5") != std::string::npos ? 1 : 0;
  }
  CHECK(adapters == 4);  // through slots, which are no devices here
  CHECK(t.source.find("component 'pciesl' (pcie_slot) is part of the cable through it") != std::string::npos);
}

TEST_CASE("InfraGraph: slices, schemes and units", "[unit][import]") {
  const std::vector<Json> links = {link("nvlink", "gigabits_per_second", 400),
                                   link("PCIe", "gigatransfers_per_second", 8),
                                   link("upi", "gigabytes_per_second", 20.8)};
  const std::vector<Json> edges = {
      edge("xpu[:]", "xpu", "nvlink", "many2many"), edge("xpu[0:4:2]", "cpu[0]", "PCIe", "many2many"),
      edge("xpu[-1]", "cpu[-1]", "PCIe"), edge("xpu[1:2]", "cpu[1:]", "PCIe"), edge("cpu", "cpu", "upi", "many2many")};
  const Topology t = imported(small(links, edges));
  // 400 Gb/s are 50 GB/s: two NVLinks 2 of V100; 8 GT/s x 16 lanes x 128/130 / 8 = 15.754 GB/s
  std::multiset<std::string> expected = {"gpu0-cpu0 1 pcie3 15.75 GB/s", "gpu2-cpu0 1 pcie3 15.75 GB/s",
                                         "gpu3-cpu1 1 pcie3 15.75 GB/s", "gpu1-cpu1 1 pcie3 15.75 GB/s",
                                         "cpu0-cpu1 1 upi 20.8 GB/s"};
  for (int a = 0; a < 4; ++a)
    for (int b = a + 1; b < 4; ++b)
      expected.insert("gpu" + std::to_string(a) + "-gpu" + std::to_string(b) + " 2 nvlink2 25 GB/s");
  CHECK(cables(t) == expected);
  // "x16" are lanes and no generation; V100 has PCIe 3
  const Topology lanes = imported(small({link("PCIe x8")}, {edge("xpu[0]", "cpu[0]", "PCIe x8")}));
  CHECK(cables(lanes) == std::multiset<std::string>{"gpu0-cpu0 1 pcie3 7.877 GB/s"});
  CHECK(lanes.cables.front().source.find("assumed: PCIe 3, the generation of the GPU's model") != std::string::npos);
}

TEST_CASE("InfraGraph: what is wrong is named by its pointer", "[unit][import][bad_input]") {
  const std::vector<Json> pcie = {link("pcie3")}, edges = {edge("xpu[0]", "cpu[0]", "pcie3")};
  const std::string e0 = "/devices/0/edges/0";
  CHECK(refusal(small(pcie, edges)).empty());
  CHECK(refusal({{"name", "i"}}) == "/devices: missing key");
  CHECK(refusal(small(pcie, {edge("xpu[0]", "gpu[0]", "pcie3")})) ==
        e0 + "/ep2/component: 'gpu' is no component of 'box'");
  CHECK(refusal(small(pcie, {edge("xpu[4]", "cpu[0]", "pcie3")})) ==
        e0 + "/ep1/component: 'xpu[4]' is no slice of the 4 xpu");
  CHECK(refusal(small(pcie, {edge("xpu[0:9]", "cpu[0]", "pcie3")})) ==
        e0 + "/ep1/component: 'xpu[0:9]' is no slice of the 4 xpu");
  CHECK(refusal(small(pcie, {edge("xpu[x", "cpu[0]", "pcie3")})) ==
        e0 + "/ep1/component: 'xpu[x' is no slice of the 4 xpu");
  CHECK(refusal(small(pcie, {edge("xpu[0]", "cpu[0]", "lan")})) == e0 + "/link: 'lan' is no link of 'box'");
  CHECK(refusal(small(pcie, {edge("xpu[0]", "cpu[0]", "pcie3", "ring")})).rfind(e0 + "/scheme: ", 0) == 0);
  CHECK(refusal(small({link("copper")}, {edge("xpu[0]", "xpu[1]", "copper")}))
            .rfind("/devices/0/links/0: link 'copper': neither", 0) == 0);
  CHECK(refusal(small({link("pcie3", "gigabytes_per_second", -1)}, edges)) ==
        "/devices/0/links/0/physical/bandwidth/gigabytes_per_second: must be above 0");
  Json large = small(pcie, {edge("xpu", "xpu", "pcie3", "many2many")});
  large["devices"][0]["components"][0]["count"] = 5000;
  CHECK(refusal(large) == e0 + "/scheme: joins more than 1000000 pairs");
  Json other = small(pcie, edges);
  other["devices"].push_back(other["devices"][0]);
  other["devices"][1]["name"] = "rack";
  CHECK(refusal(other) == "/devices: several devices have an xpu: say which with option device=NAME: box, rack");
  CHECK(refusal(other, {{"device", "rack"}}).empty());
  CHECK(refusal(other, {{"device", "hut"}}) == "/devices: has no device 'hut': one of box, rack");
  Json unknown = small(pcie, edges);
  unknown["devices"][0]["components"][0]["description"] = "accelerator";
  CHECK(refusal(unknown).rfind("/devices/0/components/0/description: does not say which GPUs these are", 0) == 0);
  CHECK(refusal(unknown, {{"sm", "70"}}).empty());
  Json nested = small(pcie, edges);
  nested["devices"][0]["edges"][0]["ep2"]["device"] = "cx5";
  CHECK(refusal(nested) == e0 + "/ep2/component: 'cx5' is no component of 'box'");
  nested["devices"][0]["edges"][0]["ep2"]["device"] = "xpu";
  CHECK(refusal(nested) == e0 + "/ep2/component: 'xpu' is no device that has components");
  nested = small(pcie, edges);
  nested["devices"][0]["components"].push_back({{"name", "cx5"}, {"count", 2}, {"choice", "device"}});
  CHECK(refusal(nested) == "/devices/0/components/2/name: is composed of 'cx5', which is no device of the file");
  nested["devices"][0]["components"][2]["name"] = "box";
  CHECK(refusal(nested) == "/devices/0/components: the device is composed of itself");
  Json several = small(pcie, {edge("xpu[0:2]", "cpu[0]", "pcie3")});
  several["devices"][0]["edges"][0].erase("scheme");
  CHECK(refusal(several) == e0 + "/scheme: missing key");
  several["devices"][0]["edges"][0]["ep1"]["component"] = "xpu[1]";
  CHECK(refusal(several).empty());
  CHECK(refusal(small({link("pcie3"), link("PCIe gen 3")},
                      {edge("xpu[0]", "cpu[0]", "pcie3"), edge("xpu[0]", "cpu[0]", "PCIe gen 3")})) ==
        "/devices/0/edges/1: a second pcie3 between cpu0 and gpu0: give it once with the rate of all links");
}

/// Cables of one kind at a device, added up.
int links_at(const Topology& t, const std::string& device, const std::string& kind) {
  int links = 0;
  for (const Cable& c : t.cables)
    if (c.kind == kind && (c.a == *t.find(device) || c.b == *t.find(device))) links += c.count;
  return links;
}

int devices_of(const Topology& t, DeviceKind kind) {
  return static_cast<int>(
      std::count_if(t.devices.begin(), t.devices.end(), [&](const Device& d) { return d.kind == kind; }));
}

// The published library composes hosts of adapters and these of plugs, and gives no number of NVLinks: 18 of an H100.
TEST_CASE("InfraGraph: adapters and plugs that are devices of their own", "[unit][import]") {
  const Topology t = import_file("infragraph", {"infragraph-composed.json"});
  CHECK(t.gpus().size() == 8);
  CHECK(devices_of(t, DeviceKind::kCpu) == 2);  // not the adapters' ASICs
  CHECK(devices_of(t, DeviceKind::kNic) == 8);
  for (int gpu = 0; gpu < 8; ++gpu) CHECK(links_at(t, "gpu" + std::to_string(gpu), "nvlink4") == 18);
  for (int n = 0; n < 8; ++n) CHECK(links_at(t, "cx7_400g" + std::to_string(n), "pcie5") == 1);
  for (const char* note :
       {"assumed: device 'cx7_400g' is one nic", "assumed: ends 'nvlsw', which is no component, are 'nvsw'",
        "component 'storage' (custom) is left out"})
    CHECK(t.source.find(note) != std::string::npos);
}

TEST_CASE("InfraGraph: boards that are devices of one host", "[unit][import]") {
  const Topology t = import_file("infragraph", {"infragraph-boards.json"});
  CHECK(t.gpus().size() == 16);
  CHECK(devices_of(t, DeviceKind::kNvswitch) == 12);
  for (int gpu = 0; gpu < 16; ++gpu) CHECK(links_at(t, "gpu" + std::to_string(gpu), "nvlink2") == 6);
  for (int a = 0; a < 6; ++a) {  // eight GPUs with one link each on a switch, and one edge to the other board
    const auto trunk = std::find_if(t.cables.begin(), t.cables.end(), [&](const Cable& c) {
      return c.id == "board_nvsw" + std::to_string(a) + "-board_nvsw" + std::to_string(a + 6);
    });
    REQUIRE(trunk != t.cables.end());
    CHECK(trunk->bandwidth.si * trunk->count == 8 * 25e9);
  }
  CHECK(links_at(t, "board_pciesw0", "pcie3") == 9);
  const Topology one = import_file("infragraph", {"infragraph-boards.json"}, {{"device", "board"}});
  CHECK(one.gpus().size() == 8);
  CHECK(one.source.find("device 'two_boards' is left out") != std::string::npos);
}

TEST_CASE("InfraGraph: a device alone whose name says which GPUs it has", "[unit][import]") {
  const Topology t = import_file("infragraph", {"infragraph-alone.json"});
  for (const int gpu : t.gpus()) CHECK(t.devices[static_cast<std::size_t>(gpu)].sm == 100);
  CHECK(links_at(t, "gpu0", "nvlink5") == 18);  // "nvlink_c2c" to switches: two on each of nine
  CHECK(links_at(t, "gpu0", "c2c") == 1);
  CHECK(t.source.find("assumed: 'xpu' is GB200, by the name of the device") != std::string::npos);
  CHECK(t.cables.back().source.find("though the file says C2C") != std::string::npos);
  // 8 NVLinks of an H800 fit no six straight edges: one each, and the record says what is left
  Json odd = small({link("nvlink")}, {edge("xpu", "xpu", "nvlink", "many2many")});
  const Topology straight = imported(odd, {{"gpu", "H800"}});
  CHECK(links_at(straight, "gpu0", "nvlink4") == 3);
  CHECK(straight.cables.front().source.find("the GPU's model has 8 for 3 edges") != std::string::npos);
  CHECK(imported(small({link("infinity_fabric")}, {edge("xpu", "xpu", "infinity_fabric", "many2many")}),
                 {{"gpu", "MI300A"}})
            .cables.front()
            .count == 2);
}

TEST_CASE("InfraGraph on the command line", "[unit][import]") {
  const test::ScratchFolder scratch;
  const std::string path = (scratch / "summit.json").string();
  CHECK(test::run_program("show summit --infragraph --out '" + path + "'").code == 0);
  CHECK(test::run_program("show summit --infragraph").out == test::text_of_file(path));
  CHECK(test::run_program("show summit --infragraph --json").code == 2);
  CHECK(test::run_program("import infragraph '" + path + "' --machine summit-2").code == 0);
  const auto edited = test::run_program("show p100-dgx1 --remove gpu0-gpu4 --infragraph");
  CHECK(Json::parse(edited.out)["devices"][0]["name"] == "p100-dgx1 (edited_ remove gpu0-gpu4)");
}

}  // namespace linkcast::test::infragraph_test
