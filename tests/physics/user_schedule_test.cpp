// Schedules that users write in MSCCL's XML: against closed forms and NCCL's ring, and what is refused of them.
#include <algorithm>
#include <chrono>
#include <fstream>
#include <limits>

#include "sim/forecast/collective_run.hpp"
#include "tests/support/ask.hpp"
#include "tests/support/catch.hpp"
#include "tests/support/made_machine.hpp"
#include "tests/support/scratch_folder.hpp"
#include "topologies/formats/drawing.hpp"

namespace linkcast::test::user_schedule_test {

namespace {

using collective::CollectiveJob;
using collective::CollectiveRun;

const Values kRates = {{"ring.Simple.base_s", 9e-6},       {"ring.Simple.hop_s", 2e-6},
                       {"ring.Simple.channel_Bps", 0.5e9}, {"ring.Simple.crowding", 0},
                       {"ring.Simple.copy_steps", 0},  // schedules say which step does what, not what it takes
                       {"ring.Simple.reduce_steps", 0},    {"ring.Simple.copy_s", 0},
                       {"ring.Simple.reduce_s", 0},        {"ring.Simple.read_steps", 0},
                       {"ring.Simple.read_s", 0}};

/// A thread block of a file, step by step.
class Tb {
 public:
  Tb(int id, int send, int recv) {
    open_ = "<tb id=\"" + number(id) + "\" send=\"" + number(send) + "\" recv=\"" + number(recv) + "\" chan=\"0\">";
  }
  Tb& step(const std::string& type, const std::string& source, int source_at, const std::string& target, int target_at,
           int after_block = -1, int after_step = -1) {
    steps_ += "\n<step s=\"" + number(count_++) + "\" type=\"" + type + "\" srcbuf=\"" + source + "\" srcoff=\"" +
              number(source_at) + "\" dstbuf=\"" + target + "\" dstoff=\"" + number(target_at) +
              "\" cnt=\"1\" depid=\"" + number(after_block) + "\" deps=\"" + number(after_step) + "\" hasdep=\"1\"/>";
    return *this;
  }
  [[nodiscard]] std::string text() const { return open_ + steps_ + "\n</tb>\n"; }

 private:
  static std::string number(int n) { return std::to_string(n); }
  std::string open_, steps_;
  int count_ = 0;
};

std::string algo(const std::string& coll, int ranks, int chunks, int scratch, const std::vector<std::string>& gpus) {
  const std::string n = std::to_string(chunks);
  std::string text = "<algo name=\"mine\" nchunksperloop=\"" + n + "\" nchannels=\"1\" proto=\"Simple\" ngpus=\"" +
                     std::to_string(ranks) + "\" coll=\"" + coll + "\" inplace=\"1\">\n";
  for (std::size_t gpu = 0; gpu < gpus.size(); ++gpu)
    text += "<gpu id=\"" + std::to_string(gpu) + "\" i_chunks=\"" + n + "\" o_chunks=\"0\" s_chunks=\"" +
            std::to_string(scratch) + "\">\n" + gpus[gpu] + "</gpu>\n";
  return text + "</algo>\n";
}

/// Reduce-scatter, then all-gather around the ranks in order, each rank with one thread block.
std::string ring_all_reduce(int ranks) {
  std::vector<std::string> gpus;
  for (int r = 0; r < ranks; ++r) {
    const auto chunk = [&](int back) { return ((r - back) % ranks + ranks) % ranks; };
    Tb tb(0, (r + 1) % ranks, (r + ranks - 1) % ranks);
    tb.step("s", "i", chunk(0), "i", chunk(0));
    for (int k = 1; k < ranks - 1; ++k) tb.step("rrs", "i", chunk(k), "i", chunk(k));
    tb.step("rrcs", "i", chunk(ranks - 1), "i", chunk(ranks - 1));
    for (int k = 0; k < ranks - 2; ++k) tb.step("rcs", "i", chunk(k), "i", chunk(k));
    tb.step("r", "i", chunk(ranks - 2), "i", chunk(ranks - 2));
    gpus.push_back(tb.text());
  }
  return algo("allreduce", ranks, ranks, 0, gpus);
}

/// Every rank sends each other rank its chunk, adds what it gets and sends the sum to all.
std::string pairs_all_reduce(int ranks) {
  std::vector<std::string> gpus;
  for (int r = 0; r < ranks; ++r) {
    std::string blocks;
    Tb adds(ranks, -1, -1);
    int place = 0, id = 0;
    for (int q = 0; q < ranks; ++q) {
      if (q == r) continue;
      adds.step("re", "s", place++, "i", r, id, 1);  // after that peer's chunk is here
      Tb peer(id++, q, q);
      peer.step("s", "i", q, "s", 0).step("r", "i", 0, "s", place - 1);
      peer.step("s", "i", r, "i", r, ranks, ranks - 2).step("r", "i", q, "i", q);
      blocks += peer.text();
    }
    gpus.push_back(blocks + adds.text());
  }
  return algo("allreduce", ranks, ranks, ranks - 1, gpus);
}

/// Every rank sends part q of its input to rank q and keeps its own.
std::string pairs_alltoall(int ranks) {
  std::vector<std::string> gpus;
  for (int r = 0; r < ranks; ++r) {
    std::string blocks = Tb(ranks, -1, -1).step("cpy", "i", r, "o", r).text();
    for (int q = 0; q < ranks; ++q)
      if (q != r) blocks += Tb(q, q, q).step("s", "i", q, "o", r).step("r", "i", q, "o", q).text();
    gpus.push_back(blocks);
  }
  std::string text = algo("alltoall", ranks, ranks, 0, gpus);
  for (std::size_t at = 0; (at = text.find("o_chunks=\"0\"", at)) != std::string::npos;)
    text.replace(at, 12, "o_chunks=\"" + std::to_string(ranks) + "\"");
  return text.replace(text.find("inplace=\"1\""), 11, "inplace=\"0\"");
}

/// A file of that text, as long as it is there.
class File {
 public:
  explicit File(const std::string& text) { std::ofstream(path()) << text; }
  [[nodiscard]] std::string path() const { return (folder_ / "schedule.xml").string(); }

