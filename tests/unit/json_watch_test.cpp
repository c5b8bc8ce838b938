// Parsing that is watched: the events of nlohmann's parser with a callback, in time linear in the text.
#include "sim/base/json_watch.hpp"

#include <fmt/format.h>

#include <sstream>
#include <string>
#include <vector>

#include "sim/base/limits.hpp"
#include "tests/support/catch.hpp"

namespace linkcast::test::json_watch_test {

namespace {

using Event = Json::parse_event_t;

const std::string kText = R"( {"a": [1, -2, 2.5e3, "t\u00e9xt", true, null, [], {}], "b": {"c": {"d": [[{"e": 1}]]}},
  "a": "again", "": [{"x": 1}, {"y": [2]}, 3]} )";

std::string shown(int depth, Event event, const Json& part) {
  const bool whole = event != Event::object_start && event != Event::array_start;  // else nlohmann shows nothing yet
  return fmt::format("{} {} {}", depth, static_cast<int>(event), whole ? part.dump() : "");
}

/// "[{...}, ...]" of so many objects.
std::string objects(int count) {
  std::string text = "[";
  for (int i = 0; i < count; ++i) text += fmt::format("{}{{\"a\": {}, \"b\": {{\"c\": [1]}}}}", i > 0 ? "," : "", i);
  return text + "]";
}

}  // namespace

TEST_CASE("the events are those of nlohmann's own callback", "[unit]") {
  std::vector<std::string> theirs, ours;
  const Json plain = Json::parse(kText, [&](int depth, Event event, Json& part) {
    theirs.push_back(shown(depth, event, part));
    return true;
  });
  const JsonWatch watch = [&](int depth, Event event, Json& part) {
    ours.push_back(shown(depth, event, part));
    return true;
  };
  CHECK(parse_watched(kText, "f.json", watch) == plain);
  CHECK(ours == theirs);
  std::istringstream stream(kText);
  CHECK(parse_watched(stream, "f.json", {}) == plain);
  for (const char* one : {"7", "\"t\"", "null", "[]"})
    CHECK(parse_watched(std::string(one), "f.json", {}) == Json::parse(one));
}

TEST_CASE("an array forgets the objects that its watch does not keep", "[unit]") {
  std::vector<Json> seen;
  const Json rest = parse_watched(std::string(R"({"list": [{"i": 0}, 5, {"i": [{"j": 1}]}], "o": {"i": 1}})"), "f.json",
                                  [&](int depth, Event event, Json& part) {
                                    if (depth != 2 || event != Event::object_end) return true;
                                    seen.push_back(part);
                                    return false;
                                  });
  CHECK(rest == Json::parse(R"({"list": [5], "o": {"i": 1}})"));
  CHECK(seen == std::vector<Json>{Json::parse(R"({"i": 0})"), Json::parse(R"({"i": [{"j": 1}]})")});
}

TEST_CASE("JSON of other tools: what is broken is discarded, what is deep refused", "[unit]") {
  for (const char* broken : {"", "{", "[1,", "{\"a\": NaN}", "[1] 2", "{\"a\": 1e999}", "[\"\xff\"]"})
    CHECK(parse_foreign_json(std::string(broken), "f.json").is_discarded());
  CHECK(parse_foreign_json(std::string(100, '[') + std::string(100, ']'), "f.json").is_array());
  CHECK_THROWS_WITH(parse_foreign_json(std::string(101, '[') + std::string(101, ']'), "f.json"),
                    "f.json: nested deeper than 100 levels");
  CHECK_THROWS_WITH(parse_foreign_json(std::string(100000, '['), "f.json"), "f.json: nested deeper than 100 levels");
}

TEST_CASE("four times as many objects take four times as long", "[unit]") {
  const auto time_s = [](int count) {
    const std::string text = objects(count);
    const double start_s = work::thread_time_s();
    CHECK(parse_foreign_json(text, "f.json").size() == static_cast<std::size_t>(count));
    return work::thread_time_s() - start_s;
  };
  constexpr int kFew = 15000;
  time_s(kFew);                                // memory grows
  CHECK(time_s(4 * kFew) < 9 * time_s(kFew));  // between linear, 4, and quadratic, 16
}

TEST_CASE("parsing ends where its request does", "[unit]") {
  const work::StopFlag flag;
  const work::Scope scope(flag, work::Scope::Clock::now());
  CHECK_THROWS_AS(parse_foreign_json(objects(5000), "f.json"), work::Stopped);
}

}  // namespace linkcast::test::json_watch_test
