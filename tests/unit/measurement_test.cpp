// The reader of schema measurement/1. What it refuses stands in bad_input_test.cpp, one file a defect.
#include "sim/records/measurement.hpp"

#include "sim/base/file_hash.hpp"
#include "sim/machine/topology.hpp"
#include "sim/records/calibration.hpp"
#include "sim/records/launch_record.hpp"
#include "sim/records/nccl_choices.hpp"
#include "tests/support/catch.hpp"
#include "tests/support/error_of.hpp"
#include "tests/unit/program.hpp"

namespace linkcast::test::measurement_test {

namespace {

const std::string kInput = test::data_dir() + "/tests/input/";

}  // namespace

TEST_CASE("a measurement keeps every repetition", "[unit]") {
  const Measurement m = read_measurement(kInput + "pass_measurement.json");
  CHECK(m.id == "pair-copies");
  CHECK(m.machine == "pair");
  CHECK(m.topology == "p100-dgx1");
  CHECK(m.bench == "p2p_copy");
  CHECK(m.source == "made for tests");
  CHECK(m.timing == "single");
  CHECK(m.notes.empty());
  CHECK(m.path == kInput + "pass_measurement.json");
  CHECK(m.sha256 == sha256_of_file(m.path));
  REQUIRE(m.points.size() == 3);
  CHECK(m.points[0].transport == "peer");
  CHECK(m.points[0].source == "gpu0");
  CHECK(m.points[0].target == "gpu1");
  CHECK(m.points[0].via.empty());
  CHECK_FALSE(m.points[0].bidirectional);
  CHECK(m.points[0].size_B == 1);
  CHECK(m.points[0].time_s == std::vector<double>{1e-5, 1.1e-5});
  CHECK(m.points[1].via == "gpu1");
}

TEST_CASE("a printed bandwidth becomes a time, its payloads counted", "[unit]") {
  const Measurement m = read_measurement(kInput + "pass_measurement.json");
  REQUIRE(m.points[2].time_s.size() == 1);
  // 40 MB read and written at 500 GB/s: 2 x 40e6 / 500e9 s
  CHECK_THAT(m.points[2].time_s[0], WithinRel(160e-6, 1e-15));
}

TEST_CASE("notes and flags are optional", "[unit]") {
  const test::ScratchFolder scratch;
  std::ofstream(scratch / "m.json") << R"({"schema": "measurement/1", "id": "i", "machine": "m", "topology": "t",
    "bench": "b", "source": "s", "timing": "back_to_back", "environment": {"any": 1}, "method": {}, "notes": ["n"],
    "points": [{"transport": "host", "source": "gpu0", "target": "host", "bidirectional": true, "size_B": 8,
                "bandwidth_Bps": [2]}]})";
  const Measurement m = read_measurement((scratch / "m.json").string());
  CHECK(m.notes == std::vector<std::string>{"n"});
  CHECK(m.points[0].bidirectional);
  CHECK(m.points[0].time_s == std::vector<double>{4});
}

TEST_CASE("the precision of printed figures, and processes that share a device", "[unit]") {
  const test::ScratchFolder scratch;
  std::ofstream(scratch / "m.json") << R"({"schema": "measurement/1", "id": "i", "machine": "m", "topology": "t",
    "bench": "b", "source": "s", "timing": "single", "precision": 0.05, "environment": {}, "method": {},
    "points": [{"transport": "mpi", "source": "cpu0", "target": "cpu0", "size_B": 8, "time_s": [1e-6]}]})";
  const Measurement m = read_measurement((scratch / "m.json").string());
  CHECK(m.precision == 0.05);
  CHECK(m.points.size() == 1);
  CHECK(read_measurement(kInput + "pass_measurement.json").precision == 0);
}

TEST_CASE("every committed measurement is read", "[unit]") {
  int files = 0;
  for (const auto& entry : std::filesystem::recursive_directory_iterator(test::data_dir() + "/calibrate/data")) {
    if (entry.path().extension() != ".json") continue;
    INFO(entry.path().string());
    const Json schema = read_json_file(entry.path().string()).at("schema");
    if (schema == "launch/1")
      CHECK_NOTHROW(read_launch_record(entry.path().string()));
    else if (schema == "nccl-choices/1")
      CHECK(!read_nccl_choices(entry.path().string()).empty());
    else if (schema == "left-out/1")
      CHECK_NOTHROW(read_left_out(entry.path().string()));
    else if (schema == "topology/1")
      CHECK(!read_topology(entry.path().string()).gpus().empty());
    else if (schema == "discovery/1")
      continue;  // lint.records
    else
      CHECK_NOTHROW(read_measurement(entry.path().string()));
    ++files;
  }
  CHECK(files >= 6);
}

TEST_CASE("a record of NCCL's choices is read strictly", "[unit]") {
  const ScratchFolder folder;
  const std::string file = (folder / "choices.json").string();
  const auto error_of_case = [&](const std::string& tuner, const std::string& calls) {
    std::ofstream(file) << R"({"schema":"nccl-choices/1","source":"s","cases":[{"platform":"p","version":"2.28.9",)"
                        << R"("nodes":1,"gpus":2,"graphs":[],"rings":[[0,1]],"tuner":[)" << tuner
                        << R"(],"choices":[{"op":"all_reduce","calls":[)" << calls << "]}]}]}";
    return error_of([&] { read_nccl_choices(file); });
  };
  CHECK(error_of_case(R"(["all_reduce","Ring","LL",6.6,39])", R"([8,"RING","LL",1])") == "no error");
  CHECK(error_of_case(R"(["all_reduce","Loop","LL",6.6,39])", "").find("/cases/0/tuner") != std::string::npos);
  CHECK(error_of_case(R"(["all_reduce","Ring","LL",6.6])", "").find("/cases/0/tuner") != std::string::npos);
  CHECK(error_of_case("", R"([8,"RING","LL9",1])").find("/cases/0/choices/0/calls") != std::string::npos);
  CHECK(error_of_case("", R"(["8","RING","LL",1])").find("/cases/0/choices/0/calls") != std::string::npos);
}

}  // namespace linkcast::test::measurement_test
