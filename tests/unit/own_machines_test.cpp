// Variants that are machines of their own: boards with other GPUs, instances of clouds with other networks.
#include <fstream>
#include <map>
#include <set>

#include "sim/machine/machine_files.hpp"
#include "sim/machine/variant.hpp"
#include "sim/records/gpu_models.hpp"
#include "tests/support/ask.hpp"
#include "tests/unit/program.hpp"

namespace linkcast::test::own_machines_test {

namespace {

/// Machines that data sheets alone describe, with the name that their driver or NCCL prints.
const std::map<std::string, std::string> kMachines = {{"hgx-b300", "NVIDIA B300 SXM6 AC"},
                                                      {"gb300-nvl72", "NVIDIA GB300"},
                                                      {"rtx-pro-6000", "NVIDIA RTX PRO 6000 Blackwell Server Edition"},
                                                      {"hgx-h20", "NVIDIA H20"},
                                                      {"h100-nvl", "NVIDIA H100 NVL"},
                                                      {"a40", "NVIDIA A40"},
                                                      {"rtx-a5000", "NVIDIA RTX A5000"},
                                                      {"rtx-3090", "NVIDIA GeForce RTX 3090"},
                                                      {"rtx-4090-switched", "NVIDIA GeForce RTX 4090"},
                                                      {"dgx-spark", "NVIDIA GB10"},
                                                      {"mi325x", "AMD Instinct MI325X"},
                                                      {"mi350x", "AMD Instinct MI350X"},
                                                      {"p4d", "NVIDIA A100-SXM4-40GB"},
                                                      {"p5", "NVIDIA H100 80GB HBM3"},
                                                      {"p5en", "NVIDIA H200"},
                                                      {"p6-b200", "NVIDIA B200"},
                                                      {"a3-mega", "NVIDIA H100 80GB HBM3"},
                                                      {"a3-ultra", "NVIDIA H200"},
                                                      {"a4", "NVIDIA B200"},
                                                      {"nd-a100-v4", "NVIDIA A100-SXM4-40GB"},
                                                      {"nd-h100-v5", "NVIDIA H100 80GB HBM3"},
                                                      {"nd-h200-v5", "NVIDIA H200"},
                                                      {"nd-gb200-v6", "NVIDIA GB200"}};

const Platform& platform_of(const std::string& id) { return catalogue().machine(id)->platform(); }

/// Nominal, one direction, of all cables of GPU 0 of a sort; to the CPU or a switch above it, and to other GPUs.
double rate_of_gpu0(const Platform& platform, bool accelerator) {
  const Topology& wiring = platform.wiring();
  const int gpu = wiring.gpus().front();
  double rate = 0;
  for (const Cable& cable : wiring.cables) {
    const int other = cable.a == gpu ? cable.b : cable.a;
    const bool host = wiring.devices[static_cast<std::size_t>(other)].kind == DeviceKind::kCpu;
    if ((cable.a == gpu || cable.b == gpu) && (is_accelerator_cable(cable.kind) && !host) == accelerator)
      rate += cable.count * cable.bandwidth.si;
  }
  return rate;
}

Json all_gpus(const Platform& platform) {
  Json gpus = Json::array();
  for (int k = 0; k < platform.gpu_count(); ++k) gpus.push_back(k);
  return gpus;
}

Json all_reduce(const std::string& id, double size_B) {
  return {{"platform", id},
          {"kind", "collective"},
          {"op", "all_reduce"},
          {"gpus", all_gpus(platform_of(id))},
          {"size_B", size_B}};
}

std::string with(const std::string& more) {
  return R"({"schema": "variant/1", "name": "x", "title": "X", "source": "a test", "base": "hgx-h100", )" + more + "}";
}

/// The error of a file, behind its path.
std::string refusal(const std::string& text) {
  const ScratchFolder folder;
  const std::string path = (folder / "x.json").string();
  std::ofstream(path) << text;
  try {
    static_cast<void>(catalogue::Catalogue(data_dir()).machine(path)->cluster());
  } catch (const InputError& error) {
    const std::string what = error.what();
    return what.rfind(path + ":", 0) == 0 ? what.substr(path.size() + 1) : what;
  }
  return "";
}

}  // namespace

TEST_CASE("machines of data sheets have the GPU that drivers and NCCL name, known by its row", "[unit][platforms]") {
  for (const auto& [id, printed] : kMachines) {
    INFO(id);
    const Device& gpu = platform_of(id).wiring().devices[static_cast<std::size_t>(platform_of(id).gpu(0))];
    CHECK(same_gpu_model(gpu.model, printed));
    const auto model = find_gpu_model(printed);
    REQUIRE(model);
    CHECK(gpu.sm == model->sm);
    // the links of the row leave the GPU, at its rate or that of the generation
    if (model->nvlinks == 0 || rate_of_gpu0(platform_of(id), true) == 0) continue;
    const double one_Bps = model->nvlink_Bps > 0 ? model->nvlink_Bps : nvlink_of(model->sm)->rate.si;
    CHECK_THAT(rate_of_gpu0(platform_of(id), true), WithinRel(model->nvlinks * one_Bps, 1e-9));
  }
}

TEST_CASE("machines of data sheets inherit every parameter with the spread of other machines", "[unit][platforms]") {
  for (const auto& [id, printed] : kMachines) {
    INFO(id);
    const Calibration& calibration = platform_of(id).calibration();
    REQUIRE_FALSE(calibration.parameters.empty());
    int inherited = 0;
    for (const auto& [name, parameter] : calibration.parameters) {
      INFO(name);
      CHECK((parameter.inherited() || parameter.provenance.starts_with("edited: network ")));
      inherited += parameter.inherited() ? 1 : 0;
      if (parameter.inherited() && parameter.stderr_ > 0) CHECK(parameter.stderr_ >= 0.149 * std::abs(parameter.value));
    }
    CHECK(inherited > 0);
    for (const Cable& cable : platform_of(id).wiring().cables) CHECK_FALSE(cable.source.empty());
    const Json answer = ask({{"platform", id}, {"kind", "p2p"}, {"src", "cpu0"}, {"dst", "gpu0"}, {"size_B", kMiB}});
    CHECK(answer["warnings"].dump().find("nothing was measured on " + id) != std::string::npos);
  }
}

TEST_CASE("no forecast of a machine of data sheets is above its wires", "[unit][platforms]") {
  for (const auto& [id, printed] : kMachines) {
    INFO(id);
    const Platform& platform = platform_of(id);
    const double links_Bps = rate_of_gpu0(platform, true), host_Bps = rate_of_gpu0(platform, false);
    const double size_B = 1024 * kMiB;
    CHECK(size_B / time_of({{"platform", id}, {"kind", "p2p"}, {"src", "cpu0"}, {"dst", "gpu0"}, {"size_B", size_B}}) <=
          host_Bps);
    if (platform.gpu_count() > 1) {
      // each GPU sends the buffer at least once, whatever a switch adds up
      const double wire_Bps = links_Bps > 0 ? links_Bps : host_Bps;
      CHECK(size_B /
                time_of({{"platform", id}, {"kind", "p2p"}, {"src", "gpu0"}, {"dst", "gpu1"}, {"size_B", size_B}}) <=
            wire_Bps);
      CHECK(size_B / time_of(all_reduce(id, size_B)) <= wire_Bps);
    }
    if (!platform.wiring().fabric.is_object()) continue;
    const Cluster& cluster = catalogue().machine(id)->cluster();
    const double port_Bps =
        parse_bandwidth(platform.wiring().fabric["links"]["host"]["bandwidth"].get<std::string>()).si;
    CHECK(size_B /
              time_of(
                  {{"platform", id}, {"kind", "collective"}, {"op", "all_reduce"}, {"nodes", 2}, {"size_B", size_B}}) <=
          cluster.nics() * port_Bps);
  }
}

TEST_CASE("an instance of a cloud is its board inside a node, within its interval, and has its own network",
          "[unit][platforms]") {
  struct Case {
    std::string id, base, cable;
    double port_Bps;
  };
  // source: instance types of the clouds: 400, 3200 Gb/s and so on for all GPUs together
  for (const Case& one :
       {Case{"p4d", "abci-a100", "efa_100", 400e9 / 8 / 4}, Case{"p5", "hgx-h100", "efa_400", 3200e9 / 8 / 8},
        Case{"p5en", "hgx-h200", "efa_400", 3200e9 / 8 / 8}, Case{"p6-b200", "dgx-b200", "efa_400", 3200e9 / 8 / 8},
        Case{"a3-mega", "hgx-h100", "ethernet_200", 1600e9 / 8 / 8}, Case{"a4", "dgx-b200", "roce_400", 3200e9 / 8 / 8},
        Case{"nd-a100-v4", "dgx-a100", "ib_hdr", 1600e9 / 8 / 8},
        Case{"nd-h100-v5", "hgx-h100", "ib_ndr", 3200e9 / 8 / 8}}) {
    INFO(one.id);
    const Json answer = ask(all_reduce(one.id, 64 * kMiB));
    const double base_s = time_of(all_reduce(one.base, 64 * kMiB));
    CHECK(answer["time_low_s"].get<double>() <= base_s);
    CHECK(answer["time_high_s"].get<double>() >= base_s);
    const Json& host = platform_of(one.id).wiring().fabric["links"]["host"];
    CHECK(host["cable"] == one.cable);
    CHECK_THAT(parse_bandwidth(host["bandwidth"].get<std::string>()).si, WithinRel(one.port_Bps, 1e-9));
  }
  // the same as the edit on the board, but for the spread of what is inherited
  const Json across{{"kind", "collective"}, {"op", "all_reduce"}, {"nodes", 2}, {"size_B", 1024 * kMiB}};
  Json cloud = across, board = across;
  cloud["platform"] = "p5";
  board["platform"] = "hgx-h100";
  board["edits"] = {"network efa_p5"};
  CHECK_THAT(time_of(cloud), WithinRel(time_of(board), 0.05));
}

TEST_CASE("an instance goes by the full name of its cloud, in any case", "[unit][platforms]") {
  for (const auto& [name, id] : std::map<std::string, std::string>{{"p5.48xlarge", "p5"},
                                                                   {"a3-megagpu-8g", "a3-mega"},
                                                                   {"a4-highgpu-8g", "a4"},
                                                                   {"Standard_ND96isr_H100_v5", "nd-h100-v5"},
                                                                   {"standard_nd96isr_h100_v5", "nd-h100-v5"}}) {
    CHECK(catalogue().machine(name) == catalogue().machine(id));
    CHECK(catalogue().machine(name)->name() == id);
    CHECK(catalogue().has_platform(name));
  }
  std::set<std::string> names;
  for (const std::string& id : catalogue().platforms()) {
    CHECK(names.insert(id).second);
    const auto file = catalogue::MachineFiles(data_dir()).shipped(id);
    if (file->schema != catalogue::MachineSchema::kVariant) continue;
    for (const std::string& also : read_variant(file->json, file->path).also) CHECK(names.insert(also).second);
  }
  const Run unknown = run_program("show p6-b20");
  CHECK(unknown.code == 2);
  CHECK(unknown.err.find("did you mean 'p6-b200'") != std::string::npos);
}

TEST_CASE("a machine of its own can be measured: its wiring goes into what is fitted", "[unit][platforms]") {
  const ScratchFolder folder;
  const std::string out = (folder / "own.json").string(), data = (folder / "data.json").string();
  Json record = read_json_file(data_dir() + "/calibrate/data/hgx-h100/p2p-matrix.json");
  record["topology"] = "p5";
  std::ofstream(data) << record;
  const Run run = run_program("calibrate fit '" + data + "' --topology p5 --inherit hgx-h100 --out '" + out + "'");
  INFO(run.err);
  REQUIRE(run.code == 0);
  CHECK(run_program("check '" + out + "'").code == 0);
  const Run predicted = run_program("predict p2p --platform '" + out + "' --src 0 --dst 1 --size 1GiB --json");
  REQUIRE(predicted.code == 0);
  CHECK_THAT(
      Json::parse(predicted.out)["time_s"].get<double>(),
      WithinRel(
          time_of(
              {{"platform", "hgx-h100"}, {"kind", "p2p"}, {"src", "gpu0"}, {"dst", "gpu1"}, {"size_B", 1024 * kMiB}}),
          0.1));
  // its network, of which nothing was measured, stays that of the instance
  const std::string startup = "transport.mpi_network.r0.startup_s";
  CHECK(parameter(out, startup) == parameter("p5", startup));
  const Json own{{"platform", out}, {"kind", "collective"}, {"op", "all_reduce"}, {"nodes", 2}, {"size_B", kMiB}};
  CHECK(ask(own)["warnings"].dump().find("nothing was measured of efa_p5 here") != std::string::npos);
}

TEST_CASE("PCIe that trained to fewer lanes is as much slower, and no other GPU's is", "[unit][platforms]") {
  const ScratchFolder folder;
  const auto copy_Bps = [](const std::string& platform, const std::string& gpu) {
    const Json copy = ask({{"platform", platform}, {"kind", "p2p"}, {"src", gpu}, {"dst", "cpu0"}, {"size_B", 1e10}});
    return copy["bandwidth_Bps"].get<double>();
  };
  const auto with_lanes = [&](const std::string& name, std::size_t narrow, const char* rate) {
    Json wiring = read_json_file(data_dir() + "/topologies/a100-pcie.json");
    wiring["name"] = name;
    wiring["cables"][narrow]["bandwidth"] = rate;
    const std::string file = (folder / (name + ".json")).string();
    std::ofstream(file) << wiring;
    return file;
  };
  const std::string whole = with_lanes("whole", 0, "31.508 GB/s");
  const double full_Bps = copy_Bps(whole, "gpu0");
  for (const std::size_t narrow : {0, 3}) {
    const std::string file = with_lanes("narrow" + std::to_string(narrow), narrow, "7.877 GB/s");
    for (const std::size_t gpu : {0, 3})
      CHECK_THAT(copy_Bps(file, "gpu" + std::to_string(gpu)), WithinRel(full_Bps / (gpu == narrow ? 4 : 1), 0.01));
  }

  // the uplink of one switch: what is copied below another takes as long as before
  Json wiring = read_json_file(data_dir() + "/topologies/dgx-a100.json");
  const auto pageable_s = [&](const std::string& name) {
    wiring["name"] = name;
    const std::string file = (folder / (name + ".json")).string();
    std::ofstream(file) << wiring;
    return ask({{"platform", file},
                {"kind", "p2p"},
                {"src", "gpu7"},
                {"dst", "cpu1"},
                {"size_B", 1e9},
                {"pageable", true}})["time_s"]
        .get<double>();
  };
  const double whole_s = pageable_s("whole-dgx");
  for (Json& cable : wiring["cables"])
    if (cable["between"] == Json{"plx0", "cpu0"}) cable["bandwidth"] = "7.877 GB/s";
  CHECK_THAT(pageable_s("narrow-uplink"), WithinRel(whole_s, 1e-9));
}

TEST_CASE("list platforms --gpu: any spelling of a GPU", "[unit][platforms]") {
  const auto names = [](const std::string& gpu) {
    const Run run = run_program("list platforms --json --gpu '" + gpu + "'");
    REQUIRE(run.code == 0);
    std::set<std::string> found;
    const Json list = Json::parse(run.out);
    for (const Json& row : list["platforms"]) found.insert(row["name"].get<std::string>());
    return found;
  };
  const std::set<std::string> boards = {"a3-mega", "hgx-h100", "nd-h100-v5", "p5"};
  for (const std::string spelling : {"NVIDIA H100 80GB HBM3", "H100 SXM5", "H100SXM5"})
    CHECK(names(spelling) == boards);
  for (const std::string spelling : {"h100", "H100"}) {
    const auto all = names(spelling);
    CHECK(std::includes(all.begin(), all.end(), boards.begin(), boards.end()));
    CHECK(all.count("h100-pcie") == 1);
    CHECK(all.count("h100-nvl") == 1);
    CHECK(all.count("hgx-h200") == 0);
  }
  for (const std::string spelling : {"4090", "RTX4090", "NVIDIA GeForce RTX 4090"})
    CHECK(names(spelling) == std::set<std::string>{"rtx-4090", "rtx-4090-switched"});
  const Run none = run_program("list platforms --gpu 'Voodoo 2'");
  CHECK(none.code == 2);
  CHECK(none.err.find("--gpu: no platform has 'Voodoo 2': they have ") != std::string::npos);
  CHECK(run_program("list networks --gpu h100").code == 2);
}

TEST_CASE("a machine of its own that is wrong is refused in one line with its place", "[unit][bad_input]") {
  const std::string from = R"("inherits": ["hgx-h100"])";
  CHECK(refusal(with(from)) == "");
  CHECK(refusal(with(R"("inherits": [])")) == "/inherits: at least one: a machine whose parameters this one takes");
  CHECK(refusal(with(R"("inherits": ["voodoo"])")).rfind("/inherits: 'voodoo' is no calibrated machine: one of ", 0) ==
        0);
  CHECK(refusal(with(from + R"(, "changes": [])")).rfind("/changes: unknown key", 0) == 0);
  CHECK(refusal(with(from + R"(, "devices": [{"id": "tpu*", "model": "x"}])")) ==
        "/devices/0/id: hgx-h100 has no device tpu*");
  CHECK(refusal(with(from + R"(, "devices": [{"id": "gpu*"}])")) ==
        "/devices/0/id: nothing of it is another one: say one of model, sm, vendor");
  CHECK(refusal(with(from + R"(, "cables": [{"between": ["gpu*", "cpu*"], "kind": "pcie4", "source": "x"}])")) ==
        "/cables/0/between: hgx-h100 has no cable between gpu* and cpu*");
  CHECK(refusal(with(from + R"(, "cables": [{"between": ["plx*", "cpu*"], "kind": "pcie4"}])")) ==
        "/cables/0/source: is missing: where is that known from?");
  CHECK(refusal(with(from + R"(, "cables": [{"between": "plx*", "kind": "pcie4", "source": "x"}])")) ==
        "/cables/0/between: must name two devices: gpu0, or gpu* for all");
  CHECK(refusal(with(from + R"(, "network": "carrier_pigeon")"))
            .rfind("/network: edit 'network carrier_pigeon': no such network", 0) == 0);
  std::string circle = with(from);
  circle.replace(circle.find("hgx-h100"), 8, "x.json");
  CHECK(refusal(circle) == "/base: bases of bases lead on and on");
  circle.replace(circle.find("x.json"), 6, "voodoo");
  CHECK(refusal(circle) == "/base: 'voodoo' is no shipped topology");
  circle.replace(circle.find("voodoo"), 6, "v100-dgx1-fig19a");
  CHECK(refusal(circle).find("v100-dgx1-fig19a.json:/changes: this is a machine that was never built") !=
        std::string::npos);
}

}  // namespace linkcast::test::own_machines_test