 private:
  ScratchFolder folder_;
};

std::unique_ptr<Algorithm> read(const std::string& text) {
  return read_algorithm(File(text).path(), [](const OnlyCall& /*call*/) { return ""; });
}

double time_s(const Cluster& machine, const Communicator& ring, const Algorithm* own, double size_B,
              const std::string& op = "all_reduce") {
  TableLibrary library;
  TunerChoice taken;
  taken.entry.algorithm = "ring";
  taken.entry.protocol = "Simple";
  taken.channels = 1;
  library.made.taken = taken;
  CollectiveJob job{machine, library, ring, collectives().get(op), op, size_B};
  job.own = own;
  return collective::run_alone(job, catalogue().solver("fluid")).time_s();
}

std::string refusal(const std::string& text) {
  try {
    static_cast<void>(read(text));
  } catch (const InputError& error) {
    const std::string what = error.what();
    return what.substr(what.find("schedule.xml"));
  }
  return "";
}

/// @param which  the first of these is replaced
std::string changed(std::string text, const std::string& which, const std::string& by) {
  return text.replace(text.find(which), which.size(), by);
}

}  // namespace

TEST_CASE("a ring written as a schedule takes what NCCL's ring takes", "[physics][user_schedule]") {
  const auto node = made_platform("hgx-h200", kRates);
  const Cluster machine(*node);
  for (const int ranks : {2, 3, 4, 8}) {
    std::vector<int> order;
    for (int rank = 0; rank < ranks; ++rank) order.push_back(rank);
    const Communicator ring = made_ring(order);
    const auto own = read(ring_all_reduce(ranks));
    for (const double size_B : {8.0, 1e6, 840e6}) {
      INFO(ranks << " " << size_B);
      CHECK_THAT(time_s(machine, ring, own.get(), size_B), WithinRel(time_s(machine, ring, nullptr, size_B), 1e-9));
    }
    CHECK(own->orders(ring) == std::vector<std::vector<int>>{order});
  }
}

TEST_CASE("all pairs: two hops, two messages and the sums of n - 1 chunks, an alltoall one hop and one message",
          "[physics][user_schedule]") {
  const auto node = made_platform("hgx-h200", kRates);
  const Cluster machine(*node);
  for (const int ranks : {2, 4, 8}) {
    std::vector<int> order;
    for (int rank = 0; rank < ranks; ++rank) order.push_back(rank);
    const double size_B = 8e6, chunk_s = size_B / ranks / 0.5e9;  // blocks limit, not links
    const auto own = read(pairs_all_reduce(ranks));
    const Communicator communicator = made_ring(order);
    CHECK_THAT(time_s(machine, communicator, own.get(), size_B),
               WithinRel(9e-6 + 2 * 2e-6 + (2 + ranks - 1) * chunk_s, 1e-9));
    const auto exchange = read(pairs_alltoall(ranks));
    CHECK_THAT(time_s(machine, communicator, exchange.get(), size_B, "alltoall"),
               WithinRel(9e-6 + 2e-6 + chunk_s, 1e-9));
  }
}

TEST_CASE("schedules that do not end with the result are refused with file and line", "[physics][user_schedule]") {
  const std::string ring = ring_all_reduce(3);
  REQUIRE(refusal(ring).empty());
  CHECK(refusal(changed(ring, "rrcs", "rcs")) ==
        "schedule.xml:1: no all_reduce: at the end chunk 1 of gpu 0 is not what it should be");
  CHECK(refusal(changed(ring, "srcoff=\"2\"", "srcoff=\"9\"")) ==
        "schedule.xml:5: chunk 9 is beyond the end of buffer i: i_chunks is 3");
  CHECK(refusal(changed(ring, "type=\"s\"", "type=\"nop\"")) ==
        "schedule.xml:17: waits for ever for a message of gpu 0 on channel 0: it is never sent");
  CHECK(refusal(changed(ring, "type=\"r\"", "type=\"nop\"")) == "schedule.xml:25: what it sends is never received");
  CHECK(refusal(changed(ring, "cnt=\"1\"", "cnt=\"2\"")).find("schedule.xml:14: receives 1 chunks of a message of 2") ==
        0);
  CHECK(refusal(changed(ring, "type=\"rrs\"", "type=\"rrx\"")).find("schedule.xml:5: type=\"rrx\": must be nop") == 0);
  CHECK(refusal(changed(ring, "coll=\"allreduce\"", "coll=\"gather\"")).find("schedule.xml:1: coll=") == 0);
  CHECK(refusal(changed(ring, "</algo>", "")).find("no XML") != std::string::npos);
  CHECK(refusal("{}").find("no algorithm") != std::string::npos);
  CHECK(refusal(changed(pairs_alltoall(3), "srcoff=\"1\" dstbuf=\"o\"", "srcoff=\"2\" dstbuf=\"o\""))
            .find("no alltoall: at the end chunk 0 of gpu 1") != std::string::npos);
  // a chunk that was added twice
  const std::string twice =
      changed(pairs_all_reduce(3), "type=\"re\" srcbuf=\"s\" srcoff=\"1\"", "type=\"re\" srcbuf=\"s\" srcoff=\"0\"");
  CHECK(refusal(twice).find("adds a chunk of a rank twice") != std::string::npos);
}

TEST_CASE("a schedule too large to check is refused soon, not after each line was counted for each step",
          "[physics][user_schedule]") {
  const auto begin = std::chrono::steady_clock::now();
  CHECK(refusal(ring_all_reduce(128)).find("too many chunks and steps to check") != std::string::npos);
  CHECK(std::chrono::steady_clock::now() - begin < std::chrono::seconds(5));
}

TEST_CASE("a user's schedule answers in the place of the library's choice", "[physics][user_schedule]") {
  const File file(ring_all_reduce(4));
  const Json query{{"platform", "hgx-h100"}, {"kind", "collective"}, {"op", "all_reduce"},           {"size_B", 64e6},
                   {"gpus", {4, 5, 6, 7}},   {"launch", "graph"},    {"algorithm_file", file.path()}};
  const Json answer = ask(query);
  CHECK(answer["algorithm"] == "mine");
  CHECK(answer["protocol"] == "Simple");
  CHECK(answer["channels"] == Json::array({{4, 5, 6, 7}}));
  for (const double size : {8.0, 1048576.0, 1073741824.0}) {  // hops that pass while bytes flow are no time below 0
    Json explained = query;
    explained.update({{"explain", true}, {"size_B", size}});
    const Json forecast = ask(explained);
    double sum_s = 0;
    for (const Json& term : forecast["terms"]) {
      INFO(term.dump());
      CHECK(term["time_s"].get<double>() >= 0);
      CHECK_FALSE(term["source"].get<std::string>().empty());
      sum_s += term["time_s"].get<double>();
    }
    CHECK_THAT(sum_s, WithinRel(forecast["time_s"].get<double>(), 1e-9));
  }
  Json other = query;
  other["op"] = "all_gather";
  CHECK(query::answer(catalogue(), other)["error"].get<std::string>().find(
            "schedule.xml:1: is for all_reduce of 4 GPUs, not all_gather of 4") != std::string::npos);
  other = query;
  other["gpus"] = {0, 1};
  CHECK(query::answer(catalogue(), other)["error"].get<std::string>().find("not all_reduce of 2") != std::string::npos);
  other = query;
  other["algorithm"] = "ring";
  CHECK(query::answer(catalogue(), other)["error"].get<std::string>().find("instead of algorithm") !=
        std::string::npos);
}

namespace {

/// Answers of predict, replay and place to one schedule on four GPUs.
std::vector<Json> answers_to(const std::string& file, double size_B, const std::string& trace) {
  const Json at{{"platform", "hgx-h100"}, {"algorithm_file", file}};
  Json collective = at, replay = at, place = at;
  collective.update({{"kind", "collective"}, {"op", "all_reduce"}, {"size_B", size_B}, {"gpus", {0, 1, 2, 3}}});
  replay.update({{"kind", "replay"}, {"trace", trace}});
  place.update({{"kind", "place"}, {"job", {{"op", "all_reduce"}, {"size_B", size_B}}}, {"ranks", 4}});
  std::vector<Json> answers;
  for (const Json& query : {collective, replay, place}) answers.push_back(query::answer(catalogue(), query));
  return answers;
}

/// @returns  the ring with these attributes of <algo>
std::string ring_with(int ranks, const std::string& attributes) {
  return changed(ring_all_reduce(ranks), "<algo ", "<algo " + attributes + " ");
}

/// Both ranks send all chunks, in messages of so many, and then receive and add.
std::string exchange_of_two(int messages, int chunks_each) {
  std::vector<std::string> gpus;
  for (int r = 0; r < 2; ++r) {
    Tb tb(0, 1 - r, 1 - r);
    for (const std::string type : {"s", "rrc"})
      for (int k = 0; k < messages; ++k) tb.step(type, "i", k * chunks_each, "i", k * chunks_each);
    gpus.push_back(tb.text());
  }
  std::string text = algo("allreduce", 2, messages * chunks_each, 0, gpus);
  for (std::size_t at = 0; (at = text.find("cnt=\"1\"", at)) != std::string::npos; ++at)
    text.replace(at, 7, "cnt=\"" + std::to_string(chunks_each) + "\"");
  return text;
}

/// One all_reduce and one all_gather of all ranks.
std::string trace_of(int ranks, const ScratchFolder& folder) {
  std::string group, events;
  for (int rank = 0; rank < ranks; ++rank) {
    group += (rank > 0 ? "," : "") + std::to_string(rank);
    for (const char* op : {"all_reduce", "all_gather"})
      events += R"({"rank":)" + std::to_string(rank) + R"(,"kind":"collective","stream":"0","group":"all","op":")" +
                op + R"(","size_B":64000000})" + "\n";
  }
  const std::string path = (folder / "two.jsonl").string();
  std::ofstream(path) << R"({"schema":"trace/1","name":"two","ranks":)" << ranks
                      << R"(,"source":"test","groups":{"all":[)" << group << "]}}\n"
                      << events;
  return path;
}

