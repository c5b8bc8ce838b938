// linkcast-bench --emulate, as far as it needs no GPU: what it reads of a study, asks NCCL for, and writes.
#include <set>

#include "calibrate/bench/emulation.hpp"
#include "calibrate/bench/record_file.hpp"
#include "tests/support/ask.hpp"
#include "tests/support/error_of.hpp"
#include "tests/unit/program.hpp"
#include "validate/emulation/compare.hpp"
#include "validate/emulation/study.hpp"

namespace linkcast::test::bench_emulation_test {
namespace {

namespace fs = std::filesystem;

const std::string kOnto = test::data_dir() + "/tests/input/nccl-topology-4-h200.xml";
const std::vector<std::string> kReal = {"0000:07:00.0", "0000:09:00.0", "0000:0b:00.0", "0000:0d:00.0"};

/// Of two topologies of three GPUs: two NVLinks, and none.
std::string written(const ScratchFolder& folder) {
  emulation::StudyRequest request{"hgx-h200", kOnto, "", "NVL", (folder / "study").string()};
  const auto all = emulation::graph_wishes(3);
  request.wishes = {all[1], all.front()};
  emulation::write_study(catalogue(), request);
  return request.out;
}

bench::Options options_in(const std::string& study) {
  bench::Options options;
  options.out = study + "/results";
  options.machine = options.topology = "hgx-h200";
  options.occasion = "first";
  options.nccl_env = {{"NCCL_NTHREADS", "256"}};
  return options;
}

void edit(const std::string& study, const std::function<void(Json&)>& change) {
  Json json = read_json_file(study + "/study.json");
  change(json);
  std::ofstream(study + "/study.json") << json.dump();
}

}  // namespace

TEST_CASE("each case of a study has NCCL's environment before it starts", "[unit]") {
  const ScratchFolder folder;
  const std::string study = written(folder);
  const auto cases = bench::emulated_cases(options_in(study), study, {}, kReal);
  REQUIRE(cases.size() == 2);
  std::set<std::string> files;
  for (const bench::Options& one : cases) {
    CHECK(one.occasion == "first-" + one.emulated);
    CHECK(one.emulated_gpus == std::vector<int>{0, 1, 2});
    CHECK(one.nccl_env.at("NCCL_P2P_LEVEL") == "NVL");
    CHECK(one.nccl_env.at("NCCL_NTHREADS") == "256");
    CHECK(one.nccl_env.count("NCCL_NVLS_ENABLE") == 0);  // off for every child
    CHECK(fs::exists(one.nccl_env.at("NCCL_TOPO_FILE")));
    for (const char* name : {"NCCL_TOPO_FILE", "NCCL_GRAPH_DUMP_FILE", "NCCL_DEBUG_FILE"}) {
      CHECK(fs::path(one.nccl_env.at(name)).is_absolute());
      CHECK(files.insert(one.nccl_env.at(name)).second);
    }
    CHECK(one.nccl_env.at("NCCL_GRAPH_DUMP_FILE").ends_with("results/" + one.emulated + ".first.graph.xml"));
  }
  const auto chosen = bench::emulated_cases(options_in(study), study, {cases[1].emulated}, kReal);
  REQUIRE(chosen.size() == 1);
  CHECK(chosen[0].emulated == cases[1].emulated);
  // On fewer GPUs another file, so that no comparison takes these graphs for the case's.
  const auto one = bench::emulated_cases(options_in(study), study, {}, {"0000:99:00.0"});
  CHECK(one[0].nccl_env.at("NCCL_GRAPH_DUMP_FILE").ends_with(one[0].emulated + ".first.of-1.xml"));
}

TEST_CASE("a study that cannot be run here is refused", "[unit]") {
  const ScratchFolder folder;
  const std::string study = written(folder);
  const auto error = [&](const std::vector<std::string>& only, const std::vector<std::string>& bus_ids) {
    return error_of([&] { bench::emulated_cases(options_in(study), study, only, bus_ids); });
  };
  CHECK(error({"nobody"}, kReal).find("has no case 'nobody'") != std::string::npos);
  CHECK(error({}, {"0000:07:00.0", "0000:0b:00.0", "0000:09:00.0"})
            .find("was written for a GPU 1 at 0000:09:00.0, and this machine has it at 0000:0b:00.0") !=
        std::string::npos);
  edit(study, [](Json& json) { json["cases"][0]["gpus"] = {0, 1, 7}; });
  CHECK(error({}, kReal).find("a GPU 7 at 0000:0b:00.0, and this machine has none") != std::string::npos);
  edit(study, [](Json& json) { json["environment"]["LD_PRELOAD"] = "x"; });
  CHECK(error({}, kReal).find("LD_PRELOAD: only NCCL_ variables are set") != std::string::npos);
  edit(study, [](Json& json) {
    json["environment"].erase("LD_PRELOAD");
    json["cases"][0].erase("bus_ids");
  });
  CHECK(error({}, kReal).find("bus_ids") != std::string::npos);
  edit(study, [](Json& json) { json["schema"] = "emulation/2"; });
  CHECK(error({}, kReal).find("is no study of schema emulation/1") != std::string::npos);
  CHECK(error_of([&] { bench::emulated_cases(options_in(study), "/nowhere", {}, kReal); }).find("cannot be read") !=
        std::string::npos);
}

TEST_CASE("what is measured of a case is what was forecast of it", "[unit]") {
  for (const int gpus : {2, 3, 4}) {
    std::set<std::pair<std::string, double>> asked, forecast;
    for (const bench::EmulatedCall& call : bench::emulated_calls(gpus))
      asked.insert({call.op, static_cast<double>(call.bytes)});
    for (const std::string& op : emulation::study_operations())
      for (const double size_B : emulation::study_sizes(op, gpus)) forecast.insert({op, size_B});
    CHECK(asked == forecast);
  }
}

TEST_CASE("the record of a case is compared with its forecast", "[unit]") {
  const ScratchFolder folder;
  const std::string study = written(folder);
  const auto cases = bench::emulated_cases(options_in(study), study, {}, kReal);
  fs::create_directories(study + "/results");
  const auto header = [](const bench::Options& one) {
    return bench::Json{{"schema", "measurement/1"},
                       {"id", one.machine + "-" + one.occasion + "-emulate"},
                       {"machine", one.machine},
                       {"topology", one.topology},
                       {"bench", "emulate"},
                       {"source", "a test"},
                       {"timing", "back_to_back"},
                       {"environment", bench::Json::object()},
                       {"method", bench::emulated_method(one, "2.28.9", "8")},
                       {"notes", bench::Json::array()}};
  };
  bench::RecordFile measured(study + "/results/a.json", header(cases[0]), false);
  for (const bench::EmulatedCall& call : bench::emulated_calls(3))
    measured.add({{"op", call.op}, {"gpus", {0, 1, 2}}, {"size_B", call.bytes}},
                 {{"status", "ok"}, {"time_s", {1e-3, 2e-3, 3e-3}}, {"verified", true}});
  measured.write();
  bench::RecordFile waived(study + "/results/b.json", header(cases[1]), false);
  waived.add({{"op", "all_reduce"}, {"gpus", {0, 1, 2}}, {"size_B", 8}},
             {{"status", "waived"}, {"reason", "needs 3 GPUs, this machine has 1"}});
  waived.write();
  const Json result = emulation::compare_study(study);
  CHECK(result["cases"][0]["times"].size() == bench::emulated_calls(3).size());
  CHECK(result["cases"][0]["times"][0]["measured_s"] == 2e-3);
  CHECK(result["cases"][1]["times"].empty());
  CHECK(result["cases"][1]["waived"] == "needs 3 GPUs, this machine has 1");
}

/// NCCL reads its variables once, so a wrong NCCL_TESTS or LINKCAST_BENCH must not run something else.
TEST_CASE("the script of a study runs what it is told to", "[unit]") {
  const ScratchFolder folder;
  const std::string study = written(folder), programs = (folder / "programs").string();
  fs::create_directories(programs);
  const auto program = [&](const std::string& name, const std::string& body) {
    std::ofstream(programs + "/" + name) << "#!/bin/sh\n" << body << "\n";
    fs::permissions(programs + "/" + name, fs::perms::owner_all);
  };
  const auto run = [&](const std::string& variables, const std::string& arguments) {
    const std::string command =
        "cd " + (folder / ".").string() + " && env " + variables + " sh study/run.sh " + arguments + " >out 2>err";
    return std::system(command.c_str()) >> 8;
  };
  CHECK(run("LINKCAST_BENCH=nowhere", "") == 2);
  program("bench", "echo \"$@\" >../said");
  CHECK(run("LINKCAST_BENCH=programs/bench", "second --resume --cases g3-01-x2") == 0);
  CHECK(text_of_file((folder / "said").string()) ==
        "--emulate . --out results --machine hgx-h200 --occasion second --resume --cases g3-01-x2\n");
  for (const std::string& op : emulation::study_operations())
    program(op + "_perf", "echo \"$NCCL_TOPO_FILE $NCCL_P2P_LEVEL $NCCL_NVLS_ENABLE $*\"");
  program("gather_perf", "exit 3");
  CHECK(run("NCCL_TESTS=programs", "") == 1);
  const std::string id = read_json_file(study + "/study.json")["cases"][0]["id"].get<std::string>();
  const std::string log = text_of_file(study + "/results/" + id + ".alltoall.first.log");
  CHECK(log.find("/" + id + ".xml NVL 0 -b 8 -e 1G -f 8 -g 3 -G 1") != std::string::npos);
  CHECK(fs::exists(study + "/results/" + id + ".gather.first.log.failed"));
  CHECK(fs::exists(study + "/results/" + id + ".scatter.first.log"));
}

}  // namespace linkcast::test::bench_emulation_test
