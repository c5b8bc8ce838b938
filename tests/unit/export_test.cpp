// Files for NCCL: topologies read back as they were, graphs as NCCL_GRAPH_FILE takes them, what is refused.
// Expected: the shipped topologies themselves; files by hand; rings of V100 from issue 713 of NVIDIA/nccl (SOURCES.md).
#include <pugixml.hpp>
#include <set>

#include "tests/support/catalogue.hpp"
#include "tests/unit/import_topology.hpp"
#include "tests/unit/nccl_graph.hpp"
#include "topologies/formats/nccl_xml.hpp"

namespace linkcast::test::export_test {

namespace {

Topology written_and_read(const Topology& topology) {
  const ScratchFolder scratch;
  const std::string path = (scratch / "topology.xml").string();
  std::ofstream(path) << exporters::nccl::topology_xml(topology);
  return import_file("nccl-xml", {path});
}

const Device& device(const Topology& t, int index) { return t.devices[static_cast<std::size_t>(index)]; }

/// "gpu0-gpu3 nvlink2": 2. NVSwitches count in the order in which GPUs name them.
std::map<std::string, int> accelerator_links(const Topology& t) {
  std::map<std::string, int> links;
  for (const Cable& c : t.cables) {
    if (!is_accelerator_cable(c.kind)) continue;
    std::string a = device(t, c.a).id, b = device(t, c.b).id;
    if (device(t, c.a).kind == DeviceKind::kNvswitch && device(t, c.b).kind == DeviceKind::kNvswitch) continue;
    if (a.rfind("gpu", 0) != 0 || (b.rfind("gpu", 0) == 0 && b < a)) std::swap(a, b);
    links[a + "-" + b + " " + c.kind.substr(0, 7)] += c.count;
    CHECK(c.bandwidth.si > 0);
  }
  return links;
}

bool has_pcie(const Topology& t, int at) {
  return std::any_of(t.cables.begin(), t.cables.end(),
                     [&](const Cable& c) { return is_pcie_cable(c.kind) && (c.a == at || c.b == at); });
}

/// "cpu0(pcie3 15.8 (pcie3 15.8 gpu0, pcie3 15.8 nic))": all below a device over PCIe, sorted.
std::string pcie_tree(const Topology& t, int at, int parent = -1) {
  std::multiset<std::string> below;
  for (const Cable& c : t.cables) {
    const int other = c.a == at ? c.b : c.b == at ? c.a : -1;
    if (!is_pcie_cable(c.kind) || other < 0 || other == parent || c.source.rfind("assumed: PCIe", 0) == 0) continue;
    below.insert(c.kind.substr(0, 5) + " " + std::to_string(std::lround(c.bandwidth.si / 1e8)) + " " +
                 pcie_tree(t, other, at));
  }
  const Device& d = device(t, at);
  std::string text = d.kind == DeviceKind::kNic ? "nic" : d.kind == DeviceKind::kPcieSwitch ? "" : d.id;
  for (const std::string& child : below) text += "(" + child + ")";
  return text;
}

/// CPUs with what is below them, and which are joined.
std::set<std::string> sockets(const Topology& t) {
  std::set<std::string> found;
  for (std::size_t d = 0; d < t.devices.size(); ++d)
    if (t.devices[d].kind == DeviceKind::kCpu)
      found.insert(t.devices[d].vendor + " " + pcie_tree(t, static_cast<int>(d)));
  for (const Cable& c : t.cables)
    if (is_socket_cable(c.kind)) found.insert(c.id);
  return found;
}

std::string refusal(const Topology& topology) {
  try {
    static_cast<void>(exporters::nccl::topology_xml(topology));
  } catch (const InputError& error) {
    return error.what();
  }
  return "written";
}

std::string graph(const std::string& library, const std::string& machine, const std::vector<int>& gpus) {
  return exporters::nccl::graph_xml(nccl_graph::build(library, machine, gpus));
}

}  // namespace

TEST_CASE("NCCL topology: every platform reads back as it was written", "[unit]") {
  int read = 0;
  for (const std::string& name : catalogue().platforms()) {
    if (name == "lumi" || name.starts_with("mi3")) continue;  // refused, below
    INFO(name);
    const Topology &shipped = catalogue().machine(name)->platform().wiring(), back = written_and_read(shipped);
    CHECK(back.gpus().size() == shipped.gpus().size());
    for (std::size_t i = 0; i < shipped.gpus().size(); ++i)
      CHECK(device(back, back.gpus()[i]).sm == device(shipped, shipped.gpus()[i]).sm);
    CHECK(accelerator_links(back) == accelerator_links(shipped));
    if (shipped.gpus().size() < 72) CHECK(sockets(back) == sockets(shipped));  // NCCL takes all CPUs for joined
    for (std::size_t i = 0; i < shipped.gpus().size(); ++i)                    // NCCL has no GPU without PCI
      CHECK(has_pcie(back, back.gpus()[i]));
    CHECK(exporters::nccl::topology_xml(shipped) == exporters::nccl::topology_xml(shipped));
    ++read;
  }
  CHECK(read == 50);
}

TEST_CASE("NCCL topology: what was read back is written the same again", "[unit]") {
  for (const std::string name : {"v100-dgx1", "hgx-h100", "leonardo", "abci-a100"}) {
    INFO(name);
    const Topology once = written_and_read(shipped_topology(name));
    const Topology twice = written_and_read(once);
    CHECK(accelerator_links(once) == accelerator_links(twice));
    CHECK(sockets(once) == sockets(twice));
    for (const Cable& c : once.cables)
      CHECK(c.bandwidth.si == cable(twice, device(once, c.a).id, device(once, c.b).id, c.kind).bandwidth.si);
  }
}

TEST_CASE("NCCL topology: the file of two GPUs", "[unit]") {
  CHECK(exporters::nccl::topology_xml(shipped_topology("rtx2080-sli")) ==
        R"(<system version="1">
  <cpu host_hash="0x1" numaid="0" arch="x86_64" vendor="GenuineIntel" familyid="6" modelid="45">
    <pci busid="0000:01:00.0" class="0x030200" vendor="0x10de" device="0x0000" subsystem_vendor="0x10de" subsystem_device="0x0000" link_speed="8.0 GT/s PCIe" link_width="16">
      <gpu dev="0" sm="75" rank="0" gdr="1">
        <nvlink target="0000:02:00.0" count="1" tclass="0x030200"/>
      </gpu>
    </pci>
    <pci busid="0000:02:00.0" class="0x030200" vendor="0x10de" device="0x0000" subsystem_vendor="0x10de" subsystem_device="0x0000" link_speed="8.0 GT/s PCIe" link_width="16">
      <gpu dev="1" sm="75" rank="1" gdr="1">
        <nvlink target="0000:01:00.0" count="1" tclass="0x030200"/>
      </gpu>
    </pci>
  </cpu>
</system>
)");
}

TEST_CASE("NCCL topology: adapters, NVSwitches, CPUs with NVLink and C2C", "[unit]") {
  const auto has = [](const std::string& name, const std::string& line) {
    INFO(name << ": " << line);
    CHECK(exporters::nccl::topology_xml(shipped_topology(name)).find(line) != std::string::npos);
  };
  has("p100-dgx1", R"(<net name="nic3" dev="3" speed="100000" port="1")");
  has("p100-dgx1", R"(vendor="GenuineIntel" familyid="6" modelid="79")");
  has("abci-a100", R"(<nvlink target="1000:06:00.0" count="2" tclass="0x068000"/>)");
  has("summit", R"(<cpu host_hash="0x1" numaid="1" arch="ppc64">)");
  has("summit", R"(<nvlink target="0004:00:00.0" count="2" tclass="0x068001"/>)");
  has("summit", R"(link_speed="" link_width="0">)");
  has("alps", R"(<c2c bw="450000" count="1"/>)");
  has("lassen", R"(link_speed="16.0 GT/s PCIe" link_width="8">)");
}

TEST_CASE("NCCL topology: what the format cannot say is refused", "[unit]") {
  CHECK(refusal(shipped_topology("lumi")) == "gpu0-gpu1: NCCL's topology has no word for infinity_fabric");
  Topology t = shipped_topology("rtx2080-sli");
  t.devices[static_cast<std::size_t>(*t.find("cpu0"))].vendor = "";
  CHECK(refusal(t) == "cpu0: NCCL's topology needs the CPU's vendor, which the topology does not say");
  t = shipped_topology("rtx2080-sli");
  t.cables[1].bandwidth = {1e12};
  CHECK(refusal(t) == "gpu0-cpu0: pcie3 of this bandwidth is no PCIe link of 1 to 32 lanes");
  t = shipped_topology("rtx2080-sli");
  t.cables.pop_back();
  CHECK(refusal(t) == "gpu1: hangs on no CPU, so NCCL's topology has no place for it");
  t = shipped_topology("rtx2080-sli");
  t.cables[2].b = *t.find("gpu0");
  CHECK(refusal(t) == "gpu1: hangs on gpu0, which is no PCIe switch");
  t = shipped_topology("p100-dgx1");
  t.devices[static_cast<std::size_t>(*t.find("nic0"))].id = "a \"b\"";
  CHECK(refusal(t).find("'a \"b\"' cannot be the name of a file for NCCL") == 0);
  t = shipped_topology("summit");
  t.cables.push_back({"gpu0-cpu1", *t.find("gpu0"), *t.find("cpu1"), "nvlink2", 1, {25e9}, "test"});
  CHECK(refusal(t) == "gpu0: hangs in two places, and NCCL's topology is a tree below each CPU");
}

TEST_CASE("NCCL graph: the file of two GPUs", "[unit]") {
  CHECK(graph("nccl-2.18", "p100-dgx1", {0, 1}) == R"(<graphs version="1">
  <graph id="0" pattern="4" crossnic="0" nchannels="1" speedintra="18" speedinter="18" latencyinter="0" typeintra="NVL" typeinter="PIX" samechannels="1">
    <channel>
      <gpu dev="0"/>
      <gpu dev="1"/>
    </channel>
  </graph>
  <graph id="1" pattern="1" crossnic="0" nchannels="1" speedintra="18" speedinter="18" latencyinter="0" typeintra="NVL" typeinter="PIX" samechannels="1">
    <channel>
      <gpu dev="0"/>
      <gpu dev="1"/>
    </channel>
  </graph>
</graphs>
)");
  CHECK(graph("nccl-2.7", "p100-dgx1", {0, 1}).find(R"(<graph id="1" pattern="2")") != std::string::npos);
}

TEST_CASE("NCCL graph: channels hold each member once, at the speed of the search", "[unit]") {
  for (const std::string& library : nccl_graph::names())
    for (const std::string machine : {"v100-dgx1", "hgx-h200", "summit", "gx8"}) {
      INFO(library << " on " << machine);
      const Communicator made = nccl_graph::build(library, machine, {2, 1, 4, 0, 3});
      pugi::xml_document file;
      const std::string text = exporters::nccl::graph_xml(made);
      REQUIRE(file.load_string(text.c_str()));
      CHECK(text.find(" />") == std::string::npos);  // NCCL's reader would see one more attribute
      std::vector<std::vector<int>> orders[2];
      int graphs = 0;
      for (const pugi::xml_node graph : file.child("graphs").children("graph")) {
        CHECK(graph.attribute("id").as_int() == graphs);
        for (const pugi::xml_node channel : graph.children("channel")) {
          orders[graphs].emplace_back();
          for (const pugi::xml_node gpu : channel.children("gpu"))
            orders[graphs].back().push_back(gpu.attribute("dev").as_int(-1));
          CHECK(std::set<int>(orders[graphs].back().begin(), orders[graphs].back().end()).size() == 5);
        }
        CHECK(graph.attribute("nchannels").as_uint() == orders[graphs].size());
        ++graphs;
      }
      REQUIRE(graphs == 2);
      CHECK(orders[0].size() == made.channels.size());
      CHECK(orders[1].size() == made.trees.size());
      CHECK(file.child("graphs").first_child().attribute("samechannels").as_bool() == made.one_order);
      for (std::size_t i = 0; i < orders[0].size(); ++i) CHECK(orders[0][i] == made.channels[i].order);
    }
}

TEST_CASE("NCCL graph: six rings of 4 V100 with two links a pair", "[unit]") {
  pugi::xml_document file;
  REQUIRE(file.load_string(graph("nccl-2.12", "abci-v100", nccl_graph::first(4)).c_str()));
  const pugi::xml_node rings = file.child("graphs").first_child();
  CHECK(rings.attribute("nchannels").as_int() == 6);
  CHECK(rings.attribute("speedintra").as_int() == 22);
  CHECK(std::string(rings.attribute("samechannels").value()) == "0");
  std::vector<std::string> orders;
  for (const pugi::xml_node channel : rings.children()) {
    orders.emplace_back();
    for (const pugi::xml_node gpu : channel.children()) orders.back() += gpu.attribute("dev").value();
  }
  CHECK(std::vector<std::string>(orders.begin(), orders.begin() + 4) ==
        std::vector<std::string>{"0123", "0132", "0231", "0213"});
}

TEST_CASE("files for NCCL from the command line", "[unit]") {
  const ScratchFolder scratch;
  const std::string path = (scratch / "out.xml").string();
  const std::string rings = "rings --platform v100-dgx1 --gpus 0-7 --library nccl-2.18 --nccl-graph";
  CHECK(run_program(rings + " --out '" + path + "'").out.empty());
  CHECK(text_of_file(path) == run_program(rings).out);
  CHECK(run_program(rings).out == graph("nccl-2.18", "v100-dgx1", nccl_graph::first(8)));
  CHECK(run_program("show summit --nccl-topo --out '" + path + "'").code == 0);
  CHECK(text_of_file(path) == exporters::nccl::topology_xml(shipped_topology("summit")));
  const Run old = run_program("rings --platform p100-dgx1 --gpus 0-3 --library nccl-2.3 --nccl-graph");
  CHECK(old.code == 2);
  CHECK(old.out.empty());
  CHECK(old.err ==
        "error: nccl-2.3 has no graphs: NCCL reads NCCL_GRAPH_FILE from 2.5 on, set --library to nccl-2.7 or later\n");
  const Run lumi = run_program("show lumi --nccl-topo");
  CHECK(lumi.code == 2);
  CHECK(lines_of(lumi.err) == 1);
  CHECK(run_program("show summit --out '" + path + "'").code == 2);  // nothing to write there
  CHECK(run_program(rings + " --nvls").code == 2);
}

}  // namespace linkcast::test::export_test