const Json& operation(const Json& replayed, const std::string& op) {
  for (const Json& one : replayed["operations"])
    if (one["op"] == op) return one;
  throw std::runtime_error("no " + op);
}

}  // namespace

TEST_CASE("a schedule for other ranks is refused before it is checked, an empty name of a file everywhere",
          "[physics][user_schedule]") {
  const ScratchFolder folder;
  const std::string trace = trace_of(4, folder);
  const File large(ring_all_reduce(128));  // too large to check
  for (const Json& answer : answers_to(large.path(), 64e6, trace)) {
    INFO(answer);
    CHECK(answer["error"].get<std::string>().find("schedule.xml:1: is for all_reduce of 128 GPUs, ") !=
          std::string::npos);
  }
  for (const Json& answer : answers_to("", 64e6, trace))
    CHECK(answer["error"].get<std::string>().find("algorithm_file: names no file") != std::string::npos);
}

TEST_CASE("a schedule runs the sizes from minBytes on, below maxBytes, the library all others",
          "[physics][user_schedule]") {
  const ScratchFolder folder;
  const std::string trace = trace_of(4, folder);  // of 64e6 bytes
  const File any(ring_all_reduce(4));
  const auto mine = [&](const File& file) { return answers_to(file.path(), 64e6, trace); };
  const auto time_s = [](const Json& answer) {
    return answer.contains("time_s") ? answer["time_s"].get<double>() : answer["makespan_s"].get<double>();
  };
  for (const auto& [attributes, runs] : std::vector<std::pair<std::string, bool>>{
           {"minBytes=\"64000000\" maxBytes=\"64000001\"", true}, {"maxBytes=\"64000000\"", false}}) {
    const std::vector<Json> all = mine(any), some = mine(File(ring_with(4, attributes)));
    for (std::size_t i = 0; i < all.size(); ++i) {
      INFO(attributes << " " << i << " " << some[i]["warnings"]);
      CHECK((time_s(some[i]) == time_s(all[i])) == runs);
      CHECK((some[i]["warnings"].dump().find("from 64 MB on runs as the library chooses: algorithm_file is for "
                                             "all_reduce of 4 GPUs below 64 MB") != std::string::npos) == !runs);
    }
  }
  CHECK(refusal(ring_with(4, "minBytes=\"8\" maxBytes=\"8\"")).find("schedule.xml:1: maxBytes must be above") == 0);
  CHECK(refusal(ring_with(4, "minBytes=\"x\"")).find("schedule.xml:1: minBytes=") == 0);
}

