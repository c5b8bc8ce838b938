// Traces in the forms that other programs write them.
#include "tests/unit/trace_import.hpp"

namespace linkcast::test::their_traces_test {

namespace {

// Written with the messages of the package mlc-chakra 1.0.0: metadata, a COMP_NODE of 250 us with a list as attribute,
// an ALL_REDUCE of 4096 bytes (comm_type as int64, comm_size as uint64), a COMM_SEND_NODE (int32).
const std::string kChakra =
    "190a05302e302e3412100a06736368656d61ea0105312e312e3036080212086174656e3a3a6d6d180438fa0142040a025b5d"
    "520e0a0969735f6370755f6f70d80100520d0a0573697a657352040a020102480803120f6e63636c3a616c6c5f7265647563"
    "6518072a0102385a520d0a09636f6d6d5f747970654800520e0a09636f6d6d5f73697a65688020520d0a0770675f6e616d65"
    "ea010130380804120473656e6418052a0103520c0a08636f6d6d5f6473743800520c0a08636f6d6d5f7461673807520d0a09"
    "636f6d6d5f73697a656840";

std::string of_hex(const std::string& hex) {
  std::string bytes;
  for (std::size_t i = 0; i + 1 < hex.size(); i += 2)
    bytes += static_cast<char>(std::stoi(hex.substr(i, 2), nullptr, 16));
  return bytes;
}

// As protobuf writes messages as JSON: one after another, 64-bit numbers as strings, names in camel case.
const std::string kChakraJson = R"({
  "version": "0.0.4"
}{
  "id": "2", "name": "aten::mm", "type": "COMP_NODE", "durationMicros": "250",
  "attr": [{"name": "is_cpu_op", "boolVal": false}, {"name": "sizes", "int64List": {"values": ["1", "2"]}}]
}{
  "id": "3", "name": "nccl:all_reduce", "type": "COMM_COLL_NODE", "dataDeps": ["2"], "durationMicros": "90",
  "attr": [{"name": "comm_type", "int64Val": "0"}, {"name": "comm_size", "uint64Val": "4096"},
           {"name": "pg_name", "stringVal": "0"}]
}{
  "id": "4", "name": "send", "type": "COMM_SEND_NODE", "dataDeps": ["3"],
  "attr": [{"name": "comm_dst", "int32Val": 0}, {"name": "comm_tag", "int32Val": 7},
           {"name": "comm_size", "uint64Val": "64"}]
})";

void check_chakra(const Kept& trace) {
  REQUIRE(trace.events.size() == 3);
  CHECK(trace.events[0].time_s == 250e-6);
  CHECK(trace.events[0].stream == "gpu");
  CHECK(trace.events[1].op == "all_reduce");
  CHECK(trace.events[1].size_B == 4096);
  CHECK(trace.events[1].after == std::vector<std::int64_t>{1});
  CHECK(trace.events[2].kind == TraceKind::kSend);
  CHECK(trace.events[2].tag == "7");
}

}  // namespace

TEST_CASE("chakra: messages of the package that carries the schema", "[trace][import]") {
  check_chakra(*trace_of("chakra", of_hex(kChakra)));
}

TEST_CASE("chakra: the JSON form, one after another, a line each, in an array", "[trace][import]") {
  check_chakra(*trace_of("chakra", kChakraJson));
  std::string array = kChakraJson;
  for (auto at = array.find("}{"); at != std::string::npos; at = array.find("}{")) array.replace(at, 2, "},\n{");
  check_chakra(*trace_of("chakra", "[" + array + "]"));
  check_chakra(*trace_of("chakra", array));
  CHECK(trace_error("chakra", R"({"id": 1, "type": "FAST_NODE"})") == "FILE:/0/type: 'FAST_NODE' is no type of node");
  CHECK(trace_error("chakra", R"({"id": 1, "type": 4}{"id": "x"})") == "FILE:/1/id: must be a whole number");
  CHECK(trace_error("chakra", R"({"id": 1, "type": 4}{"id": )") == "FILE: object 2 is not whole JSON");
  check_mutations("chakra", kChakraJson, 500);
}

