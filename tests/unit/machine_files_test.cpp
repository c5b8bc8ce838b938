// Machines as files: by what they hold, whatever they are called and wherever they lie.
#include <fstream>

#include "sim/machine/inherit.hpp"
#include "sim/machine/structure.hpp"
#include "sim/query/query.hpp"
#include "tests/support/catalogue.hpp"
#include "tests/unit/import_topology.hpp"
#include "tests/unit/program.hpp"

namespace linkcast::test::machine_files_test {

namespace {

const std::string kCopy = " --src 0 --dst 1 --size 64MiB --json";

void import_h200(const std::filesystem::path& to) {
  const Run run = run_program(
      "import topo-m tests/input/import/topo-h200.txt tests/input/import/nvlink-h200.txt --machine four "
      "--out '" +
      to.string() + "'");
  REQUIRE(run.code == 0);
}

double time_of(const std::string& platform) {
  const Run run = run_program("predict p2p --platform '" + platform + "'" + kCopy);
  INFO(run.err);
  REQUIRE(run.code == 0);
  return parse_json(run.out, "answer")["time_s"].get<double>();
}

std::vector<std::string> names(const Topology& topology) {
  const std::vector<lending::Lender> machines = catalogue::MachineFiles(test::data_dir()).lenders();
  std::vector<std::string> found;
  for (const lending::Relative& one : lending::relatives_of(topology, machines))
    found.push_back(machines[one.lender].calibration.name);
  return found;
}

Topology shipped(const std::string& id) {
  return read_topology(catalogue::MachineFiles(test::data_dir()).shipped_topology(id));
}

}  // namespace

TEST_CASE("a topology opens as a platform under any name, in any folder", "[unit][machine_files]") {
  const ScratchFolder folder;
  import_h200(folder / "one.json");
  const double time = time_of((folder / "one.json").string());
  std::filesystem::create_directories(folder / "else where");
  const auto copy = folder / "else where" / "a name with blanks";
  std::filesystem::copy_file(folder / "one.json", copy);
  std::filesystem::create_symlink(copy, folder / "link.json");
  CHECK(time_of(copy.string()) == time);
  CHECK(time_of((folder / "link.json").string()) == time);
  for (const std::string command : {"show", "rings --gpus 0-3 --platform", "routes --src 0 --dst 1 --platform",
                                    "place --job all_reduce:1MiB --ranks 2 --platform",
                                    "replay data_parallel --option ranks=2 --option steps=1 --platform",
                                    "whatif predict p2p --src 0 --dst 1 --size 1MiB --slow 0:2 --platform",
                                    "diagnose tests/input/import/p2p-p100-cuda8.txt --force --platform"}) {
    INFO(command);
    const Run run = run_program(command + " '" + copy.string() + "'");
    CHECK((run.code == 0 || run.code == 4));
    CHECK(run.err.find("nothing was measured on four: figures are inherited from hgx-h200 (same GPU H200;") !=
          std::string::npos);
    CHECK(run.err.find("measure: ") != std::string::npos);
  }
}

TEST_CASE("a topology names the machines that it inherits from, and needs no calibration", "[unit][machine_files]") {
  const ScratchFolder folder;
  const std::string path = (folder / "mine.json").string();
  Json topology = read_json_file(test::data_dir() + "/topologies/dgx-a100.json");
  const auto shown = [&](const std::vector<std::string>& machines) {
    topology["inherits"] = machines;
    std::ofstream(path) << topology;
    return run_program("show '" + path + "' --json");
  };
  for (const std::string machine : {"hgx-h100", "abci-a100"}) {
    const Run run = shown({machine});
    INFO(run.err);
    REQUIRE(run.code == 0);
    const Json parameters = Json::parse(run.out)["parameters"];
    CHECK(!parameters.empty());
    for (const auto& [name, p] : parameters.items()) {
      INFO(name);
      CHECK(p["provenance"].get<std::string>().rfind("inherited:" + machine, 0) == 0);
    }
  }
  // A parameter is inherited from the first machine that measured it: only abci-a100 has cables of that kind.
  const auto of_nvlink = [&](const std::vector<std::string>& machines) {
    return Json::parse(shown(machines).out)["parameters"]["cable.nvlink3.bandwidth_Bps"]["value"].get<double>();
  };
  CHECK(of_nvlink({"abci-a100", "hgx-h100"}) == of_nvlink({"abci-a100"}));
  CHECK(of_nvlink({"hgx-h100", "abci-a100"}) == of_nvlink({"abci-a100"}));
  const Run unknown = shown({"atari"});
  CHECK(unknown.code == 2);
  CHECK(unknown.err.find("/inherits: 'atari' is no calibrated machine: one of a100-pcie, ") != std::string::npos);
}

TEST_CASE("a fitted calibration carries its wiring", "[unit][machine_files]") {
  const ScratchFolder folder;
  const std::string topology = (folder / "w.json").string(), out = (folder / "box.json").string();
  import_h200(topology);
  const Run fit = run_program("calibrate fit --unmeasured --topology '" + topology +
                              "' --inherit hgx-h200 hgx-h100 --out '" + out + "'");
  INFO(fit.err);
  REQUIRE(fit.code == 0);
  std::filesystem::create_directories(folder / "b");
  std::filesystem::rename(folder / "box.json", folder / "b" / "moved");
  std::filesystem::remove(topology);
  CHECK(time_of((folder / "b" / "moved").string()) > 0);
  CHECK(run_program("calibrate fit --unmeasured --topology dgx2 --inherit atari --out x")
            .err.find("error: --inherit: 'atari' is no file and no calibrated machine: one of ") == 0);
}

TEST_CASE("what is no machine is refused with what is", "[unit][machine_files]") {
  const ScratchFolder folder;
  const auto refused = [&](const std::string& text) {
    const std::string path = (folder / "x.json").string();
    std::ofstream(path) << text;
    const Run run = run_program("predict p2p --platform '" + path + "'" + kCopy);
    CHECK(run.code == 2);
    return run.err.substr(run.err.find("x.json") + 6);
  };
  const std::string machines =
      "no machine, which is topology/1 (linkcast import), calibration/1 (linkcast calibrate fit, linkcast init) or "
      "variant/1\n";
  CHECK(refused("[1]") == ":/schema: is missing: " + machines);
  CHECK(refused(R"({"schema": "measurement/1"})") == ":/schema: 'measurement/1': " + machines);
  CHECK(run_program("predict p2p --platform ./tests" + kCopy).err.find("is a folder: name the file") !=
        std::string::npos);
  CHECK(run_program("predict p2p --platform none.json" + kCopy).err ==
        "error: command line: none.json: no such file, or not readable\n");
}

TEST_CASE("relatives follow structure: GPU first, then what joins them", "[unit][machine_files]") {
  CHECK(names(shipped("hgx-h200")).front() == "hgx-h200");
  CHECK(names(shipped("dgx-a100")).front() == "abci-a100");
  CHECK(names(shipped("leonardo")).front() == "leonardo");
  CHECK(names(shipped("dgx-b200")).front() == "hgx-h100");
  CHECK(names(shipped("l40s")).front() == "hgx-h100");
  CHECK(names(import_file("nccl-xml", {"nccl-power.xml"})).front() == "summit");  // NVLinks to the CPU
  CHECK(names(shipped("mi300x")) == std::vector<std::string>{"lumi"});
  CHECK(lending::maker_of(shipped("mi300x")) == "amd");
  const auto a6000 = lending::structure_of(shipped("rtx-a6000")), h100 = lending::structure_of(shipped("hgx-h100"));
  CHECK(lending::generations_between(a6000, h100) == 2);  // 8.6, 8.9, 9.0
  CHECK(h100.join == lending::Join::kSwitch);
  CHECK(lending::structure_of(shipped("rtx-4090")).join == lending::Join::kNone);
}

}  // namespace linkcast::test::machine_files_test