TEST_CASE("a schedule whose steps cannot all end is refused with the line of one that waits for ever",
          "[physics][user_schedule]") {
  // Connections hold 8 messages: both ranks wait for the other to receive the first.
  REQUIRE(refusal(exchange_of_two(8, 1)).empty());
  CHECK(refusal(exchange_of_two(9, 1)) ==
        "schedule.xml:12: waits for ever for gpu 1 to receive: 8 messages are on channel 0, line 34 for gpu 0 to "
        "receive: 8 messages are on channel 0: a circle");
  // Two thread blocks that wait for each other's step.
  const std::string circle =
      algo("allreduce", 2, 1, 0,
           {Tb(0, 1, -1).step("s", "i", 0, "i", 0, 1, 0).text() + Tb(1, -1, 1).step("rrc", "i", 0, "i", 0, 0, 0).text(),
            Tb(0, 0, -1).step("s", "i", 0, "i", 0).text() + Tb(1, -1, 0).step("rrc", "i", 0, "i", 0).text()});
  CHECK(refusal(circle) == "schedule.xml:4: waits for ever for step 0 of tb 1, line 7 for step 0 of tb 0: a circle");
  CHECK(refusal(changed(circle, "depid=\"1\" deps=\"0\"", "depid=\"1\" deps=\"4\"")) ==
        "schedule.xml:4: depends on step 4 of tb 1, which has 1 steps");
  CHECK(refusal(changed(circle, "depid=\"0\" deps=\"0\" hasdep=\"1\"", "depid=\"-1\" deps=\"-1\" hasdep=\"0\""))
            .find("schedule.xml:4: depends on step 0 of tb 1, which has hasdep=\"0\"") == 0);
  // A connection of two thread blocks: which of them sends first is nobody's choice.
  CHECK(refusal(changed(circle, "<tb id=\"1\" send=\"-1\"", "<tb id=\"1\" send=\"1\""))
            .find("schedule.xml:6: sends to gpu 1 on channel 0, as tb 0 does") == 0);
}

