// Dumps of torch.distributed's flight recorder. Samples follow PyTorch's own description of dumps 2.4 and 2.10; figures
// are made up.
#include "tests/unit/trace_import.hpp"

namespace linkcast::test::flight_recorder_test {

namespace {

const std::string kFormat = "flight-recorder";

// One rank of two: a completed all_reduce of 1024 floats (0.5 ms) and a scheduled broadcast. Written by Python's
// pickle, protocols 2 and 4.
const std::string kProtocol2 =
    "80027d28580700000076657273696f6e5803000000322e34580900000070675f636f6e6669677d58010000003071007d2858040000006e61"
    "6d656800580500000072616e6b7358060000005b302c20315d75735807000000656e74726965735d287d28580d00000070726f636573735f"
    "67726f757071016800580a00000064656661756c745f70678671025811000000636f6c6c6563746976655f7365715f696471034b01580a00"
    "00007032705f7365715f696471044b00580e00000070726f66696c696e675f6e616d657105580f0000006e63636c3a616c6c5f7265647563"
    "65580f00000074696d655f637265617465645f6e7371068a0800c04f57b4a17a18580b000000696e7075745f73697a657371075d71085d4d"
    "00046161580c000000696e7075745f64747970657371095d5805000000466c6f6174710a61580c0000006f75747075745f73697a6573710b"
    "6808580d0000006f75747075745f647479706573710c5d680a6158050000007374617465710d5809000000636f6d706c65746564580b0000"
    "006475726174696f6e5f6d73473fe000000000000058060000006672616d65735d7d58040000006c696e654b077361757d28680168026803"
    "4b0268044b006805580e0000006e63636c3a62726f61646361737468068a0870d15057b4a17a1868075d710e5d4b10616168095d680a6168"
    "0b680e680c5d680a61680d58090000007363686564756c65647565752e";
const std::string kProtocol4 =
    "800495d0010000000000007d94288c0776657273696f6e948c03322e34948c0970675f636f6e666967947d948c0130947d94288c046e616d"
    "659468058c0572616e6b73948c065b302c20315d9475738c07656e7472696573945d94287d94288c0d70726f636573735f67726f75709468"
    "058c0a64656661756c745f70679486948c11636f6c6c6563746976655f7365715f6964944b018c0a7032705f7365715f6964944b008c0e70"
    "726f66696c696e675f6e616d65948c0f6e63636c3a616c6c5f726564756365948c0f74696d655f637265617465645f6e73948a0800c04f57"
    "b4a17a188c0b696e7075745f73697a6573945d945d944d000461618c0c696e7075745f647479706573945d948c05466c6f617494618c0c6f"
    "75747075745f73697a65739468168c0d6f75747075745f647479706573945d94681a618c057374617465948c09636f6d706c65746564948c"
    "0b6475726174696f6e5f6d7394473fe00000000000008c066672616d6573945d947d948c046c696e65944b077361757d9428680d680f6810"
    "4b0268114b0068128c0e6e63636c3a62726f6164636173749468148a0870d15057b4a17a1868155d945d944b10616168185d94681a61681b"
    "6827681c5d94681a61681e8c097363686564756c6564947565752e";

std::string of_hex(const std::string& hex) {
  std::string bytes;
  for (std::size_t i = 0; i + 1 < hex.size(); i += 2)
    bytes += static_cast<char>(std::stoi(hex.substr(i, 2), nullptr, 16));
  return bytes;
}

std::vector<std::string> both() {
  return {trace_sample("flight-recorder-rank-1.json"), trace_sample("flight-recorder-rank-0.json")};
}

/// With each text replaced by the other.
std::string replaced(std::string text, const std::string& from, const std::string& to) {
  REQUIRE(text.find(from) != std::string::npos);
  for (auto at = text.find(from); at != std::string::npos; at = text.find(from, at + to.size()))
    text.replace(at, from.size(), to);
  return text;
}

}  // namespace

TEST_CASE("flight recorder: collectives and coalesced messages of two ranks", "[trace][import]") {
  const auto trace = imported_trace(kFormat, both());
  CHECK(trace->head.ranks == 2);  // by the numbers in the names, not by the order
  const std::vector<TraceEvent> first = trace->of(0);
  REQUIRE(first.size() == 7);
  CHECK(first[0].op == "broadcast");
  CHECK(first[0].size_B == 1024 * 4);
  CHECK(first[1].size_B == 4096 * 256 * 2);
  CHECK_THAT(first[1].recorded->duration_s(), WithinRel(31e-6, 1e-9));
  CHECK(first[2].op == "all_gather");
  CHECK(first[2].size_B == 2000 * 2);  // of all parts together
  CHECK(first[3].op == "reduce_scatter");
  CHECK(first[3].size_B == 2000 * 4);
  CHECK(first[4].kind == TraceKind::kSend);
  CHECK(first[4].peer == 1);
  CHECK(first[5].kind == TraceKind::kRecv);
  CHECK(first[5].stream != first[4].stream);  // at once
  CHECK(first[6].op == "gather");
  CHECK(first[6].size_B == 2 * 100 * 4);
  CHECK(trace->of(1).back().size_B == 2 * 100 * 4);
  CHECK(trace->head.groups.at("0 of 2 from 0") == std::vector<int>{0, 1});
}

TEST_CASE("flight recorder: calls that never completed are said and left out", "[trace][import]") {
  const auto trace = imported_trace(kFormat, both());
  CHECK(
      trace->notes("finding: rank 0: 2 calls never completed, the first all_reduce, collective_seq_id 6 of group "
                   "'0', started: left out"));
  CHECK(trace->notes("finding: rank 1: 1 call never completed"));
  CHECK(trace->notes("left out: 1 collective that the dumps of some ranks do not hold"));
  CHECK(trace->notes("passed over: 2 entries that only end a group"));
}

TEST_CASE("flight recorder: ranks that call different things are a finding", "[trace][import]") {
  const ScratchFolder scratch;
  const std::string other = replaced(text_of_file(both()[0]), "nccl:broadcast", "nccl:reduce");
  const std::string larger = replaced(other, "[[4096, 256]]", "[[4096, 128]]");
  std::ofstream(scratch / "rank_1") << larger;
  const auto trace = imported_trace(kFormat, {both()[1], (scratch / "rank_1").string()});
  CHECK(trace->notes("finding: ranks call different operations: collective_seq_id 1 of group '0 of 2 from 0'"));
  CHECK(trace->notes("finding: ranks call all_reduce with different sizes: collective_seq_id 2"));
  CHECK(trace->of(0).size() == 5);
  CHECK(trace->of(1).size() == 5);
}

TEST_CASE("flight recorder: pickles are read as data, of one rank of two", "[trace][import]") {
  for (const std::string& hex : {kProtocol2, kProtocol4}) {
    const auto trace = trace_of(kFormat, of_hex(hex));
    REQUIRE(trace->events.size() == 1);
    CHECK(trace->events[0].op == "all_reduce");
    CHECK(trace->events[0].size_B == 4096);
    CHECK_THAT(trace->events[0].recorded->duration_s(), WithinRel(0.5e-3, 1e-9));
    CHECK(trace->notes("one rank of many alone"));
    CHECK(trace->notes("1 call never completed, the first broadcast, collective_seq_id 2 of group '0', scheduled"));
  }
}

TEST_CASE("flight recorder: a pickle that names code is refused, and so is one without end", "[trace][import]") {
  // {"version": "2.4", "entries": [os.system("touch x")]}, as pickle.dumps of an object with __reduce__ writes it
  const std::string code =
      "80027d710028580700000076657273696f6e71015803000000322e3471025807000000656e747269657371035d710463706f7369780a"
      "73797374656d0a71055807000000746f7563682078710685710752710861752e";
  CHECK(trace_error(kFormat, of_hex(code)) ==
        "FILE: byte 47: the pickle names code (GLOBAL 'posix.system'): only data are read, and nothing is run");
  const std::string stack = "8004952d000000000000008c05706f736978948c0673797374656d9493942e";
  CHECK(trace_error(kFormat, of_hex(stack)).find("names code (STACK_GLOBAL)") != std::string::npos);
  // a list of 20 times the same list of 20 times the same ..., 40 deep: 20^40 parts in 2 kB
  std::string many = "80025d710058010000007861";
  for (int i = 0; i < 40; ++i) {
    many += "71015d28";
    for (int k = 0; k < 20; ++k) many += "6801";
    many += "65";
  }
  CHECK(trace_error(kFormat, of_hex(many + "2e")).find("names its parts too often") != std::string::npos);
  CHECK(trace_error(kFormat, of_hex("80025d7100680061"
                                    "2e"))
            .find("nested deeper") != std::string::npos);
  CHECK(trace_error(kFormat, of_hex("80025828000000")).find("ends too early") != std::string::npos);
  CHECK(trace_error(kFormat, of_hex("80022e")).find("takes what it has not put") != std::string::npos);
}

TEST_CASE("flight recorder: complex elements", "[trace][import]") {
  const std::string text = text_of_file(both()[1]);
  REQUIRE(text.find("\"Float\"") != std::string::npos);
  const double floats_B = trace_of(kFormat, text)->events.front().size_B;
  CHECK(trace_of(kFormat, replaced(text, "\"Float\"", "\"ComplexFloat\""))->events.front().size_B == 2 * floats_B);
}

TEST_CASE("flight recorder: errors name file and pointer", "[trace][import]") {
  const std::string good = text_of_file(both()[1]);
  CHECK(trace_error(kFormat, "{}").find("no dump of torch.distributed's flight recorder") != std::string::npos);
  CHECK(trace_error(kFormat, "x").find("FILE: neither a pickle nor JSON") == 0);
  CHECK(trace_error(kFormat, replaced(good, "[[1024]]", "[[-1]]")) ==
        "FILE:/entries/0/input_sizes/0: must hold whole numbers of at least 0");
  CHECK(trace_error(kFormat, replaced(good, "[[1024]]", "[[4000000000, 4000000000]]")) ==
        "FILE:/entries/0/input_sizes/0: more than 2^53 bytes");
  CHECK(trace_error(kFormat, replaced(good, "\"BFloat16\"", "\"Bits3\"")) ==
        "FILE:/entries/1/input_dtypes: type 'Bits3' is not known");
  CHECK(trace_error(kFormat, replaced(good, "\"[0, 1]\"", "\"[0, 7000000]\"")) ==
        "FILE:/pg_config/0/ranks: must hold ranks, below 1000000");
  CHECK(trace_error(kFormat, replaced(good, "2.10", "1.4")) == "FILE:/version: '1.4' is not known: 2.x");
  CHECK(trace_error(kFormat, replaced(good, "0->1", "0->9")).find("peer 9 is not in the group") != std::string::npos);
}

TEST_CASE("flight recorder: broken dumps", "[trace][import]") {
  check_mutations(kFormat, text_of_file(both()[0]), 800);
  check_mutations(kFormat, of_hex(kProtocol2), 1500);
  check_mutations(kFormat, of_hex(kProtocol4), 1500);
}

}  // namespace linkcast::test::flight_recorder_test