TEST_CASE("nccl-log: lines that processes glued together, with prefixes", "[trace][import]") {
  const std::string clean =
      text_of_file(trace_sample("nccl-log-rank0.txt")) + text_of_file(trace_sample("nccl-log-rank1.txt"));
  const auto whole = trace_of("nccl-log", clean);
  // every second end of a line is lost, and all of them stand behind a launcher's tag
  std::string glued = "[1,0]<stdout>:";
  bool lost = false;
  for (std::size_t i = 0; i < clean.size(); ++i) {
    const bool before_nccl = clean.substr(i + 1, 300).find("NCCL INFO") < clean.substr(i + 1, 300).find('\n');
    if (clean[i] != '\n' || !before_nccl || (lost = !lost)) {
      glued += clean[i];
      if (clean[i] == '\n') glued += "[1,0]<stdout>:";
    }
  }
  REQUIRE(std::count(glued.begin(), glued.end(), '\n') < std::count(clean.begin(), clean.end(), '\n'));
  const auto apart = trace_of("nccl-log", glued);
  CHECK(apart->text == whole->text);
}

TEST_CASE("kineto: one rank of many, kernel names of 2023, described by operators", "[trace][import]") {
  const auto trace = imported_trace("kineto", {trace_sample("kineto-one-of-many.json")});
  CHECK(trace->head.ranks == 1);
  CHECK(trace->notes("one rank (5) of 128 alone"));
  CHECK(trace->notes("of different sizes"));
  CHECK(trace->notes("left out: 1 sends and receives"));
  REQUIRE(trace->events.size() == 3);
  CHECK(trace->events[0].time_s == 250e-6);
  CHECK(trace->events[1].op == "all_reduce");
  CHECK(trace->events[1].size_B == 2 * 1048576);  // BFloat16
  CHECK(trace->head.groups.at(trace->events[1].group) == std::vector<int>{0});
}

TEST_CASE("kineto: a shortened list of ranks counts where the group is the whole job", "[trace][import]") {
  std::string text = text_of_file(trace_sample("kineto-one-of-many.json"));
  text.replace(text.find("\"Group size\": 128"), 17, "\"Group size\": 64");
  CHECK(trace_error("kineto", text) ==
        "FILE:/traceEvents/4: args: 'Process Group Ranks' does not name as many ranks as 'Group size' says");
}

TEST_CASE("pytorch-et: schema 1.0.1 has parent, lists and tensors", "[trace][import]") {
  const auto trace = imported_trace("pytorch-et", {trace_sample("pytorch-et-1.0.1.json")}, {{"compute", "10us"}});
  REQUIRE(trace->events.size() == 2);
  CHECK(trace->events[0].name == "aten::mm");
  CHECK(trace->events[1].op == "all_reduce");
  CHECK(trace->events[1].size_B == 4096);
  CHECK(trace->events[1].after == std::vector<std::int64_t>{1});  // the tensor that mm wrote
  CHECK(trace->notes("assumed: collectives are of all ranks"));
}

TEST_CASE("pytorch-et: schema 1.0.2 describes collectives by inputs, groups by process_group:init", "[trace][import]") {
  const auto trace = imported_trace("pytorch-et", {trace_sample("pytorch-et-1.0.2.json")}, {{"compute", "0us"}});
  REQUIRE(trace->events.size() == 3);  // "wait" is none
  CHECK(trace->events[0].op == "all_reduce");
  CHECK(trace->events[0].size_B == 4096 * 4);
  CHECK(trace->events[1].op == "all_reduce");
  CHECK(trace->events[1].size_B == 1024 * 4);
  CHECK(trace->events[2].op == "all_gather");
  CHECK(trace->events[2].size_B == 2 * 256 * 4);  // both parts
  CHECK(trace->events[0].stream == "group 0");
  CHECK(trace->head.groups.size() == 1);
  CHECK(trace->head.groups.count("0 of 2 from 0") == 1);
  CHECK_FALSE(trace->notes("assumed: collectives are of all ranks"));
}