TEST_CASE("a schedule that hangs once its chunks fill a slot each says so", "[physics][user_schedule]") {
  const File file(exchange_of_two(1, 9));
  const auto warned = [](const std::string& path) {
    const Json answer = ask({{"kind", "collective"},
                             {"platform", "hgx-h100"},
                             {"op", "all_reduce"},
                             {"size_B", 64e6},
                             {"gpus", {0, 1}},
                             {"algorithm_file", path}});
    return answer["warnings"].dump().find("schedule.xml:4 waits for ever where a chunk fills a slot") !=
           std::string::npos;
  };
  CHECK(warned(file.path()));
  CHECK_FALSE(warned(File(exchange_of_two(1, 8)).path()));
}

TEST_CASE("steps are checked against i_chunks and o_chunks, proto and a second algo with their lines",
          "[physics][user_schedule]") {
  const std::string ring = ring_all_reduce(3);
  CHECK(refusal(changed(ring, "i_chunks=\"3\"", "i_chunks=\"2\"")) ==
        "schedule.xml:5: chunk 2 is beyond the end of buffer i: i_chunks is 2");
  CHECK(refusal(changed(ring, "i_chunks=\"3\" ", "")) == "schedule.xml:2: the attribute i_chunks is missing");
  CHECK(refusal(changed(pairs_alltoall(3), "o_chunks=\"3\"", "o_chunks=\"1\"")).find("o_chunks is 1") !=
        std::string::npos);
  CHECK(refusal(changed(ring, "proto=\"Simple\"", "proto=\"LL256\"")) ==
        "schedule.xml:1: proto=\"LL256\": must be Simple, LL or LL128");
  CHECK(refusal(ring + ring).find(": a second algo: a file holds one schedule") != std::string::npos);
  const File ll(changed(ring_all_reduce(4), "proto=\"Simple\"", "proto=\"LL\""));
  const Json old = query::answer(catalogue(), {{"kind", "collective"},
                                               {"platform", "p100-dgx1"},
                                               {"library", "nccl-1"},
                                               {"op", "all_reduce"},
                                               {"size_B", 64e6},
                                               {"gpus", {0, 1, 2, 3}},
                                               {"algorithm_file", ll.path()}});
  CHECK(old["error"].get<std::string>().find("schedule.xml:1: protocol 'LL': nccl-1 has Simple alone") !=
        std::string::npos);
}

