// `linkcast calibrate fit` as a program: what it reads, leaves out and writes.
#include <fstream>

#include "sim/base/object_reader.hpp"
#include "tests/support/catch.hpp"
#include "tests/support/paths.hpp"
#include "tests/unit/program.hpp"

namespace linkcast::test::fit_command_test {

namespace {

const std::string kData = "calibrate/data/p100-dgx1/p2p-matrix.json calibrate/data/p100-dgx1/p2p-message-size.json ";

Run fit(const ScratchFolder& scratch, const std::string& files, const std::string& options) {
  return run_program("calibrate fit " + files + " --topology p100-dgx1 --out '" + (scratch / "p.json").string() + "' " +
                     options);
}

Json written(const ScratchFolder& scratch, const std::string& name) {
  return Json::parse(text_of_file(scratch / name));
}

}  // namespace

TEST_CASE("records that are no measurements are left out with a line each", "[unit][fit]") {
  const ScratchFolder scratch;
  const std::string discovery = (scratch / "discovery.json").string();
  std::ofstream(discovery) << R"({"schema": "discovery/1"})";
  const Run run =
      fit(scratch, kData + "topologies/p100-dgx1.json models/params/dgx2.json '" + discovery + "'", "--bootstrap 0");
  CHECK(run.code == 0);
  CHECK(run.err ==
        "topologies/p100-dgx1.json: topology/1, no measurement: left out\n"
        "models/params/dgx2.json: calibration/1, no measurement: left out\n" +
            discovery + ": discovery/1, no measurement: left out\n");
  CHECK(written(scratch, "p.json")["from"].size() == 3);  // both measurements, and what was left out of fits
  CHECK(fit(scratch, "topologies/p100-dgx1.json", "").err.find("calibrate fit: no measurement given") !=
        std::string::npos);
}

TEST_CASE("a report beside the measurements does not stop the next fit", "[unit][fit]") {
  const ScratchFolder scratch;
  const std::string folder = (scratch / "report").string();
  REQUIRE(fit(scratch, kData, "--bootstrap 0 --report '" + folder + "'").code == 0);
  const Run again = fit(scratch, kData + "'" + folder + "/residuals.json'", "--bootstrap 0");
  CHECK(again.code == 0);
  CHECK(again.err.find("residuals/1, no measurement: left out") != std::string::npos);
}

TEST_CASE("what is malformed is refused, whatever it calls itself", "[unit][fit]") {
  const ScratchFolder scratch;
  const auto refused = [&](const std::string& text, const std::string& why) {
    const std::string path = (scratch / "odd.json").string();
    std::ofstream(path) << text;
    const Run run = fit(scratch, kData + "'" + path + "'", "--bootstrap 0");
    INFO(run.err);
    CHECK(run.code == 2);
    CHECK(run.err.find(why) != std::string::npos);
  };
  refused("{", "odd.json");
  refused("{}", "schema");
  refused(R"({"schema": "recipe/1"})", "recipe/1");
  refused(R"({"schema": "topology/1"})", "odd.json");
  refused(R"({"schema": "calibration/1"})", "odd.json");
  refused(R"({"schema": "measurement/1"})", "odd.json");
}

TEST_CASE("measurements without a copy are welcome beside others", "[unit][fit]") {
  const ScratchFolder scratch;
  const std::string folder = "calibrate/data/hgx-h200/20261121a-", out = (scratch / "h.json").string();
  const std::string others = folder + "concurrency.json " + folder + "nccl_base.json " + folder + "remote_load.json ";
  const std::string end = "--topology hgx-h200 --bootstrap 0 --out '" + out + "'";
  CHECK(run_program("calibrate fit " + others + folder + "host_copy.json " + end).code == 0);
  const Run alone = run_program("calibrate fit " + others + end);
  CHECK(alone.code == 2);
  CHECK(alone.err.find("the measurements hold no copy that a parameter could come from") != std::string::npos);
}

TEST_CASE("launch records reach the fit, once each and of its topology or its GPUs", "[unit][fit]") {
  const ScratchFolder scratch;
  const std::string launch = "calibrate/data/hgx-h200/20261122c-launch.json ";
  const Run other = fit(scratch, kData + launch, "--bootstrap 0");
  CHECK(other.code == 2);
  CHECK(other.err.find("20261122c-launch.json:/topology: is 'hgx-h200', the fit is for 'p100-dgx1'") !=
        std::string::npos);
  const std::string copies = "calibrate fit calibrate/data/hgx-h200/20261121a-host_copy.json ",
                    end = "--topology hgx-h200 --bootstrap 0 --out '" + (scratch / "p.json").string() + "'";
  CHECK(run_program(copies + launch + launch + end).err.find("holds the same bytes as") != std::string::npos);
  const std::string pair = "calibrate/data/h200-pair-b/20261128c-launch.json ";
  CHECK(run_program(copies + "calibrate/data/h100-pair-b/20261128a-launch.json " + end)
            .err.find("/topology: is 'h100-pair-b', the fit is for 'hgx-h200'") != std::string::npos);
  CHECK(run_program(copies + pair + end).code == 0);
  // A measured host pays a factor of what the nearest host pays.
  const std::string folder = "calibrate/data/h200-pair-b/";
  REQUIRE(run_program("calibrate fit " + folder + "20261128c-host_copy.json " + pair + "--topology " + folder +
                      "h200-pair-b-topology.json --bootstrap 0 --out '" + (scratch / "own.json").string() + "'")
              .code == 0);
  const auto cost = [](const Json& of, const char* what) {
    return of["parameters"]["launch.process." + std::string(what)]["value"].get<double>();
  };
  const Json own = written(scratch, "own.json"), nearest = read_json_file(data_dir() + "/models/params/hgx-h200.json");
  CHECK(cost(own, "send_s") / cost(own, "call_s") == Approx(cost(nearest, "send_s") / cost(nearest, "call_s")));
  CHECK(cost(own, "call_s") != cost(nearest, "call_s"));
  REQUIRE(run_program(copies + launch + end).code == 0);
  CHECK(written(scratch, "p.json")["from"][1]["path"] == "calibrate/data/hgx-h200/20261122c-launch.json");
}

TEST_CASE("the report holds every point and every parameter with its errors", "[unit][fit]") {
  const ScratchFolder scratch;
  const Run run = fit(scratch, kData,
                      "--bootstrap 10 --report '" + (scratch / "report").string() + "' --fit-report '" +
                          (scratch / "fit.json").string() + "'");
  REQUIRE(run.code == 0);
  const Json report = written(scratch, "report/residuals.json"), calibration = written(scratch, "p.json"),
             fit_report = written(scratch, "fit.json");
  CHECK_FALSE(calibration.contains("fit"));
  CHECK(run_program("check '" + (scratch / "fit.json").string() + "'").code == 0);
  CHECK(report["bootstrap"] == 10);
  CHECK(report["points"].size() == 2784 + 240);  // as many as the two files have
  for (const Json& p : report["points"]) {
    const double measured = p["measured_s"], modelled = p["modelled_s"], residual = p["residual"];
    if (std::abs(measured / modelled - 1 - residual) > 1e-12) FAIL(p.dump());
  }
  REQUIRE(report["parameters"].size() == calibration["parameters"].size());
  for (const auto& [name, p] : calibration["parameters"].items()) {
    INFO(name);
    CHECK(report["parameters"][name]["value"] == p["value"]);
    const Json& errors = fit_report["standard_errors"];
    if (!errors.contains(name)) continue;
    CHECK(report["parameters"][name]["bootstrap"] == errors[name]["bootstrap"]);
    CHECK(p["stderr"].get<double>() >= errors[name]["covariance"].get<double>());
  }
}

TEST_CASE("all that linkcast-bench writes on one GPU, or on two, is fitted", "[unit][fit]") {
  const ScratchFolder scratch;
  for (const std::string box : {"one-gpu", "two-gpus"}) {
    const Run run = run_program("calibrate fit calibrate/data/hgx-h200/" + box + "-*.json --topology hgx-h200 " +
                                "--bootstrap 0 --out '" + (scratch / "box.json").string() + "'");
    INFO(box + ": " + run.err);
    CHECK(run.code == 0);
  }
}

const std::string kCollectives =
    "calibrate fit calibrate/data/abci-v100x4/nccl-2.8.json --unmeasured --topology abci-v100 "
    "--inherit models/params/v100-dgx1.json ";

TEST_CASE("what is held out is forecast by the calibration that is written, which saw none of it", "[unit][fit]") {
  const ScratchFolder scratch;
  const std::string out = "--out '" + (scratch / "p.json").string() + "' --json ";
  const Run run = run_program(kCollectives + out + "--hold-out size=0B- --hold-out nodes=2");
  REQUIRE(run.code == 0);
  const Json said = Json::parse(run.out)["held_out"];
  REQUIRE(said.size() == 2);
  std::map<double, double> all;  // both held out: a fit for one of them alone would know of the other
  for (const Json& p : said[0]["points"])
    if (p["nodes"] == 2) all[p["size_B"]] = p["modelled_s"];
  REQUIRE(said[1]["points"].size() == all.size());
  for (const Json& p : said[1]["points"]) CHECK(p["modelled_s"] == all.at(p["size_B"]));
  CHECK(said[1]["points"][0]["nodes"] == 2);
}

TEST_CASE("collectives of another machine, unnamed library or missing GPUs are refused, unmeasured or not",
          "[unit][fit][bad_input]") {
  const ScratchFolder scratch;
  const Json good = Json::parse(text_of_file(test::data_dir() + "/calibrate/data/abci-v100x4/nccl-2.8.json"));
  const auto error = [&](const Json& record, const std::string& topology = "abci-v100", int times = 1) {
    std::string files;
    for (int k = 0; k < times; ++k) {
      const std::string path = (scratch / ("m" + std::to_string(k) + ".json")).string();
      std::ofstream(path) << record;
      files += "'" + path + "' ";
    }
    const Run run =
        run_program("calibrate fit " + files + "--unmeasured --topology " + topology +
                    " --inherit models/params/v100-dgx1.json --out '" + (scratch / "p.json").string() + "'");
    CHECK(run.code == 2);
    CHECK(std::count(run.err.begin(), run.err.end(), '\n') == 1);
    return run.err;
  };
  CHECK(error(good, "dgx2").find("m0.json:/topology: is 'abci-v100', the fit is for 'dgx2'") != std::string::npos);
  CHECK(error(good, "abci-v100", 2).find("give each measurement once") != std::string::npos);
  Json record = good;
  record["points"][2]["gpus"][3] = 9;
  CHECK(error(record).find("m0.json:/points/2/gpus/3: 9 is no GPU of abci-v100: 0 to 3") != std::string::npos);
  record = good;
  record.erase("library");
  CHECK(error(record).find("m0.json:/library: missing") != std::string::npos);
  record["library"] = "nccl-7";
  CHECK(error(record).find("none of 48 collectives can be forecast: ") != std::string::npos);
}

TEST_CASE("a part that holds nothing is refused before the fit", "[unit][fit][bad_input]") {
  const ScratchFolder scratch;
  const std::string out = "--out '" + (scratch / "p.json").string() + "' ";
  const auto error = [&](const std::string& options) {
    const Run run = run_program(kCollectives + options);
    CHECK(run.code == 2);
    CHECK(run.out.empty());
    return run.err;
  };
  CHECK(error(out + "--hold-out nodes=3").find("which are of nodes=1, nodes=2") != std::string::npos);
  CHECK(error(out + "--hold-out op=allreduce").find("which are of op=all_reduce") != std::string::npos);
  CHECK(error(out + "--hold-out size=4MiB-1MiB").find("sizes 4 B to 32 MiB") != std::string::npos);
  CHECK(error("--leave-out op").find("nothing would be left to learn from") != std::string::npos);
  CHECK(error("--leave-out nodes --hold-out size=4MiB-").find("excludes") != std::string::npos);
}

}  // namespace linkcast::test::fit_command_test
