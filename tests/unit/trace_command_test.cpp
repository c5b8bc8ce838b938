// check, list and replay with traces, by the real program.
#include "sim/records/object_reader.hpp"
#include "tests/support/catch.hpp"
#include "tests/unit/program.hpp"

using namespace linkcast;
using namespace linkcast::test;

namespace {

const std::string kHeader =
    R"({"schema":"trace/1","name":"two","ranks":2,"source":"by hand","groups":{"all":[0,1],"one":[1]}})"
    "\n";

/// What check says of a trace with these events; FILE stands for its path.
std::string checked(const std::string& events) {
  const ScratchFolder scratch;
  const std::string path = (scratch / "a.jsonl").string();
  std::ofstream(path) << kHeader << events;
  const Run run = run_program("check '" + path + "'");
  std::string said = run.code == 0 ? run.out : run.err;
  CHECK((run.code == 0 || run.code == 2));
  for (auto at = said.find(path); at != std::string::npos; at = said.find(path)) said.replace(at, path.size(), "FILE");
  return said;
}

}  // namespace

TEST_CASE("check reads traces, and looks at the whole of them", "[unit][trace]") {
  const auto reduce = [](int rank) {
    return R"({"rank":)" + std::to_string(rank) +
           R"(,"kind":"collective","op":"all_reduce","group":"all","size_B":8})" + "\n";
  };
  CHECK(checked(reduce(0) + reduce(1)) == "FILE: ok, trace/1 (2 events of 2 ranks)\n");
  CHECK(checked(reduce(0)) == "error: FILE: group 'all': rank 0 calls 1 collectives, rank 1 calls 0\n");
  CHECK(checked(R"({"rank":0,"kind":"collective","op":"all_reduce","group":"one","size_B":8})") ==
        "error: FILE line 2:/group: rank 0 is not in 'one'\n");
  CHECK(checked(R"({"rank":1,"kind":"collective","op":"allreduce","group":"one","size_B":8})")
            .rfind("error: FILE line 2:/op: 'allreduce' is no collective: one of all_gather, all_reduce", 0) == 0);
  CHECK(checked(R"({"rank":0,"kind":"send","peer":1,"size_B":8,"tag":"x"})") ==
        "error: FILE: rank 0 to rank 1 with tag 'x': 1 more sends than receives\n");
  CHECK(checked("\n"
                R"({"rank":0,"kind":"compute","time_s":-1})") == "error: FILE line 3:/time_s: must not be negative\n");
  CHECK(checked(R"({"rank":0,"kind":"compute","time_s":1,"extra":2})").find("FILE line 2:/extra: ") !=
        std::string::npos);
}

TEST_CASE("shipped traces are listed, and replayed by name", "[unit][trace]") {
  const ScratchFolder scratch;
  const std::filesystem::path data = scratch / "data";
  std::filesystem::create_directories(data / "apps-traces" / "samples");
  for (const std::string folder : {"topologies", "models", "validate"})
    std::filesystem::create_directory_symlink(LINKCAST_DATA_DIR "/" + folder, data / folder);
  std::ofstream(data / "apps-traces" / "samples" / "mine.jsonl")
      << kHeader << R"({"rank":1,"kind":"compute","time_s":0.25})" << '\n';
  const std::string option = "--data-dir '" + data.string() + "' ";
  const Run list = run_program(option + "list traces --json");
  REQUIRE(list.code == 0);
  const Json traces = Json::parse(list.out)["traces"];
  CHECK(traces[0] == Json({{"name", "mine"}, {"summary", "2 ranks: two"}, {"source", "by hand"}}));
  CHECK(traces.size() > 1);  // applications
  const Run run = run_program(option + "replay mine --platform hgx-h200 --json");
  REQUIRE(run.code == 0);
  CHECK(Json::parse(run.out)["makespan_s"].get<double>() == 0.25);
  CHECK(run_program(option + "replay yours --platform hgx-h200")
            .err.rfind("error: trace: 'yours' is no file, no shipped trace and no application: one of mine, ", 0) == 0);
  CHECK(run_program(option + "replay mine --option x=1 --platform hgx-h200").err ==
        "error: --option: mine is no application: only those take options\n");
  CHECK(run_program(option + "replay data_parallel --option ranks=2 --platform hgx-h200").code == 0);
}