TEST_CASE("a schedule with the name of a library's algorithm is not taken for it", "[physics][user_schedule]") {
  const File file(changed(ring_all_reduce(4), "name=\"mine\"", "name=\"ring\""));
  const Json answer = ask({{"kind", "collective"},
                           {"platform", "hgx-h100"},
                           {"op", "all_reduce"},
                           {"size_B", 64e6},
                           {"gpus", {0, 1, 2, 3}},
                           {"algorithm_file", file.path()}});
  CHECK(answer["algorithm"] == "ring of schedule.xml");
}

TEST_CASE("a replay runs a user's schedule as predict does, the rest as the library chooses",
          "[physics][user_schedule]") {
  const File file(ring_all_reduce(4));
  const ScratchFolder folder;
  const std::string trace = trace_of(4, folder);
  struct Where {
    std::string platform;
    Json replayed, forecast;
  };
  const std::vector<Where> all = {{"hgx-h100", Json::object(), {{"gpus", {0, 1, 2, 3}}}},
                                  {"alps", {{"nodes", 2}, {"gpus_per_node", 2}}, {{"nodes", 2}, {"gpus", {0, 1}}}}};
  for (const Where& where : all) {
    INFO(where.platform);
    Json query{{"kind", "replay"}, {"platform", where.platform}, {"trace", trace}};
    query.update(where.replayed);
    const Json library = ask(query);
    query["algorithm_file"] = file.path();
    const Json own = ask(query);
    Json call{{"kind", "collective"},
              {"platform", where.platform},
              {"op", "all_reduce"},
              {"size_B", 64e6},
              {"launch", "graph"},
              {"calls", 1},
              {"algorithm_file", file.path()}};
    call.update(where.forecast);
    CHECK_THAT(operation(own, "all_reduce")["time_s"].get<double>(),
               WithinRel(ask(call)["time_s"].get<double>(), 1e-9));
    CHECK(operation(own, "all_reduce")["time_s"] != operation(library, "all_reduce")["time_s"]);
    CHECK_THAT(operation(own, "all_gather")["time_s"].get<double>(),
               WithinRel(operation(library, "all_gather")["time_s"].get<double>(), 1e-9));
    CHECK(own["warnings"].dump().find("all_gather of 4 GPUs runs as the library chooses: algorithm_file is for "
                                      "all_reduce of 4 GPUs") != std::string::npos);
  }
}

