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

}  // namespace linkcast::test::their_traces_test
