// Wrong files through `linkcast check`: exit code 2, nothing on stdout, one line on stderr with file and JSON pointer.
// Each tests/input/fail_*.json has one defect; tests/input/pass_*.json are the same files without it.
#include <set>
#include <string>
#include <vector>

#include "tests/support/catch.hpp"
#include "tests/unit/program.hpp"

namespace linkcast::test::bad_input_test {

namespace {

struct WrongFile {
  std::string name;   ///< without fail_ and .json
  std::string error;  ///< what follows the name of the file
};

const std::string kNoObject = "must be an object, not ";
const std::string kBandwidths = "B/s, kB/s, MB/s, GB/s, TB/s, KiB/s, MiB/s, GiB/s, Mb/s, Gb/s, Tb/s";
const std::string kSchemas =
    "topology/1, variant/1, measurement/1, launch/1, discovery/1, calibration/1, fit-report/1, left-out/1, claims/1, "
    "node-groups/1, "
    "nccl-choices/1";
const std::string kNoSubject = ": names no transport, cable kind, cable or link of topology p100-dgx1";

const std::vector<WrongFile> kTopologies = {
    {"unknown_key",
     ":/cables/0/bandwith: unknown key (did you mean 'bandwidth'?); known here: bandwidth, between, count, kind, "
     "source"},
    {"missing_key", ":/title: missing key"},
    {"duplicate_key", ":/cables/0/kind: duplicate key"},
    {"wrong_unit",
     ":/cables/0/bandwidth: '20 GB': unknown unit 'GB' for a bandwidth: one of " + kBandwidths + " is allowed"},
    {"no_unit", ":/cables/0/bandwidth: '20' has no unit: one of " + kBandwidths + " is needed"},
    {"bare_number", ":/cables/0/bandwidth: must be a string"},
    {"zero_bandwidth", ":/cables/0/bandwidth: must be above 0"},
    {"negative_bandwidth", ":/cables/0/bandwidth: '-20 GB/s' is negative: a bandwidth is 0 or more"},
    {"duplicate_device", ":/devices/4/id: duplicate device 'cpu0'"},
    {"device_kind", ":/devices/3/kind: 'router' is not allowed: one of gpu, cpu, pcie_switch, nvswitch, nic, switch"},
    {"device_no_object", ":/devices/3: " + kNoObject + "string"},
    {"vendor", ":/devices/2/vendor: 'cyrix' is not allowed: one of intel, amd, ibm, arm"},
    {"cable_to_unknown_device", ":/cables/2/between/1: no device 'plx7' above"},
    {"cable_to_itself", ":/cables/0/between: a cable joins two different devices"},
    {"cable_with_three_ends", ":/cables/0/between: must name two devices"},
    {"cable_twice", ":/cables: 'gpu1-gpu0' (nvlink1) is listed twice: give it once with a count"},
    {"cable_kind",
     ":/cables/0/kind: unknown cable kind 'string': nvlink*, infinity_fabric, infinity_fabric_gpu*, "
     "infinity_fabric_host, "
     "c2c, pcie*, qpi, upi, xbus, nvlink_cpu, infinity_fabric_cpu, ib_*, roce_*, slingshot*, efa_*, ethernet*, apelink "
     "are known"},
    {"count_zero", ":/cables/0/count: must be at least 1"},
    {"count_fraction", ":/cables/0/count: must be a whole number"},
    {"empty_source", ":/cables/0/source: a rate without a source is not accepted"},
    {"gpu_gap", ":/devices: gpu1 is missing: gpus count from 0 without gaps"},
    {"gpu_name", ":/devices/4/id: 'gpu-a': a gpu is called gpu<number>"},
    {"gpu_leading_zero", ":/devices/4/id: 'gpu01': a gpu is called gpu<number>"},
    {"gpu_without_sm", ":/devices/0/sm: a gpu needs its compute capability x 10, e.g. 60"},
    {"no_gpu", ":/devices: no gpu"},
    {"engine_of_gpu", ":/devices/0/engine: belongs to a nic"},
    {"engine_zero", ":/devices/4/engine/packet: must be above 0"},
    {"pcie_peer", ":/pcie_peer: 'some' is not allowed: one of none, same_socket, all"},
    {"version", ":/schema: 'topology/2' is not allowed (did you mean 'topology/1'?): one of " + kSchemas},
    {"no_schema", ":/schema: missing key"}};

const std::vector<WrongFile> kMeasurements = {
    {"time_and_bandwidth", ":/points/0: exactly one of time_s and bandwidth_Bps is needed"},
    {"neither_time_nor_bandwidth", ":/points/0: exactly one of time_s and bandwidth_Bps is needed"},
    {"negative_time", ":/points/0/time_s/1: must be above 0"},
    {"time_text", ":/points/0/time_s: must be an array of which each element is a number"},
    {"no_repetition", ":/points/0/time_s: must hold at least one repetition"},
    {"no_points", ":/points: holds no point"},
    {"relay_without_via", ":/points/1/via: a relay needs the relaying device, no other transport has one"},
    {"via_without_relay", ":/points/0/via: a relay needs the relaying device, no other transport has one"},
    {"local_between_two",
     ":/points/2/target: source and target are the same device for local copies, and only for those"},
    {"size_zero", ":/points/0/size_B: must be at least 1"},
    {"payload_count_zero", ":/points/2/payload_count: must be above 0"},
    {"transport",
     ":/points/0/transport: 'teleport' is not allowed: one of local, peer, relay, staged, host, mpi, "
     "gpudirect_rdma, pinned_gpudirect, pinned, unpinned_gpudirect, unpinned"},
    {"precision", ":/precision: must be 0 or more and below 1"},
    {"timing", ":/timing: 'sometimes' is not allowed: one of back_to_back, single"},
    {"version", ":/schema: 'measurement/0' is not allowed (did you mean 'measurement/1'?): one of " + kSchemas}};

const std::vector<WrongFile> kDiscoveries = {
    {"version", ":/schema: 'discovery/2' is not allowed (did you mean 'discovery/1'?): one of " + kSchemas},
    {"unknown_key",
     ":/points/0/watts: unknown key; known here: copy_engines, device, model, multiprocessors, numa_node, nvlinks, "
     "pci, "
     "pci_path, pcie_generation, pcie_width, sm, status"},
    {"missing_key", ":/points/1/numa_node: missing key"},
    {"remote_kind", ":/points/0/nvlinks/1/remote_kind: 'router' is not allowed: one of gpu, npu, switch, unknown"},
    {"link_twice", ":/points/0/nvlinks/1/link: is listed twice"},
    {"gpu_gap", ":/points: gpu1 is missing: gpus count from 0 without gaps"},
    {"gpu_twice", ":/points/1/device: is listed twice"},
    {"gpu_name", ":/points/1/device: 'gpu01': a gpu is called gpu<number>"},
    {"gpu_waived", ":/points: gpu0 was waived: gpus count from 0 without gaps"},
    {"pair_of_one", ":/points/2/target: a pair is two different GPUs"},
    {"pair_twice", ":/points/3: this pair is listed twice"},
    {"pair_unknown", ":/points: gpu7 of a pair is not among the devices"},
    {"pcie_generation", ":/points/0/pcie_generation: no such generation is known; 0 says that it could not be read"},
    {"pcie_width", ":/points/0/pcie_width: must be at most 32"},
    {"numa_node", ":/points/0/numa_node: must be at most 1023"},
    {"sm", ":/points/0/sm: must be at least 1"},
    {"status", ":/points/0/status: 'fine' is not allowed: one of ok, waived"},
    {"no_points", ":/points: holds no point"}};

const std::vector<WrongFile> kCalibrations = {
    {"unit", ":/parameters/transport.peer.r0.startup_s/unit: 'us' is not allowed: one of s, B, B/s, 1"},
    {"negative_stderr", ":/parameters/transport.peer.r0.startup_s/stderr: must be 0 or more"},
    {"negative_startup", ":/parameters/transport.peer.r0.startup_s/value: must be 0 or more"},
    {"zero_bandwidth", ":/parameters/cable.nvlink1.bandwidth_Bps/value: a bandwidth must be above 0"},
    {"no_provenance", ":/parameters/cable.nvlink1.bandwidth_Bps/provenance: missing key"},
    {"range", ":/valid_for/to_B: must not be below from_B"},
    {"sigma", ":/scatter/0/sigma_log: must be 0 to 100"},
    {"correlation", ":/correlation/lower: row 1 must have 1 numbers"},
    {"correlation_of", ":/correlation/names: 'transport.peer.r0.flat_s' is none of the parameters"},
    {"unknown_cable", ":/parameters/cable.pcie3@gpu0-plx9.duplex_Bps" + kNoSubject},
    {"unknown_link", ":/parameters/link.gpu0->plx3.bandwidth_Bps" + kNoSubject},
    {"unknown_cable_kind", ":/parameters/cable.nvlink9.bandwidth_Bps" + kNoSubject}};

void require_refused(const Run& run) {
  CHECK(run.code == 2);
  CHECK(run.out.empty());
  CHECK(lines_of(run.err) == 1);
  CHECK(run.err.rfind("error: ", 0) == 0);
}

void check_files(const std::string& schema, const std::vector<WrongFile>& rows) {
  for (const WrongFile& row : rows) {
    const std::string file = "tests/input/fail_" + schema + "_" + row.name + ".json";
    INFO(file);
    const Run run = run_program("check " + file);
    require_refused(run);
    CHECK(run.err == "error: " + file + row.error + "\n");
  }
}

}  // namespace

TEST_CASE("wrong topologies are refused in one line", "[unit][bad_input]") { check_files("topology", kTopologies); }
TEST_CASE("wrong measurements are refused in one line", "[unit][bad_input]") {
  check_files("measurement", kMeasurements);
}
TEST_CASE("wrong discoveries are refused in one line", "[unit][bad_input]") { check_files("discovery", kDiscoveries); }
TEST_CASE("wrong calibrations are refused in one line", "[unit][bad_input]") {
  check_files("calibration", kCalibrations);
}

TEST_CASE("what is no JSON object is refused in one line", "[unit][bad_input]") {
  // The parser's own words differ between versions of nlohmann_json; where it stopped does not.
  const std::vector<std::pair<std::string, std::string>> rows = {
      {"tests/input/fail_truncated.json", "not JSON: parse error at line 30, column 8: "},
      {"tests/input/fail_not_json.json", "not JSON: parse error at line 1, column 1: "},
      {"tests/input/fail_empty.json", "not JSON: parse error at line 1, column 1: "},
      {"tests/input/fail_overflow.json", "not JSON: "},
      {"tests/input", "is a folder, not a file\n"},
      {"tests/input/absent.json", "no such file, or not readable\n"}};
  for (const auto& [file, error] : rows) {
    INFO(file);
    const Run run = run_program("check " + file);
    require_refused(run);
    CHECK(run.err.rfind("error: " + file + ": " + error, 0) == 0);
  }
  const Run array = run_program("check tests/input/fail_array.json");
  require_refused(array);
  CHECK(array.err == "error: tests/input/fail_array.json:/: must be an object, not array\n");
}

TEST_CASE("a calibration next to a topology of another name is refused", "[unit][bad_input]") {
  const Run run = run_program("--data-dir tests/input/other-topology show pair");
  require_refused(run);
  CHECK(run.err ==
        "error: tests/input/other-topology/models/params/pair.json:/topology: is for 'pair', not for 'another-pair'\n");
}

TEST_CASE("every wrong file stands in a table, and the files without a defect pass", "[unit][bad_input]") {
  std::set<std::string> known = {"fail_truncated", "fail_not_json", "fail_empty", "fail_overflow", "fail_array"};
  for (const WrongFile& row : kTopologies) known.insert("fail_topology_" + row.name);
  for (const WrongFile& row : kMeasurements) known.insert("fail_measurement_" + row.name);
  for (const WrongFile& row : kDiscoveries) known.insert("fail_discovery_" + row.name);
  for (const WrongFile& row : kCalibrations) known.insert("fail_calibration_" + row.name);
  int passing = 0;
  for (const auto& entry : std::filesystem::directory_iterator(test::data_dir() + "/tests/input")) {
    const std::string name = entry.path().stem().string();
    INFO(name);
    if (name.rfind("fail_fit_", 0) == 0) continue;  // right as files, wrong to fit: bad_request_test.cpp
    if (name.rfind("fail_", 0) == 0) CHECK(known.count(name) == 1);
    if (name.rfind("pass_", 0) != 0) continue;
    const Run run = run_program("check tests/input/" + name + ".json");
    CHECK(run.code == 0);
    CHECK(run.err.empty());
    CHECK(run.out.rfind("tests/input/" + name + ".json: ok, " + name.substr(5), 0) == 0);
    ++passing;
  }
  CHECK(passing == 4);
}

TEST_CASE("files that are right are reported, wrong ones are counted", "[unit][bad_input]") {
  const Run run = run_program("check tests/input/pass_topology.json tests/input/fail_topology_no_gpu.json");
  CHECK(run.code == 2);
  CHECK(run.out == "tests/input/pass_topology.json: ok, topology/1\n");
  CHECK(run.err == "warning: tests/input/fail_topology_no_gpu.json:/devices: no gpu\nerror: 1 of 2 files are wrong\n");
}

}  // namespace linkcast::test::bad_input_test