TEST_CASE("pytorch-et: what versions of PyTorch put behind the name of a collective", "[trace][import]") {
  const std::string sample = text_of_file(trace_sample("pytorch-et-1.0.2.json"));
  const auto with = [&](const std::string& from, const std::string& to) {
    std::string text = sample;
    for (auto at = text.find(from); at != std::string::npos; at = text.find(from, at + to.size()))
      text.replace(at, from.size(), to);
    REQUIRE(text != sample);
    return trace_of("pytorch-et", text, {{"compute", "0us"}});
  };
  // 2.2 and 2.3: first rank, stride and size; 2.4: number and whether it is a message, name and description of the
  // group
  const auto later = with("9001, 0, \"allreduce\", [], [], 2", "9001, 0, \"allreduce\", [], [], 0, 1, 2");
  CHECK(later->events[0].size_B == 4096 * 4);
  CHECK(later->events[0].group == "0 of 2 from 0");
  const auto named = with("10, 9001, 0,", "[10, false], [\"0\", \"default_pg\"], 0,");
  CHECK(named->events[0].group == "0 of 2 from 0");
  CHECK(named->events[0].stream == "group 0");
  // 2.0: ranks of the job by number, and pg_id
  const auto older = with(R"(\"pg_name\": \"0\")", R"(\"pg_id\": \"default_pg\")");
  CHECK(older->events[0].group == "default_pg of 2 from 0");
  const auto listed = with(R"(\"ranks\": [])", R"(\"ranks\": {\"3\": 1, \"7\": 0})");
  CHECK(listed->events[0].group == "0 of 2 from 7");
  // no list of groups: all ranks, where the group has as many
  const auto none = with("## process_group:init ##", "## something else ##");
  CHECK(none->events[2].size_B == 2 * 256 * 4);
  // six sizes of parts are no tensor
  const auto parts = with("\"allreduce\", [], []", "\"alltoall_base\", [1, 1, 1, 1, 1, 1], [1, 1, 1, 1, 1, 1]");
  CHECK(parts->events[0].op == "alltoall");
  CHECK(parts->events[0].size_B == 4096 * 4);
}

TEST_CASE("pytorch-et: a trace with NaN that is cut off names the cut", "[trace][import][bad_input]") {
  std::string text = text_of_file(trace_sample("pytorch-et-1.0.2.json"));
  text.replace(text.find("\"id\": 6,"), 8, "\"id\": 6, \"mean\": NaN,");
  CHECK(trace_error("pytorch-et", text, {{"compute", "0us"}}) == "none");
  const std::string error = trace_error("pytorch-et", text.substr(0, text.rfind(']')), {{"compute", "0us"}});
  CHECK(error.find("FILE: not JSON: parse error at line ") == 0);
  CHECK(error.find("'N") == std::string::npos);
  CHECK(error.find("unexpected end of input") != std::string::npos);
}

TEST_CASE("pytorch-et: what a description by inputs lacks is said with its place", "[trace][import][bad_input]") {
  const std::string sample = text_of_file(trace_sample("pytorch-et-1.0.2.json"));
  const auto error = [&](const std::string& from, const std::string& to) {
    std::string text = sample;
    text.replace(text.find(from), from.size(), to);
    return trace_error("pytorch-et", text, {{"compute", "0us"}});
  };
  CHECK(error("\"allreduce\"", "12") == "FILE:/nodes/3/inputs: name no collective");
  CHECK(error("\"allreduce\"", "\"allsort\"") == "FILE: node 4: collective 'allsort' is not known to this importer");
  CHECK(error("[], [], 2", "[], [], 0") == "FILE:/nodes/3/inputs: the size of the group is not that of a group");
  const ScratchFolder folder;
  std::string text = sample;
  text.replace(text.find("## process_group:init ##"), 24, "## something else ##");
  std::vector<std::string> files;
  for (const char* name : {"a.json", "b.json", "c.json"}) {
    files.push_back((folder / name).string());
    std::ofstream(files.back()) << text;
  }
  CHECK_THROWS_WITH(imported_trace("pytorch-et", files, {{"compute", "0us"}}),
                    files[0] + ": node 4: 2 of 3 ranks are in the process group, and no process_group:init says which");
}

