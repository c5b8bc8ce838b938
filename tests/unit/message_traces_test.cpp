// Traces of many messages: what reads and keeps them fast finds the same as what does so simply.
#include <cmath>
#include <ctime>
#include <fstream>
#include <random>
#include <set>
#include <sstream>

#include "sim/machine/trace_source.hpp"
#include "sim/records/plain_object.hpp"
#include "sim/replay/queues.hpp"
#include "sim/replay/rank_readers.hpp"
#include "sim/replay/replay_run.hpp"
#include "sim/replay/stream_set.hpp"
#include "tests/support/catalogue.hpp"
#include "tests/support/catch.hpp"
#include "tests/unit/program.hpp"

namespace linkcast::test::message_traces_test {

namespace {

/// Keys and values of an object whose values are all of one type. @returns  false: it is not plain
template <class Value>
bool read_plainly(std::string_view text, std::vector<std::pair<std::string, Value>>& found) {
  PlainObject object(text);
  for (const char* name = nullptr; object.next(name);) {
    const std::string_view key(name, static_cast<std::size_t>(std::find(name, text.data() + text.size(), '"') - name));
    Value value{};
    if (!object.pass(key.size()) || !object.get(value)) return false;
    found.emplace_back(key, value);
  }
  return object.ended();
}

constexpr int kRanks = 4;

/// Events of one rank of a ring: its messages wait for no earlier send.
std::string ring_events(int rank, int steps) {
  std::string text;
  const auto word = [](long value) { return std::to_string(value); };
  const std::string head = "{\"rank\":" + word(rank) + ",\"kind\":";
  for (long id = 1; id <= 3L * steps; id += 3) {
    text += head + R"("compute","id":)" + word(id) + (id > 1 ? ",\"after\":[" + word(id - 2) + "]" : "") +
            ",\"time_s\":" + word(10 + (id + rank) % 7) + "e-6}\n";
    text += head + R"("send","stream":"out)" + word(id % 200) + R"(","id":)" + word(id + 2) + ",\"after\":[" +
            word(id) + "],\"peer\":" + word((rank + 1) % kRanks) + ",\"size_B\":4096}\n";
    text.insert(text.rfind(head), head + R"("recv","stream":"in","id":)" + word(id + 1) + ",\"after\":[" + word(id) +
                                      "],\"peer\":" + word((rank + kRanks - 1) % kRanks) + ",\"size_B\":4096}\n");
  }
  return text;
}

std::string trace_header() {
  return R"({"schema":"trace/1","name":"t","ranks":4,"source":"test","eager_B":65535.0})" + std::string("\n");
}

/// @param together  the lines of a rank; else ranks take turns
std::string ring_trace(int steps, bool together) {
  std::vector<std::string> texts;
  for (int rank = 0; rank < kRanks; ++rank) texts.push_back(ring_events(rank, steps));
  std::string all = trace_header();
  if (together) {
    for (const std::string& text : texts) all += text;
    return all;
  }
  std::vector<std::istringstream> streams;
  for (const std::string& text : texts) streams.emplace_back(text);
  for (std::string line; std::getline(streams[0], line);) {
    all += line + "\n";
    for (int rank = 1; rank < kRanks; ++rank) {
      std::getline(streams[static_cast<std::size_t>(rank)], line);
      all += line + "\n";
    }
  }
  return all;
}

void write(const std::string& path, const std::string& text) { std::ofstream(path, std::ios::binary) << text; }

Json replayed(const std::string& path) {
  replay::ReplayRequest request;
  request.machine = test::catalogue().machine("hgx-h200");
  request.parts = {{path}};
  return replay::to_json(replay::replay(test::catalogue(), request));
}

}  // namespace

TEST_CASE("plain objects: what they take is JSON, with the same values", "[quick]") {
  for (const std::string text :
       {R"({"a":0,"b":-17,"c":922337203685477580})", R"({"a":12})", R"({"a":-0})", R"({"":1})"}) {
    std::vector<std::pair<std::string, std::int64_t>> found;
    REQUIRE(read_plainly(text, found));
    const Json strict = Json::parse(text);
    CHECK(found.size() == strict.size());
    for (const auto& [key, value] : found) CHECK(strict.at(key).get<std::int64_t>() == value);
  }
  std::mt19937_64 random(3);
  for (int i = 0; i < 2000; ++i) {
    const double scale = std::pow(10.0, static_cast<double>(i % 60 - 30));
    const double value = i % 2 == 0
                             ? static_cast<double>(random() % 1000000007) / static_cast<double>(1 + random() % 999983)
                             : static_cast<double>(random() % 20000) * scale;
    const std::string text = "{\"x\":" + Json(value).dump() + "}";
    std::vector<std::pair<std::string, double>> found;
    REQUIRE(read_plainly(text, found));
    CHECK(found.front().second == value);
  }
  std::vector<std::pair<std::string, std::string_view>> words;
  REQUIRE(read_plainly(R"({"a":"some text","b":""})", words));
  CHECK(words[0].second == "some text");
  CHECK(words[1].second.empty());
}

TEST_CASE("plain objects: what is no JSON, or not plain, they do not take", "[quick]") {
  for (const std::string text : {"",
                                 "{",
                                 "}",
                                 "{,}",
                                 R"({"a":1,})",
                                 R"({"a":1)",
                                 R"({"a":1}})",
                                 R"({"a":1} )",
                                 R"( {"a":1})",
                                 R"({"a" :1})",
                                 R"({"a":01})",
                                 R"({"a":+1})",
                                 R"({"a":.5})",
                                 R"({"a":1.})",
                                 R"({"a":1e})",
                                 R"({"a":1e999})",
                                 R"({"a":inf})",
                                 R"({"a":nan})",
                                 R"({"a":-})",
                                 R"({"a":0x1p3})",
                                 R"({"a":null})",
                                 R"({"a":"1"})",

                                 R"({"a":1,"b":2,,"c":3})",
                                 R"({a:1})",
                                 R"({"a":1 ,"b":2})"}) {
    INFO(text);
    std::vector<std::pair<std::string, double>> found;
    CHECK_FALSE(read_plainly(text, found));
  }
  for (const std::string text : {R"({"a":1.0})", R"({"a":1e3})", R"({"a":9223372036854775807})"}) {
    INFO(text);
    std::vector<std::pair<std::string, std::int64_t>> found;
    CHECK_FALSE(read_plainly(text, found));
  }
  std::vector<std::pair<std::string, std::string_view>> words;
  for (const std::string text : {"{\"a\":\"\xc3\xa4\"}", "{\"a\":\"\t\"}", R"({"a":"\""})"})
    CHECK_FALSE(read_plainly(text, words));
}

TEST_CASE("streams of a rank: the set has what was added and not removed, in order", "[replay]") {
  replay::StreamSet set;
  std::set<std::size_t> expected;
  std::mt19937 random(5);
  for (int i = 0; i < 5000; ++i) {
    const std::size_t stream = random() % (i % 3 == 0 ? 70U : 9000U);
    if (random() % 2 == 0) {
      set.add(stream);
      expected.insert(stream);
    } else {
      set.remove(stream);
      expected.erase(stream);
    }
    if (i % 100 != 0) continue;
    std::vector<std::size_t> found;
    set.each([&](std::size_t one) { found.push_back(one); });
    CHECK(found == std::vector<std::size_t>(expected.begin(), expected.end()));
  }
}

TEST_CASE("numbers that come and go: each has its value", "[replay]") {
  replay::NumberMap map;
  std::map<std::int64_t, int> expected;
  std::mt19937 random(11);
  for (int i = 0; i < 20000; ++i) {
    const std::int64_t number = static_cast<std::int64_t>(random() % 300) * (i % 2 == 0 ? 1 : 64);
    const auto known = expected.find(number);
    if (known == expected.end()) {
      REQUIRE(map.take(number, -1) == -1);
      REQUIRE(map.put(number, i) == i);
      expected.emplace(number, i);
    } else {
      REQUIRE(map.put(number, i) == known->second);
      REQUIRE(map.take(number, -1) == known->second);
      expected.erase(known);
    }
    CHECK(map.empty() == expected.empty());
  }
}

TEST_CASE("replay: a trace whose ranks lie one behind the other is read by rank, with the same answer", "[replay]") {
  constexpr int kSteps = 12000;  // more than is kept before it is looked at
  const test::ScratchFolder scratch;
  const std::string together = (scratch / "together.jsonl").string(), turns = (scratch / "turns.jsonl").string();
  write(together, ring_trace(kSteps, true));
  write(turns, ring_trace(kSteps, false));
  CHECK(replay::RankReaders::open(turns, std::vector<long>(kRanks, 0)) == nullptr);
  const auto by_rank = replay::RankReaders::open(together, {3L * kSteps - 1, 0, 3L * kSteps, 7});
  REQUIRE(by_rank != nullptr);
  TraceEvent event;
  for (const int rank : {3, 0, 3, 1}) {
    REQUIRE(by_rank->next(rank, event));
    CHECK(event.rank == rank);
    if (rank != 3) CHECK(event.id.value() == (rank == 0 ? 3L * kSteps : 1));
  }
  CHECK(event.kind == TraceKind::kCompute);
  CHECK_FALSE(by_rank->next(0, event));
  CHECK_FALSE(by_rank->next(2, event));
  CHECK(replayed(together) == replayed(turns));
}

TEST_CASE("replay: what is wrong with a trace that is read by rank is said with its line", "[replay]") {
  constexpr int kSteps = 12000;
  const test::ScratchFolder scratch;
  const std::string file = (scratch / "wrong.jsonl").string();
  std::string text = ring_trace(kSteps, true);
  const std::size_t last = text.rfind("\"peer\":");
  text.replace(last, 8, "\"peer\":9");
  write(file, text);
  const std::string line = "line " + std::to_string(1 + 3L * kRanks * kSteps);
  std::string said;
  try {
    replayed(file);
  } catch (const InputError& error) {
    said = error.what();
  }
  CHECK(said.find(line) != std::string::npos);
  CHECK(said.find("/peer") != std::string::npos);
}

TEST_CASE("goal: sends that nothing requires cost as much as those that something does", "[traces]") {
  constexpr int kSteps = 20000;
  std::ostringstream text;
  text << "num_ranks 2\nrank 0 {\n";
  for (int step = 0; step < kSteps; ++step) {
    text << "c" << step << ": calc 10\ns" << step << ": send 8b to 1\nr" << step << ": recv 8b from 1\n";
    if (step > 0) text << "c" << step << " requires r" << step - 1 << "\n";
    text << "s" << step << " requires c" << step << "\nr" << step << " requires c" << step << "\n";
  }
  text << "}\nrank 1 {\n}\n";
  const test::ScratchFolder scratch;
  const std::string file = (scratch / "loose.goal").string();
  write(file, text.str());
  class Streams final : public TraceSink {
   public:
    void header(const TraceHeader& /*header*/) override {}
    void event(const TraceEvent& event) override { names.insert(event.stream); }
    std::set<std::string> names{};
  } sink;
  const std::clock_t begin = std::clock();
  trace_importers().get("goal").run({file}, TraceOptions({}), sink);
  CHECK(sink.names.size() == kSteps + 2);
  constexpr double kMost_s = 5;  // 40 times what it takes; where each operation looks at all streams it is 20 s
  CHECK(static_cast<double>(std::clock() - begin) / CLOCKS_PER_SEC < kMost_s);
}

}  // namespace linkcast::test::message_traces_test
