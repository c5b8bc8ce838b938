// Tables of nvidia-smi as people paste them, and names of GPUs as people spell them.
#include "calibrate/import/gpu_models.hpp"
#include "tests/unit/import_topology.hpp"

namespace linkcast::test::their_topologies_test {

TEST_CASE("GPU names are told apart however they are spelled", "[unit][import]") {
  const auto words = [](const std::string& name) {
    const auto model = topology_import::find_gpu_model(name);
    return model ? std::string(model->words) : std::string("unknown");
  };
  for (const std::string name : {"RTX4090", "RTX 4090", "NVIDIA GeForce RTX 4090", "rtx-4090"})
    CHECK(words(name) == "RTX 4090");
  CHECK(words("NVIDIA H100 80GB HBM3") == "H100");
  CHECK(words("H100-SXM5-80GB") == "H100");
  CHECK(words("NVIDIA H100 PCIe") == "H100 PCIE");
  CHECK(words("NVIDIA H100 NVL") == "H100 NVL");
  CHECK(words("NVIDIA GH200 96GB (H100)") == "GH200");
  CHECK(words("NVIDIA RTX 6000 Ada Generation") == "RTX 6000 Ada");
  CHECK(words("NVIDIA RTX PRO 6000 Blackwell Server Edition") == "RTX PRO 6000");
  CHECK(words("NVIDIA RTX A5000") == "A5000");
  CHECK(words("NVIDIA A10G") == "A10G");
  CHECK(words("NVIDIA L20") == "L20");
  CHECK(words("NVIDIA GB10") == "GB10");
  CHECK(words("AMD Instinct MI325X") == "MI325X");
  CHECK(words("Radeon VII") == "unknown");
}

TEST_CASE("topo -m behind a prompt, with glued names, without affinities", "[unit][import]") {
  const Topology t = import_file("topo-m", {"topo-glued.txt"}, {{"gpu", "H100-SXM5-80GB"}});
  REQUIRE(t.gpus().size() == 4);
  for (std::size_t i = 0; i < 4; ++i) CHECK(cable(t, gpu_id(i), "nvs0").count == 18);
  CHECK(cable(t, "nic0", "plx0").kind == "pcie5");
  CHECK(cable(t, "gpu0", "plx0").kind == "pcie5");
}

TEST_CASE("topo -m of a virtual machine: SYS inside one NUMA node", "[unit][import]") {
  const Topology t = import_file("topo-m", {"topo-virtual.txt"}, {{"gpu", "RTX4090"}});
  for (std::size_t i = 0; i < 4; ++i) CHECK(cable(t, gpu_id(i), "cpu0").kind == "pcie4");
  CHECK_FALSE(t.find("cpu1"));
  CHECK(t.source.find("assumed: SYS inside one NUMA node") != std::string::npos);
}

TEST_CASE("topo -mp shows no NVLinks, which is said, unless nvlink -s counts them", "[unit][import]") {
  CHECK(import_file("topo-m", {"topo-mp.txt"}, {{"gpu", "A100"}}).source.find("topo -mp leaves out") !=
        std::string::npos);
  const Topology counted = import_file("topo-m", {"topo-mp.txt", "nvlink-inactive.txt"});
  CHECK(counted.source.find("topo -mp") == std::string::npos);
  CHECK(counted.devices[gpu(counted, 1)].model == "NVIDIA H100 80GB HBM3");
}

TEST_CASE("topo -p2p is another table", "[unit][import]") {
  std::string error;
  try {
    import_json("topo-m", {"topo-p2p.txt"}, {{"gpu", "L4"}});
  } catch (const InputError& e) {
    error = e.what();
  }
  CHECK(error.find("topo-p2p.txt line 3: 'CNS': a table of nvidia-smi topo -p2p says who may access whom") !=
        std::string::npos);
}

}  // namespace linkcast::test::their_topologies_test
