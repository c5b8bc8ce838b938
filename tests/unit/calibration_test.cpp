// The reader of schema calibration/1. What it refuses stands in bad_input_test.cpp, one file a defect.
#include "sim/records/calibration.hpp"

#include "sim/base/file_hash.hpp"
#include "sim/records/parameters.hpp"
#include "tests/support/catch.hpp"
#include "tests/support/error_of.hpp"
#include "tests/unit/program.hpp"

namespace linkcast::test::calibration_test {

TEST_CASE("a calibration is read whole", "[unit]") {
  const std::string path = test::data_dir() + "/tests/input/pass_calibration.json";
  const Calibration c = read_calibration(path);
  CHECK(c.path == path);
  CHECK(c.sha256 == sha256_of_file(path));
  CHECK(c.name == "p100-dgx1");
  CHECK(c.topology == "p100-dgx1");
  CHECK(c.default_library == "nccl-2.3");
  CHECK(c.parameters.size() == 2);
  CHECK(c.valid_from_B == 1);
  CHECK(c.valid_to_B == 268435456);
  REQUIRE(c.scatter.size() == 1);
  CHECK(c.scatter[0].transport == "peer");
  CHECK(c.scatter[0].sigma_log == 0.01);
  CHECK(c.scatter[0].samples == 12);
  CHECK(c.from.empty());
  CHECK(c.correlation.between(c.correlation.place("cable.nvlink1.bandwidth_Bps"),
                              c.correlation.place("transport.peer.r0.startup_s")) == -0.5);
  const Parameter* startup = c.find("transport.peer.r0.startup_s");
  REQUIRE(startup != nullptr);
  CHECK(startup->value == 9.8e-6);
  CHECK(startup->stderr_ == 1e-7);
  CHECK(startup->unit == "s");
  CHECK(startup->provenance == "fitted");
  CHECK(c.find("transport.peer.r0") == nullptr);
}

TEST_CASE("scatter of collectives between nodes says which were measured, on how many nodes", "[unit]") {
  const auto read = [](const Json& more) {
    Json row = {{"transport", "collective_network"}, {"from_B", 0}, {"to_B", 1}, {"sigma_log", 0.1}, {"samples", 2}};
    row.update(more);
    ObjectReader reader(row, "made");
    return read_scatter(reader);
  };
  const Scatter scatter = read({{"nodes", 8}, {"operations", {"all_reduce", "broadcast"}}});
  CHECK(scatter.nodes == 8);
  CHECK(scatter.operations == std::vector<std::string>{"all_reduce", "broadcast"});
  CHECK(read(Json::object()).operations.empty());
  CHECK(error_of([&] { read({{"operations", "all_reduce"}}); }).find("operations") != std::string::npos);
}

TEST_CASE("parameters that no forecast asks for any more are left out, with their correlations", "[unit]") {
  const std::string path = test::data_dir() + "/tests/input/pass_calibration.json";
  Json json = read_json_file(path);
  const Json one = {{"value", 1e-6}, {"stderr", 1e-7}, {"unit", "s"}, {"provenance", "fitted"}};
  Json steps = one;
  steps["unit"] = "1";
  json["parameters"]["nccl.tree.LL@2.8.base_s"] = one;
  json["parameters"]["nccl.ring.LL.turn_steps"] = steps;
  json["correlation"] = {{"names",
                          {"cable.nvlink1.bandwidth_Bps", "nccl.ring.LL.turn_steps", "nccl.tree.LL@2.8.base_s",
                           "transport.peer.r0.startup_s"}},
                         {"lower", {Json::array(), {0.1}, {0.2, 0.3}, {-0.5, 0.6, 0.7}}}};
  const Calibration c = read_calibration(json, path);
  CHECK(c.parameters.size() == 2);
  CHECK(c.correlation.names == std::vector<std::string>{"cable.nvlink1.bandwidth_Bps", "transport.peer.r0.startup_s"});
  CHECK(c.correlation.between(0, 1) == -0.5);
  json["parameters"]["nccl.ring.LL.turned_steps"] = steps;
  CHECK_THROWS_AS(read_calibration(json, path), InputError);
}

TEST_CASE("every shipped calibration names files that exist, with their hashes", "[unit]") {
  const std::filesystem::path root = test::data_dir();
  int files = 0;
  for (const auto& entry : std::filesystem::directory_iterator(root / "models" / "params")) {
    if (!entry.is_regular_file()) continue;
    const Calibration c = read_calibration(entry.path().string());
    INFO(c.path);
    CHECK(c.name == entry.path().stem().string());
    CHECK_FALSE(c.from.empty());
    for (const SourceFile& file : c.from) {
      INFO(file.path);
      REQUIRE(std::filesystem::exists(root / file.path));
      CHECK(sha256_of_file((root / file.path).string()) == file.sha256);
    }
    ++files;
  }
  CHECK(files >= 4);
}

TEST_CASE("every shipped calibration has parameters of its own, and a report of its fit", "[unit]") {
  const std::filesystem::path folder = std::filesystem::path(test::data_dir()) / "models" / "params";
  for (const auto& entry : std::filesystem::directory_iterator(folder)) {
    if (!entry.is_regular_file()) continue;
    INFO(entry.path());
    const Calibration c = read_calibration(entry.path().string());
    CHECK(std::any_of(c.parameters.begin(), c.parameters.end(),
                      [](const auto& item) { return !item.second.inherited(); }));
    const Json report = read_json_file((folder / "reports" / entry.path().filename()).string());
    CHECK(report["name"] == c.name);
    for (const auto& [name, errors] : report["standard_errors"].items()) CHECK(c.parameters.contains(name));
  }
}

TEST_CASE("a calibration with the report of its fit inside is read", "[unit]") {
  Json json = read_json_file(test::data_dir() + "/models/params/dgx2.json");
  CHECK_FALSE(json.contains("fit"));
  json["fit"] = {{"method", "as linkcast 0.1 wrote it"}};
  const auto path = std::filesystem::temp_directory_path() / "linkcast_calibration_with_fit.json";
  std::ofstream(path) << json;
  CHECK(read_calibration(path.string()).parameters.size() == json["parameters"].size());
  std::filesystem::remove(path);
}

TEST_CASE("every shipped parameter has an error, a known unit and a provenance", "[unit]") {
  for (const auto& entry :
       std::filesystem::directory_iterator(std::filesystem::path(test::data_dir()) / "models" / "params")) {
    if (!entry.is_regular_file()) continue;
    const Calibration c = read_calibration(entry.path().string());
    for (const auto& [name, p] : c.parameters) {
      INFO(c.name << " " << name);
      CHECK(p.value > 0);
      const ParameterRow* kind = find_parameter_row(name);
      REQUIRE(kind != nullptr);
      const bool learned = kind->of == ParameterOf::kLibrary && kind->unit == "1";
      const std::string tail = name.substr(name.rfind('_') + 1);
      const bool number = learned || tail == "steps" || tail == "share" || tail == "scale" || tail.ends_with("sigma") ||
                          (name.rfind("noise.", 0) == 0 && tail != "s");
      CHECK(p.unit == (tail == "Bps" ? "B/s" : number ? "1" : tail));
      CHECK((p.provenance == "fitted" || p.provenance.rfind("derived: ", 0) == 0 ||
             p.provenance.rfind("inherited:", 0) == 0 || p.provenance == "believed"));
      if (p.unit != "B" && !learned)
        CHECK(p.stderr_ >= 0.005 * p.value * (1 - 1e-9));  // what two occasions differ by, at least
    }
  }
}

}  // namespace linkcast::test::calibration_test
