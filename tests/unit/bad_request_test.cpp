// Wrong requests to the real program: exit code 2, nothing on stdout, one line on stderr that names the option.
#include <string>
#include <vector>

#include "tests/support/catch.hpp"
#include "tests/unit/program.hpp"

namespace linkcast::test::bad_request_test {

namespace {

struct WrongRequest {
  std::string arguments;
  std::string error;  ///< beginning of the line after "error: "
};

const std::string kCopy = "predict p2p --platform p100-dgx1 --src gpu0 --dst gpu5 ";
const std::string kReduce = "predict collective --platform p100-dgx1 --size 1MiB ";
const std::string kFlows = "predict flows --platform p100-dgx1 ";
const std::string kFit = "calibrate fit --topology p100-dgx1 --out fit-must-not-write-this.json ";
const std::string kUnits = "B, kB, KB, MB, GB, TB, KiB, MiB, GiB, TiB";
const std::string kDevices = "gpu0, gpu1, gpu2, gpu3, gpu4, gpu5, gpu6, gpu7, cpu0, cpu1\n";
const std::string kNotFlow = " is not SRC:DST:SIZE, e.g. gpu0:gpu1:64MiB\n";
const std::string kNotGpus =
    " names no GPU: write 0, gpu0, 0-3, 0,1,4, a UUID (GPU-...) or a PCI bus id (0000:1b:00.0)\n";
const std::string kOneOrBatch = "predict: give one of p2p, flows, collective, or --batch FILE (see --help)\n";

void check_requests(const std::vector<WrongRequest>& rows) {
  for (const WrongRequest& row : rows) {
    INFO(row.arguments);
    const Run run = run_program(row.arguments);
    CHECK(run.code == 2);
    CHECK(run.out.empty());
    CHECK(lines_of(run.err) == 1);
    CHECK(run.err.substr(0, 7 + row.error.size()) == "error: " + row.error);
  }
}

}  // namespace

TEST_CASE("wrong sizes", "[unit][bad_input]") {
  check_requests({{kCopy + "--size=-1", "--size: '-1' is negative: a size is 0 or more\n"},
                  {kCopy + "--size 0", "--size: must be a whole number of bytes from 1 to 2^53\n"},
                  {kCopy + "--size 1e30B", "--size: '1e30B': must be at most 2^53 B\n"},
                  {kCopy + "--size 1.5", "--size: '1.5' has no unit: one of " + kUnits + " is needed\n"},
                  {kCopy + "--size 1.5B", "--size: '1.5B' is not a whole number of bytes\n"},
                  {kCopy + "--size 1Mb", "--size: '1Mb': unknown unit 'Mb' for a size: one of " + kUnits},
                  {kCopy + "--size big", "--size: 'big' is not a size: write a number and a unit (" + kUnits + ")\n"},
                  {kCopy + "-b 1M -e 1K", "--maxbytes: is below --minbytes\n"},
                  {kCopy + "-b 1M -e 2M -f 1", "--stepfactor: must be above 1\n"},
                  {kCopy + "-b 1M --size 1M", "--size: excludes --minbytes\n"},
                  {kCopy + "-b 1 -e 1T", "--maxbytes: more than 10000 sizes: use a larger step\n"},
                  {kReduce + "--op all_reduce --gpus 0-3 --size 0B", "--size"}});
}

TEST_CASE("the name of a GPU suggests the machines that have it", "[unit][bad_input]") {
  check_requests({{"show h100",
                   "unknown platform 'h100' (did you mean 'h100-nvl', 'h100-pcie', 'h100-pcie-nvlink', "
                   "'hgx-h100' or 'nd-h100-v5'?)"},
                  {"show a100",
                   "unknown platform 'a100' (did you mean 'a100-pcie', 'a100-pcie-nvlink', "
                   "'abci-a100', 'dgx-a100' or 'nd-a100-v4'?)"}});
}

TEST_CASE("wrong copies", "[unit][bad_input]") {
  const std::string copy = "predict p2p --platform p100-dgx1 --size 1MiB ";
  check_requests(
      {{"predict p2p --platform atari --src gpu0 --dst gpu1 --size 1MiB",
        "--platform: unknown platform 'atari': one of a100-pcie, a100-pcie-nvlink, a3-mega, a3-ultra, a4, a40, "
        "abci-a100"},
       {copy + "--src gpu9 --dst gpu0", "--src: 'gpu9' is no GPU or CPU of p100-dgx1: one of " + kDevices},
       {copy + "--src gpu0 --dst plx0", "--dst: 'plx0' is no GPU or CPU of p100-dgx1: one of " + kDevices},
       {copy + "--src cpu0 --dst cpu1", "command line: a copy needs a GPU at one end: cpu0 and cpu1 are none\n"},
       {copy + "--src cpu0 --dst cpu0", "command line: a copy needs a GPU at one end: cpu0 and cpu0 are none\n"},
       {copy + "--src gpu0 --dst cpu0 --transport peer",
        "command line: transport 'peer' cannot join gpu0 and cpu0: only host can\n"},
       {copy + "--src gpu0 --dst gpu0 --transport staged",
        "command line: transport 'staged' cannot join gpu0 and gpu0: only local can\n"},
       {copy + "--src gpu0 --dst gpu1 --transport host",
        "command line: transport 'host' cannot join gpu0 and gpu1: one of peer, relay, staged\n"},
       {kCopy + "--size 1MiB --transport peer",
        "command line: no peer access from gpu0 to gpu5 on p100-dgx1: use transport relay or staged\n"},
       {kCopy + "--size 1MiB --transport teleport",
        "--transport: 'teleport' is not allowed: one of local, peer, relay, staged, host\n"},
       {kCopy + "--size 1MiB --via gpu7", "--via: gpu7 has no direct link to both ends: one of gpu1, gpu4\n"},
       {kCopy + "--size 1MiB --via gpu12", "--via: 'gpu12' is no GPU or CPU of p100-dgx1: one of " + kDevices},
       {kCopy + "--size 1MiB --via gpu4 --transport staged", "--via: only transport relay goes through another GPU\n"},
       {kCopy + "--size 1MiB --engine steam", "--engine: 'steam' is not allowed: one of copy_engine, sm\n"},
       {kCopy + "--size 1MiB --solver oracle",
        "command line: unknown solver 'oracle'; known: fluid, fluid_simgrid, native\n"},
       {"routes --platform p100-dgx1 --src gpu0 --dst moon", "--dst: 'moon' is no GPU or CPU of p100-dgx1"},
       {"show atari", "unknown platform 'atari': one of "}});
}

TEST_CASE("what a file lacks is an error of the file, not of the command line", "[unit][bad_input]") {
  const Run run = run_program("predict collective -p gx8 --gpus 0,1 --op all_reduce --size 1MiB --beside incast:2");
  INFO(run.err);
  CHECK(run.code == 2);
  CHECK(run.err.find("command line") == std::string::npos);
  CHECK(run.err.find("topologies/gx8.json:/fabric: missing") != std::string::npos);
}

TEST_CASE("wrong flows", "[unit][bad_input]") {
  check_requests(
      {{kFlows + "--flow gpu0:gpu1", "--flow: 'gpu0:gpu1'" + kNotFlow},
       {kFlows + "--flow gpu0:gpu1:1MiB:fast", "--flow: 'gpu0:gpu1:1MiB:fast'" + kNotFlow},
       {kFlows + "--flow gpu0-gpu1-1MiB", "--flow: 'gpu0-gpu1-1MiB'" + kNotFlow},
       {kFlows + "--flow gpu0:gpu1:8Q", "--flow: '8Q': unknown unit 'Q' for a size: one of "},
       {kFlows + "--flow gpu0:gpu1:1MiB --flow gpu0:gpu8:1MiB", "--flow: 'gpu8' is no GPU or CPU of p100-dgx1"},
       {kFlows + "--flow gpu0:gpu1:0", "--flow: must be a whole number of bytes from 1 to 2^53\n"},
       {kFlows + "--flow gpu0:gpu1:1MiB --transport local",
        "--transport: 'local' is not allowed: one of peer, relay, staged\n"}});
}

TEST_CASE("wrong collectives", "[unit][bad_input]") {
  const std::string reduce = kReduce + "--op all_reduce ";
  check_requests(
      {{reduce + "--gpus 0-9", "--gpus: 8 is no GPU of p100-dgx1: 0 to 7\n"},
       {reduce + "--gpus 0,0", "--gpus: 0 is given twice\n"},
       {reduce + "--gpus 5", "--gpus: needs at least 2 GPUs\n"},
       {reduce + "--gpus 3-0", "--gpus: '3-0'" + kNotGpus},
       {reduce + "--gpus 0,", "--gpus: '0,'" + kNotGpus},
       {reduce + "--gpus=-1", "--gpus: '-1'" + kNotGpus},
       {reduce + "--gpus gpu0,gpux", "--gpus: 'gpu0,gpux'" + kNotGpus},
       {reduce + "--gpus 0-99999999999", "--gpus: '0-99999999999'" + kNotGpus},
       {kReduce + "--gpus 0-3 --op fold", "command line: unknown collective 'fold': one of all_gather, all_reduce, "},
       {reduce + "--gpus 0-3 --library telepathy", "command line: unknown library 'telepathy': one of "},
       {reduce + "--gpus 0-3 --library nccl-2.3 --protocol LL256", "command line: protocol 'LL256': nccl-2.3 has "},
       {reduce + "--gpus 0-3 --library nccl-2.3 --protocol LL128", "command line: protocol 'LL128': nccl-2.3 has "},
       {reduce + "--gpus 0-3 --algorithm star", "--algorithm: 'star' is not allowed: one of "},
       {"predict collective --platform alps --op all_reduce --size 1MiB --nodes 99999",
        "--nodes: must be 1 to 2688, as many as the fabric joins; edit 'network NAME:nodes=99999' makes a larger one, "
        "NAME of 'linkcast list networks'\n"},
       {"rings --platform p100-dgx1 --gpus 1", "--gpus: needs at least 2 GPUs\n"},
       {"rings --platform p100-dgx1 --gpus 1-8", "--gpus: 8 is no GPU of p100-dgx1: 0 to 7\n"}});
}

TEST_CASE("wrong use of the command line", "[unit][bad_input]") {
  check_requests(
      {{"", "a command is needed, or a log: list, show"},
       {"forecast", "unknown subcommand 'forecast'"},
       {"predict", kOneOrBatch},
       {"predict --batch tests/input/batch_mixed.jsonl p2p --platform p100-dgx1 --src gpu0 --dst gpu1 --size 1B",
        kOneOrBatch},
       {"predict --batch absent.jsonl", "--batch: absent.jsonl: no such file, or not readable\n"},
       {"predict --batch tests", "--batch: tests: is a folder, not a file\n"},
       {kCopy, "--size is required"},
       {kCopy + "--size 1B --speed", "unknown option --speed (see --help)"},
       {kFlows, "--flow is required"},
       {"list planets", "what: 'planets' is not allowed"},
       {"show p100-dgx1 --json --dot", "--"},
       {"validate NO-SUCH-CLAIM", "validate: unknown claim 'NO-SUCH-CLAIM', see 'linkcast list claims'\n"},
       {"validate X --against calibrate/data/p100-dgx1/p2p-matrix.json",
        "validate: give claims or --against, not both\n"},
       {"validate --class planets", "--class: no claim is of class 'planets'\n"},
       {"validate --median-limit 0.1", "--median-limit requires --against"},
       {"validate --against calibrate/data/p100-dgx1/p2p-matrix.json --median-limit=-1",
        "--median-limit: must be 0 or more, e.g. 0.02\n"},
       {"validate --against calibrate/data/p100-dgx1/p2p-matrix.json TPDS-001",
        "validate: TPDS-001 is a claim, and no file: give claims or measurements, not both\n"},
       {"validate --against tests/input/import/p2p-p100-cuda8.txt",
        "tests/input/import/p2p-p100-cuda8.txt: is what p2pBandwidthLatencyTest prints: 'linkcast import "
        "p2pBandwidthLatencyTest' makes a measurement of it, 'linkcast diagnose' takes it as it is\n"},
       {"validate --against absent.json", "absent.json: no such file, or not readable\n"},
       {"--data-dir tests list platforms", "tests: not a linkcast data folder: it has no topologies/\n"},
       {"check", "file is required"}});
}

TEST_CASE("fits that must be refused", "[unit][bad_input]") {
  const std::string input = "tests/input/fail_fit_";
  const std::string data = "calibrate/data/p100-dgx1/p2p-matrix.json";
  check_requests(
      {{kFit + input + "one_small_copy.json",
        "calibrate fit: the peer copies determine no rate: copies of 4 MiB a link or more are needed\n"},
       {kFit + input + "time_does_not_grow.json", input + "time_does_not_grow.json: the time of peer copies does not "
                                                          "grow with their size: larger copies are needed\n"},
       {kFit + input + "nothing_determined.json", "calibrate fit: these data determine nothing; needed for "},
       {kFit + input + "only_host_copies.json", "calibrate fit: the d2h copies determine no rate: "},
       {kFit + input + "cpu_as_peer.json", input + "cpu_as_peer.json:/points/0: 'cpu0' is no GPU: "},
       {kFit + input + "unknown_device.json",
        input + "unknown_device.json:/points/0: 'gpu9' is no device of topology p100-dgx1\n"},
       {kFit + input + "no_peer_access.json", input + "no_peer_access.json:/points/0: topology p100-dgx1 gives these "
                                                      "two GPUs no peer access: where they have it, "
                                                      "pcie_peer of the topology is same_socket or all\n"},
       {kFit + input + "via_without_link.json",
        input + "via_without_link.json:/points/0: topology p100-dgx1 has no direct link from via to both ends\n"},
       {kFit + data + " --inherit absent.json", "absent.json: no such file, or not readable\n"},
       {kFit + "absent.json", "absent.json: no such file, or not readable\n"},
       {"calibrate fit " + data + " --topology dgx2 --out x.json",
        data + ":/topology: is 'p100-dgx1', the fit is for 'dgx2'\n"},
       {"calibrate fit " + data + " --topology p100-dgx1 --out absent/x.json",
        "--out: absent/x.json: cannot be written\n"},
       {"calibrate fit " + data + " --topology p100-dgx1", "--out: where the calibration goes"}});
  CHECK_FALSE(std::filesystem::exists(test::data_dir() + "/fit-must-not-write-this.json"));
}

}  // namespace linkcast::test::bad_request_test