TEST_CASE("chakra: collectives of one process group queue, of two do not", "[trace][import]") {
  const auto node = [](int id, const std::string& group, const std::string& more = "") {
    return R"({"id": )" + std::to_string(id) +
           R"(, "name": "c", "type": "COMM_COLL_NODE", "attr": [{"name": "comm_type",
      "int64Val": "0"}, {"name": "comm_size", "uint64Val": "1073741824"}, {"name": "pg_name", "stringVal": ")" +
           group + "\"}" + more + "]}";
  };
  const auto compute = [](int id, int us, const std::string& more = "") {
    return R"({"id": )" + std::to_string(id) + R"(, "name": "k", "type": "COMP_NODE", "durationMicros": ")" +
           std::to_string(us) + R"(", "attr": [)" + more + "]}";
  };
  const ScratchFolder folder;
  const std::string groups = (folder / "groups.json").string();
  std::ofstream(groups) << R"({"0": [0, 1], "1": [0, 1]})";
  const auto streams = [&](const std::string& text) {
    const std::vector<std::string> files = {(folder / "a.0.et").string(), (folder / "a.1.et").string()};
    for (const std::string& file : files) std::ofstream(file) << text;
    std::vector<std::string> found;
    const auto trace = imported_trace("chakra", files, {{"groups", groups}});
    for (const TraceEvent& event : trace->of(0)) found.push_back(event.stream);
    return found;
  };
  using Streams = std::vector<std::string>;
  CHECK(streams(node(1, "0") + node(2, "0") + node(3, "1") + node(4, "0")) ==
        Streams{"group 0", "group 0", "group 1", "group 0"});
  const std::string seven = R"(, {"name": "stream", "int64Val": "7"})",
                    alone = R"({"name": "stream", "int64Val": "7"})";
  CHECK(streams(node(1, "0", seven) + node(2, "1", seven) + compute(3, 5, alone) + compute(4, 5)) ==
        Streams{"stream 7", "stream 7", "stream 7", "gpu"});
  CHECK(streams(compute(1, 5, alone + R"(, {"name": "is_cpu_op", "boolVal": true})")) == Streams{"cpu"});
}

TEST_CASE("chakra: a replay of collectives that queue takes as long as one after the other", "[trace][import]") {
  // The same three calls, that wait for nothing and that wait for the call before.
  const auto file = [](bool chained) {
    std::string text;
    for (int id = 1; id <= 3; ++id)
      text += R"({"id": )" + std::to_string(id) + R"(, "name": "c", "type": "COMM_COLL_NODE", )" +
              (chained && id > 1 ? "\"dataDeps\": [\"" + std::to_string(id - 1) + "\"], " : std::string()) +
              R"("attr": [{"name": "comm_type", "int64Val": "0"}, {"name": "comm_size", "uint64Val": "1073741824"}]})";
    return text;
  };
  const ScratchFolder folder;
  const auto makespan_s = [&](const std::string& text, const std::string& name) {
    std::string line = "import chakra";
    for (const char* rank : {"0", "1"}) {
      const std::string path = (folder / (name + "." + rank + ".et")).string();
      std::ofstream(path) << text;
      line += " '" + path + "'";
    }
    const std::string trace = (folder / (name + ".jsonl")).string();
    REQUIRE(run_program(line + " --out '" + trace + "'").code == 0);
    const Run run = run_program("replay '" + trace + "' --platform hgx-h200 --json");
    REQUIRE(run.code == 0);
    return Json::parse(run.out)["makespan_s"].get<double>();
  };
  const double free_s = makespan_s(file(false), "free"), chained_s = makespan_s(file(true), "chained");
  CHECK(free_s == Approx(chained_s).epsilon(0.01));
}

}  // namespace linkcast::test::their_traces_test
