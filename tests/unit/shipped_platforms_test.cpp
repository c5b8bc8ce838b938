// Every shipped platform answers; those that nobody measured say so, with wide intervals.
#include <fstream>

#include "models/libraries/graph/version.hpp"
#include "sim/machine/library.hpp"
#include "sim/machine/library_name.hpp"
#include "sim/records/gpu_models.hpp"
#include "sim/records/parameters.hpp"
#include "tests/support/ask.hpp"
#include "tests/unit/program.hpp"

namespace linkcast::test::shipped_platforms_test {

namespace {

const std::vector<std::string> kUnmeasured = {"a100-pcie-nvlink", "gb200-nvl72", "h100-pcie", "h100-pcie-nvlink",
                                              "rtx-4090",         "rtx-5090",    "rtx-a6000"};
/// Tables of collectives inside a node were published of these, nothing of copies or between nodes.
const std::vector<std::string> kOnlyCollectives = {"dgx-a100", "dgx-b200", "l40s", "mi300x"};

Json all_gpus(const Platform& platform) {
  Json gpus = Json::array();
  for (int k = 0; k < platform.gpu_count(); ++k) gpus.push_back(k);
  return gpus;
}

void check_time(const Json& answer) {
  const double time = answer["time_s"].get<double>();
  CHECK(time > 0);
  CHECK(answer["time_low_s"].get<double>() < time);
  CHECK(answer["time_high_s"].get<double>() > time);
}

/// Nominal rate of one link of a kind that GPU 0 has, and the rate that forecasts take, of one of them.
double share_of_nominal(const std::string& id, const std::string& kind) {
  const Platform& platform = catalogue().machine(id)->platform();
  for (const Cable& cable : platform.wiring().cables)
    if (cable.kind == kind) return parameter(id, "cable." + kind + ".bandwidth_Bps") / cable.bandwidth.si;
  return 0;
}

}  // namespace

TEST_CASE("every shipped platform answers copies, rings, collectives, and between nodes where it has adapters",
          "[unit][platforms]") {
  for (const std::string& id : catalogue().platforms()) {
    INFO(id);
    const Platform& platform = catalogue().machine(id)->platform();
    if (platform.gpu_count() > 1) {
      check_time(ask({{"platform", id}, {"kind", "p2p"}, {"src", "gpu0"}, {"dst", "gpu1"}, {"size_B", kMiB}}));
      const Json gpus = all_gpus(platform);
      check_time(
          ask({{"platform", id}, {"kind", "collective"}, {"op", "all_reduce"}, {"gpus", gpus}, {"size_B", kMiB}}));
      CHECK(ask({{"platform", id}, {"kind", "rings"}, {"gpus", gpus}})["channels"].size() > 0);
    }
    if (!platform.wiring().fabric.is_object()) continue;
    check_time(
        ask({{"platform", id}, {"kind", "p2p"}, {"src", "node0/gpu0"}, {"dst", "node1/gpu0"}, {"size_B", kMiB}}));
    if (platform.gpu_count() > 1)
      check_time(ask({{"platform", id}, {"kind", "collective"}, {"op", "all_reduce"}, {"nodes", 2}, {"size_B", kMiB}}));
  }
}

TEST_CASE("two H100 nodes: all GPUs of each, never faster than their adapters, and the network was not measured",
          "[unit][platforms]") {
  const Json query{
      {"platform", "hgx-h100"}, {"kind", "collective"}, {"op", "all_reduce"}, {"nodes", 2}, {"size_B", 1 << 30}};
  const Json answer = ask(query);
  CHECK(answer["gpus_per_node"] == 8);
  // Rings send 2 (n - 1) / n of the buffer through 8 x 50 GB/s, trees of sums made in the nodes send it once each way.
  // source: 8 NDR ports
  CHECK(answer["algorithm"] == "nvls_tree");
  CHECK(answer["algbw_Bps"].get<double>() < 8 * 50e9);
  CHECK(answer["algbw_Bps"].get<double>() > 0.5 * 8 * 50e9);
  Json rings = query;
  rings["nvls"] = false;
  const double ring_Bps = ask(rings)["busbw_Bps"].get<double>();
  CHECK(ring_Bps < 8 * 50e9);
  CHECK(ring_Bps > 0.5 * 8 * 50e9);
  CHECK(answer["warnings"].dump().find("nothing between nodes of hgx-h100 was measured") != std::string::npos);
  Json message{{"platform", "hgx-h100"}, {"kind", "p2p"}, {"src", "node0/gpu0"}, {"dst", "node1/gpu0"}, {"size_B", 64}};
  CHECK(ask(message)["warnings"].dump().find("no message between nodes of hgx-h100 was measured") != std::string::npos);
}

TEST_CASE("machines nobody measured: every parameter is lent, at the lender's share of the nominal rate",
          "[unit][platforms]") {
  for (const std::string& id : kUnmeasured) {
    INFO(id);
    const Calibration& calibration = catalogue().machine(id)->platform().calibration();
    REQUIRE_FALSE(calibration.parameters.empty());
    for (const auto& [name, parameter] : calibration.parameters) {
      INFO(name);
      CHECK(parameter.provenance.rfind("inherited:", 0) == 0);
      if (parameter.stderr_ > 0) CHECK(parameter.stderr_ >= 0.149 * std::abs(parameter.value));
    }
    const Json copy = ask({{"platform", id}, {"kind", "p2p"}, {"src", "gpu0"}, {"dst", "gpu1"}, {"size_B", 64 * kMiB}});
    CHECK(copy["time_high_s"].get<double>() > 1.5 * copy["time_s"].get<double>());
  }
  // its first lender, dgx-b200, has its links from others itself
  CHECK_THAT(share_of_nominal("gb200-nvl72", "nvlink5"), WithinRel(share_of_nominal("hgx-h100", "nvlink4"), 1e-9));
  CHECK_THAT(share_of_nominal("rtx-a6000", "nvlink3"), WithinRel(share_of_nominal("abci-a100", "nvlink3"), 1e-9));
  CHECK_THAT(share_of_nominal("mi300x", "infinity_fabric"),
             WithinRel(share_of_nominal("lumi", "infinity_fabric"), 1e-9));
}

TEST_CASE("machines of published tables of collectives: the library's figures are their own, all else is lent",
          "[unit][platforms]") {
  for (const std::string& id : kOnlyCollectives) {
    INFO(id);
    const Calibration& calibration = catalogue().machine(id)->platform().calibration();
    int inherited = 0, fitted = 0;
    for (const auto& [name, parameter] : calibration.parameters) {
      INFO(name);
      if (parameter.provenance.starts_with("inherited:")) {
        ++inherited;
        if (parameter.stderr_ > 0) CHECK(parameter.stderr_ >= 0.149 * std::abs(parameter.value));
        continue;
      }
      if (id == "mi300x")
        CHECK((name.starts_with("rccl.ring.") || name.starts_with("rccl.all_pairs.")));
      else
        CHECK((name.starts_with("nccl.ring.") || name.starts_with("nccl.nvls@") ||
               (id == "l40s" && name.starts_with("nccl.host@"))));
      CHECK(name.find(id == "mi300x" ? "@2.21." : "@2.27.") != std::string::npos);
      CHECK((parameter.provenance == "fitted" || parameter.provenance == "believed"));
      CHECK(parameter.stderr_ > 0);
      fitted += parameter.provenance == "fitted" ? 1 : 0;
    }
    CHECK(fitted > 0);
    CHECK(inherited > fitted);
    const Json copy = ask({{"platform", id}, {"kind", "p2p"}, {"src", "gpu0"}, {"dst", "gpu1"}, {"size_B", 64 * kMiB}});
    CHECK(copy["time_high_s"].get<double>() > 1.5 * copy["time_s"].get<double>());
    CHECK(copy["warnings"].dump().find("not measured on " + id) != std::string::npos);
  }
  CHECK_THAT(share_of_nominal("dgx-a100", "nvlink3"), WithinRel(share_of_nominal("abci-a100", "nvlink3"), 1e-9));
  CHECK_THAT(share_of_nominal("dgx-b200", "nvlink5"), WithinRel(share_of_nominal("hgx-h200", "nvlink4"), 1e-9));
}

TEST_CASE("what kernels get of PCIe both ways is lent beside what copies get, though another machine measured it",
          "[unit][platforms]") {
  const auto nominal_Bps = [](const std::string& id) {
    for (const Cable& cable : catalogue().machine(id)->platform().wiring().cables)
      if (cable.kind.starts_with("pcie")) return cable.bandwidth.si;
    return 0.0;
  };
  const auto pair_share = [&](const std::string& id, const Json& edits) {
    const Json answer = ask({{"platform", id},
                             {"kind", "collective"},
                             {"op", "all_reduce"},
                             {"gpus", {0, 1}},
                             {"size_B", 1 << 30},
                             {"edits", edits}});
    return answer["busbw_Bps"].get<double>() / nominal_Bps(id);
  };
  // Two H200 whose traffic goes through host memory were measured: 28 of 63 GB/s.
  const double measured = pair_share("hgx-h200", {"disable nvlink"});
  CHECK_THAT(measured, WithinRel(28.2 / 63.0, 0.05));  // source: calibrate/data/hgx-h200/20261121c-host-nccl_ops.json
  for (const std::string id : {"rtx-4090", "rtx-5090"}) {
    INFO(id);
    // the share of PCIe's rate that hops attain belongs to the host, and is assumed
    const double assumed = key::host_data_share.prior->value / parameter("hgx-h200", "nccl.host.data_share");
    CHECK_THAT(pair_share(id, Json::array()), WithinRel(measured * assumed, 0.1));
  }
}

TEST_CASE("a collective of an MPI whose messages alone were measured is not as sure as these", "[unit][platforms]") {
  const Json answer = ask({{"platform", "lassen"},
                           {"kind", "collective"},
                           {"op", "all_gather"},
                           {"library", "mpi-cray"},
                           {"nodes", 2},
                           {"gpus_per_node", 1},
                           {"size_B", 524288}});
  CHECK(answer["time_high_s"].get<double>() > 1.2 * answer["time_s"].get<double>());
  CHECK(answer["time_low_s"].get<double>() < answer["time_s"].get<double>() / 1.2);
}

TEST_CASE("calibrate fit --unmeasured refuses measurements and needs lenders", "[unit][platforms][bad_input]") {
  const std::string fit = "calibrate fit --unmeasured --topology rtx-4090 --out - ";
  const auto error = [](const std::string& line) {
    const Run run = run_program(line);
    CHECK(run.code == 2);
    return run.err;
  };
  CHECK(error(fit).find("--unmeasured: set --inherit") != std::string::npos);
  CHECK(error(fit + "calibrate/data/gx8/printed-copies.json --inherit models/params/gx8.json")
            .find("--unmeasured: takes no measurement") != std::string::npos);
}

TEST_CASE("the default library follows the generation of the GPUs", "[unit][platforms]") {
  for (const auto& [id, library] : std::vector<std::pair<std::string, std::string>>{{"p100-dgx1", "nccl-2.3"},
                                                                                    {"v100-dgx1", "nccl-2.3"},
                                                                                    {"abci-v100", "nccl-2.8"},
                                                                                    {"abci-a100", "nccl-2.8"},
                                                                                    {"dgx-a100", "nccl-2.27"},
                                                                                    {"hgx-h100", "nccl-2.18"},
                                                                                    {"l40s", "nccl-2.27"},
                                                                                    {"mi300x", "rccl-2.21"},
                                                                                    {"dgx-b200", "nccl-2.27"}}) {
    INFO(id);
    CHECK(catalogue().machine(id)->platform().calibration().default_library == library);
    // that of whoever measured it
    if (id != "abci-v100" && id != "dgx-a100" && id != "l40s")
      CHECK(usual_library(catalogue().machine(id)->platform().topology()) == library);
  }
}

TEST_CASE("a printed version of NCCL names the newest known library that is not newer", "[unit][platforms]") {
  CHECK(nccl_version(2804) == std::pair(2, 8));
  CHECK(nccl_version(22203) == std::pair(2, 22));
  CHECK(nearest_version("nccl", 2, 22) == "nccl-2.22");
  CHECK(nearest_version("nccl", 2, 28) == "nccl-2.27");
  CHECK(nearest_version("nccl", 2, 10) == "nccl-2.8");
  CHECK(nearest_version("nccl", 3, 1) == "nccl-2.30");
  CHECK(nearest_version("nccl", 2, 0) == "nccl-2.3");  // no relative of 1
  CHECK(nearest_version("nccl", 1, 5) == "nccl-1");
  CHECK(nearest_version("nccl", 0, 9) == "nccl-1");
}

TEST_CASE("a library is named as people have it", "[unit][platforms]") {
  for (const auto& [name, meant] : std::vector<std::pair<std::string, std::string>>{{"nccl-2.28.9", "nccl-2.27"},
                                                                                    {"NCCL 2.21.5", "nccl-2.20"},
                                                                                    {"2.21.5", "nccl-2.20"},
                                                                                    {"22809", "nccl-2.27"},
                                                                                    {"2.28.3-1", "nccl-2.27"},
                                                                                    {"2.27.3+cuda12.8", "nccl-2.27"},
                                                                                    {"nccl", "nccl-2.30"},
                                                                                    {"nccl-2.31", "nccl-2.30"},
                                                                                    {"nccl-1.3", "nccl-1"}}) {
    INFO(name);
    CHECK(library_meant(name) == meant);
    CHECK(registered_library(name) == meant);
  }
  for (const char* name : {"nccl-2.27", "vllm", "xccl", "2", "nccl-9", "nccl-2.99", "2.x", "", "nccl-2.8.", "-2.8"}) {
    INFO(name);
    CHECK(library_meant(name).empty() == (std::string(name) != "nccl-2.8."));
  }
  CHECK(registered_library("xccl") == "xccl");
  CHECK(library_meant_text("library", "2.21.5", "nccl-2.20") ==
        "library: 2.21.5 is forecast as nccl-2.20, the nearest version that is modelled");
  const auto answer = run_program(
      "predict collective --platform hgx-h100 --op all_reduce --size 1MiB --gpus 0-3 --library nccl --json");
  CHECK(answer.code == 0);
  CHECK(answer.out.find("\"library: nccl is forecast as nccl-2.30, the newest version that is modelled\"") !=
        std::string::npos);
}

TEST_CASE("diagnose expects the library that the log prints, or --library", "[unit][platforms]") {
  const std::string line = "diagnose --platform hgx-h200 tests/input/import/nccl-tests-all-gather.json";
  CHECK(run_program(line).out.find("expected of nccl-2.27 (NCCL 2.27 and 2.28)") != std::string::npos);
  CHECK(run_program(line + " --library nccl-2.18").out.find("expected of nccl-2.18, as given") != std::string::npos);
  CHECK(run_program(line + " --library nccl-9").code == 2);
}

TEST_CASE("errors name the oldest and the newest NCCL of the registry", "[unit][platforms]") {
  const std::string first = "nccl-2.7", last = graph::versions().back().name;
  CHECK(nccl_range([](const RingLibrary& rings) { return rings.takes_topology_files(); }) == first + " to " + last);
  CHECK(libraries().find(last) != nullptr);
  for (const GpuGeneration& one : kGpuGenerations) CHECK(libraries().find(std::string(one.usual_library)) != nullptr);
}

}  // namespace linkcast::test::shipped_platforms_test
