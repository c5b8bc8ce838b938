// What reads fast reads the same as what reads strictly, and gives up where that has something to say.
#include <algorithm>
#include <cstdint>
#include <cstring>
#include <iterator>
#include <random>
#include <set>
#include <sstream>

#include "sim/base/object_reader.hpp"
#include "sim/base/packed_file.hpp"
#include "sim/base/release.hpp"
#include "sim/replay/queues.hpp"
#include "tests/support/catch.hpp"

namespace linkcast::test::quick_reading_test {

namespace {

std::vector<std::string> lines_of(std::istream& stream) {
  LineBlocks blocks(stream);
  std::vector<std::string> lines;
  while (const auto line = blocks.next()) lines.emplace_back(*line);
  return lines;
}

}  // namespace

TEST_CASE("lines: as getline finds them, also over the ends of blocks", "[quick]") {
  for (const std::size_t length : {0U, 1U, 1000U, 131071U, 131072U, 300000U}) {
    std::string text;
    for (int line = 0; line < 5; ++line) text += std::string(length + static_cast<std::size_t>(line), 'x') + "\n\n";
    for (const std::string& whole : {text, text + "last"}) {
      std::istringstream expected(whole), stream(whole);
      std::vector<std::string> lines;
      for (std::string line; std::getline(expected, line);) lines.push_back(line);
      CHECK(lines_of(stream) == lines);
    }
  }
}

TEST_CASE("quick JSON: the same values in the same order", "[quick]") {
  for (const char* text :
       {R"({"b":1,"a":-1,"c":[1.5,1e300,-0.0,0,18446744073709551615,-9223372036854775808],"d":{"e":null,"f":true}})",
        R"(["\u00e4\"\\\n", "", {}, []])", "17", " 1.0 ",
        R"({"0.1":0.1,"x":2.2250738585072011e-308,"y":123456789012345678})"}) {
    Json quick;
    REQUIRE(read_quickly(text, quick));
    const Json strict = Json::parse(text);
    CHECK(quick == strict);
    CHECK(quick.dump() == strict.dump());
  }
}

TEST_CASE("quick JSON: written as the library writes it", "[quick]") {
  std::mt19937_64 random(7);
  for (int i = 0; i < 20000; ++i) {
    const std::uint64_t bits = random();
    Json all = {
        {"double", 0.0}, {"unsigned", bits}, {"signed", static_cast<std::int64_t>(random())}, {"none", nullptr}};
    double value = 0;
    std::memcpy(&value, &bits, sizeof value);
    all["double"] = i % 3 == 0 ? value : static_cast<double>(bits % 1000000) / (i % 3 == 1 ? 1e9 : 8);
    std::string text;
    for (std::uint64_t c = 0; c < bits % 7; ++c) text += static_cast<char>(random() % (i % 2 == 0 ? 128 : 256));
    all[text] = {text, Json::array(), Json::object(), i % 2 == 0, std::string("plain"), Json::array({-0.0, 1e300})};
    REQUIRE(write_quickly(all) == all.dump(-1, ' ', false, Json::error_handler_t::replace));
  }
  for (const Json& one : {Json(), Json(1.0 / 0.0), Json::array(), Json::object(), Json("\x7f\n"), Json(true)})
    CHECK(write_quickly(one) == one.dump());
}

TEST_CASE("quick JSON: what is released is empty, and a single value stays", "[quick]") {
  Json object = {{"flows", {{"gpu0", "gpu1", 1}, {{{"deep", {1, 2}}}}}}, {"text", "t"}};
  Json list = {1, {2, {3, "four"}}, Json::object()};
  Json text = "stays", nothing;
  for (Json* tree : {&object, &list, &text, &nothing}) release(*tree);
  CHECK(object == Json::object());
  CHECK(list == Json::array());
  CHECK(text == "stays");
  CHECK(nothing.is_null());
}

TEST_CASE("quick JSON: each byte of a text, wherever it stands", "[quick]") {
  for (int byte = 0; byte < 256; ++byte)
    for (std::size_t length = 1; length < 20; ++length)
      for (std::size_t at = 0; at < length; ++at) {
        std::string text(length, at % 2 == 0 ? '~' : ' ');
        text[at] = static_cast<char>(byte);
        const Json one(text);
        REQUIRE(write_quickly(one) == one.dump(-1, ' ', false, Json::error_handler_t::replace));
      }
}

TEST_CASE("quick JSON: gives up on what has to be refused with a reason", "[quick]") {
  for (const std::string& text :
       {std::string(R"({"a":1,"a":2})"), std::string("{"), std::string("1e400"), std::string("{} {}"),
        std::string("\"\xff\""), std::string(), std::string(200, '[') + std::string(200, ']')}) {
    INFO(text);
    Json quick;
    CHECK_FALSE(read_quickly(text, quick));
  }
}

TEST_CASE("queue and open ids: order is kept while places are used again", "[quick]") {
  replay::Fifo<int> queue;
  replay::OpenIds ids;
  int in = 0, out = 0;
  for (int round = 0; round < 100; ++round) {
    for (int i = 0; i < round % 7; ++i) {
      ids.open(in);
      queue.push() = in++;
    }
    for (int i = 0; i < round % 5 && !queue.empty(); ++i) {
      CHECK(queue.front() == out);
      CHECK(ids.is_open(out));
      ids.close(out);
      CHECK_FALSE(ids.is_open(out));
      ++out;
      queue.pop();
    }
  }
  CHECK_FALSE(ids.is_open(in));
  ids.close(in - 1);
  CHECK(ids.is_open(in - 2));
}

TEST_CASE("open ids: those with gaps between, that end in any order", "[quick]") {
  replay::OpenIds ids;
  std::set<std::int64_t> expected;
  std::mt19937 random(3);
  std::int64_t last = -1'000'000'000'000;
  for (int i = 0; i < 20000; ++i) {
    if (expected.size() < 40 && random() % 2 == 0) {
      last += random() % 5 == 0 ? 1'000'000'000 : 1 + random() % 3;
      ids.open(last);
      expected.insert(last);
    } else if (!expected.empty()) {
      const auto one = std::next(expected.begin(),
                                 static_cast<std::ptrdiff_t>(random() % std::min<std::size_t>(expected.size(), 30)));
      ids.close(*one);
      expected.erase(one);
    }
    for (const std::int64_t id : {last, last - 2, last - 20, last + 1})
      REQUIRE(ids.is_open(id) == (expected.count(id) > 0));
  }
}

}  // namespace linkcast::test::quick_reading_test