TEST_CASE("place finds the rank order in which a user's ring is fastest", "[physics][user_schedule]") {
  const File file(ring_all_reduce(4));
  const Json found = ask({{"kind", "place"},
                          {"platform", "v100-dgx1"},
                          {"job", "all_reduce:64MiB"},
                          {"ranks", 4},
                          {"busy", {2, 3, 6, 7}},
                          {"algorithm_file", file.path()}});
  std::vector<int> gpus = {0, 1, 4, 5};
  double least_s = std::numeric_limits<double>::infinity(), most_s = 0;
  do {
    const double time_s = ask({{"kind", "collective"},
                               {"platform", "v100-dgx1"},
                               {"op", "all_reduce"},
                               {"size_B", 64 * kMiB},
                               {"gpus", gpus},
                               {"launch", "graph"},
                               {"algorithm_file", file.path()}})["time_s"];
    least_s = std::min(least_s, time_s);
    most_s = std::max(most_s, time_s);
  } while (std::next_permutation(gpus.begin(), gpus.end()));
  CHECK_THAT(found["time_s"].get<double>(), WithinRel(least_s, 1e-9));
  CHECK(least_s < 0.9 * most_s);  // 0 and 5, 1 and 4 have no NVLink: it goes through host memory
  const Json refused = query::answer(catalogue(), {{"kind", "place"},
                                                   {"platform", "v100-dgx1"},
                                                   {"ranks", 2},
                                                   {"job", "all_reduce:64MiB"},
                                                   {"algorithm_file", file.path()}});
  CHECK(refused["error"].get<std::string>().find("is for all_reduce of 4 GPUs, not all_reduce of 2") !=
        std::string::npos);
}

TEST_CASE("place: the best set is not worse than the first free, that not worse than the worst",
          "[physics][user_schedule]") {
  for (const int ranks : {3, 4}) {
    const File file(ring_all_reduce(ranks));
    for (const std::vector<int>& busy : {std::vector<int>{}, {0}, {1, 2}, {0, 3, 5}}) {
      const Json found = ask({{"kind", "place"},
                              {"platform", "v100-dgx1"},
                              {"job", "all_reduce:64MiB"},
                              {"ranks", ranks},
                              {"busy", busy},
                              {"algorithm_file", file.path()}});
      INFO(found);
      CHECK(found["time_s"].get<double>() <= found["first_free"]["time_s"].get<double>());
      CHECK(found["first_free"]["time_s"].get<double>() <= found["worst"]["time_s"].get<double>());
    }
  }
}

TEST_CASE("place over nodes takes what predict takes of a user's schedule", "[physics][user_schedule]") {
  const File file(ring_all_reduce(8));
  const Json found = ask({{"kind", "place"},
                          {"platform", "alps"},
                          {"nodes", 4},
                          {"job", "all_reduce:64MiB"},
                          {"ranks", 8},
                          {"algorithm_file", file.path()}});
  const Json forecast = ask({{"kind", "collective"},
                             {"platform", "alps"},
                             {"op", "all_reduce"},
                             {"size_B", 64 * kMiB},
                             {"nodes", 2},
                             {"launch", "graph"},
                             {"algorithm_file", file.path()}});
  CHECK(found["nodes"] == Json::array({0, 1}));
  CHECK_THAT(found["time_s"].get<double>(), WithinRel(forecast["time_s"].get<double>(), 1e-9));
}

TEST_CASE("a schedule is drawn with an arrow for each message, a head for each sum", "[physics][user_schedule]") {
  const auto count = [](const std::string& text, const std::string& part) {
    int found = 0;
    for (std::size_t at = 0; (at = text.find(part, at)) != std::string::npos; ++at) ++found;
    return found;
  };
  constexpr int kRanks = 4;
  exporters::ScheduleRanks ranks{"ring", {"gpu0", "gpu1", "gpu2", "gpu3"}, [](int from, int) {
                                   return from == 0 ? exporters::Medium::kHostMemory : exporters::Medium::kPeerLink;
                                 }};
  const auto own = read(ring_all_reduce(kRanks));
  const std::string svg = exporters::to_svg(own->schedule("all_reduce", kRanks), ranks);
  CHECK(count(svg, "<title>round") == kRanks * 2 * (kRanks - 1));
  CHECK(count(svg, "reduced there") == kRanks * (kRanks - 1));
  CHECK(count(svg, ">round 6</text>") == 1);
  CHECK(count(svg, ">round 7</text>") == 0);
  CHECK(svg.find("through host memory") != std::string::npos);
  CHECK(svg.find("between nodes") == std::string::npos);
  const std::string dot = exporters::to_dot(own->schedule("all_reduce", kRanks), ranks);
  CHECK(count(dot, " -> ") == kRanks);
  CHECK(count(dot, "label=\"1,2,3,4,5,6\"") == kRanks);
}

}  // namespace linkcast::test::user_schedule_test
