// `predict --batch`: one line in, one line out, same order, errors beside results, the same answer wherever it stands.
#include <algorithm>
#include <string>
#include <vector>

#include "sim/base/object_reader.hpp"
#include "sim/query/batch_line.hpp"
#include "sim/query/query.hpp"
#include "tests/support/catalogue.hpp"
#include "tests/support/catch.hpp"
#include "tests/unit/program.hpp"

namespace linkcast::test::batch_test {

namespace {

const std::string kMixed = "tests/input/batch_mixed.jsonl";

std::vector<std::string> split(const std::string& text) {
  std::vector<std::string> lines;
  std::istringstream in(text);
  for (std::string line; std::getline(in, line);) lines.push_back(line);
  return lines;
}

std::vector<std::string> questions() { return split(text_of_file(test::data_dir() + "/" + kMixed)); }

/// An answer without the place its question stood at: "FILE line 7: ..." becomes "...".
std::string without_place(const std::string& line) {
  Json answer = Json::parse(line);
  if (!answer.contains("error")) return line;
  const auto error = answer["error"].get<std::string>();
  answer["error"] = error.substr(error.find_first_not_of("0123456789", error.find(" line ") + 6));
  return answer.dump();
}

Run batch_of(const std::vector<std::string>& lines) {
  const ScratchFolder scratch;
  std::ofstream out(scratch / "batch.jsonl");
  for (const std::string& line : lines) out << line << '\n';
  out.close();
  return run_program("predict --batch '" + (scratch / "batch.jsonl").string() + "'");
}

/// Queries with answers of each kind, and such as have warnings, edits and old values.
std::vector<Json> answerable() {
  std::vector<Json> all;
  for (const PluginInfo& info : query::query_kinds().list())
    for (const std::string& text : query::query_kinds().get(info.name).examples()) {
      all.push_back(Json::parse(text));
      all.back()["kind"] = info.name;
    }
  const Json copy{{"id", {1, "\n"}}, {"kind", "p2p"}, {"platform", "p100-dgx1"},
                  {"src", 0},        {"dst", "gpu1"}, {"size_B", "1MiB"}};
  for (const char* more : {R"({"edits": ["scale gpu0-gpu1:0.5"]})", R"({"platform": "gx8"})"}) {
    all.push_back(copy);
    all.back().update(Json::parse(more));
  }
  all.push_back({{"kind", "collective"},
                 {"platform", "hgx-h100"},
                 {"op", "all_reduce"},
                 {"gpus", {0, 1}},
                 {"size_B", 1024},
                 {"library", "2.18"}});
  return all;
}

}  // namespace

TEST_CASE("an answer is written as its tree would be, and its members are those of the tree", "[unit][batch]") {
  std::size_t edited = 0, old = 0;
  for (const Json& query : answerable()) {
    INFO(query.dump());
    const Json answer = query::answer_or_throw(catalogue(), query, "test");
    CHECK(query::written_answer(catalogue(), query, "test") == write_quickly(answer));
    Json members = query::members_of_answer(catalogue(), query, "test");
    CHECK(write_quickly(query::row_of(members)) == write_quickly(query::row_of(answer)));
    for (const char* key : {"inputs", "versions"}) members[key] = answer[key];
    CHECK(members == answer);
    edited += answer["inputs"].contains("edits");
    old += answer["inputs"]["query"] != query;
  }
  CHECK(edited > 0);
  CHECK(old > 0);
}

TEST_CASE("good and bad queries mixed: one answer a line, in order, ids kept", "[unit][batch]") {
  const auto asked = questions();
  const Run run = run_program("predict --batch " + kMixed);
  CHECK(run.code == 1);  // it holds errors
  CHECK(run.err.empty());
  const auto answers = split(run.out);
  REQUIRE(answers.size() == asked.size());
  int good = 0, bad = 0;
  for (std::size_t i = 0; i < asked.size(); ++i) {
    INFO(asked[i]);
    const Json answer = Json::parse(answers[i]);
    const Json query = Json::parse(asked[i], nullptr, false);
    const bool error = answer.contains("error");
    (error ? bad : good) += 1;
    if (query.is_object() && query.contains("id") && asked[i].find("\"id\": 14") == std::string::npos &&
        asked[i].find("1e999") == std::string::npos)
      CHECK(answer.at("id") == query["id"]);
    if (!error) continue;
    CHECK(answer.size() == 2);  // id and error, nothing else
    CHECK(answer.contains("id"));
    const std::string place = kMixed + " line " + std::to_string(i + 1) + ":";
    CHECK(answer["error"].get<std::string>().rfind(place, 0) == 0);
  }
  CHECK(good == 9);
  CHECK(bad == 11);
}

TEST_CASE("errors of a batch name the line and the JSON pointer", "[unit][batch]") {
  const auto answers = split(run_program("predict --batch " + kMixed).out);
  const auto error = [&](std::size_t line) { return Json::parse(answers.at(line - 1)).value("error", ""); };
  CHECK(error(4) == kMixed + " line 4: no peer access from gpu0 to gpu5 on p100-dgx1: use transport relay or staged");
  CHECK(error(7) == kMixed + " line 7:/gpus/1: 0 is given twice");
  CHECK(error(9) == kMixed + " line 9:/: must be an object, not array");
  CHECK(error(12) == kMixed + " line 12:/size_B: must be a whole number of bytes from 1 to 2^53");
  CHECK(error(14).rfind(kMixed + " line 14:/colour: unknown key; known here: ", 0) == 0);
  CHECK(error(15) == kMixed + " line 15:/id: duplicate key");
  CHECK(error(16) == kMixed + " line 16:/flows/0: must be [src, dst, size_B], e.g. [\"gpu0\", \"gpu1\", 67108864]");
}

TEST_CASE("a batch gives the same bytes twice, and the same answers in reversed order", "[unit][batch]") {
  const Run first = run_program("predict --batch " + kMixed);
  CHECK((first.out == run_program("predict --batch " + kMixed).out));
  auto asked = questions();
  std::reverse(asked.begin(), asked.end());
  auto reversed = split(batch_of(asked).out);
  std::reverse(reversed.begin(), reversed.end());
  const auto forward = split(first.out);
  REQUIRE(reversed.size() == forward.size());
  for (std::size_t i = 0; i < forward.size(); ++i) CHECK(without_place(forward[i]) == without_place(reversed[i]));
}

TEST_CASE("a batch on several threads gives the bytes of one, and the same exit code", "[unit][batch]") {
  const Run one = run_program("predict --batch " + kMixed);
  const std::string file = test::data_dir() + "/" + kMixed;
  for (const std::string& how :
       {"predict --batch " + kMixed + " --jobs 2", "predict --batch " + kMixed + " --jobs 7"}) {
    const Run several = run_program(how);
    CHECK((several.out == one.out));
    CHECK(several.code == one.code);
  }
  const Run input = run_program("predict --batch - --jobs 3 < '" + file + "'");
  CHECK((input.out == run_program("predict --batch - < '" + file + "'").out));
  std::vector<std::string> many;
  for (int i = 0; i < 300; ++i)
    many.push_back(R"({"kind":"p2p","platform":"hgx-h200","src":"gpu0","dst":"gpu1","size_B":)" +
                   std::to_string(1000 + i) + "}");
  const ScratchFolder scratch;
  std::ofstream out(scratch / "many.jsonl");
  for (const std::string& line : many) out << line << '\n';
  out.close();
  const std::string path = (scratch / "many.jsonl").string();
  const Run together = run_program("predict --batch '" + path + "' --jobs 4");
  CHECK(split(together.out).size() == many.size());
  CHECK((together.out == run_program("predict --batch '" + path + "'").out));
  const Run none = run_program("predict --batch " + kMixed + " --jobs 0");
  CHECK(none.code == 2);
  CHECK(none.err.find("--jobs") != std::string::npos);
}

TEST_CASE("a query alone, in a batch, on standard input and on the command line: one answer", "[unit][batch]") {
  const auto forward = split(run_program("predict --batch " + kMixed).out);
  const auto asked = questions();
  for (std::size_t i = 0; i < asked.size(); ++i) {
    const Run alone = batch_of({asked[i]});
    REQUIRE(split(alone.out).size() == 1);
    CHECK(alone.code == (Json::parse(split(alone.out)[0]).contains("error") ? 1 : 0));
    CHECK(without_place(split(alone.out)[0]) == without_place(forward[i]));
  }
  const Run piped = run_program("predict --batch - < " + kMixed);
  CHECK(piped.code == 1);
  REQUIRE(split(piped.out).size() == forward.size());
  CHECK(split(piped.out)[0] == forward[0]);
  const Run typed = run_program("predict p2p --platform p100-dgx1 --src gpu0 --dst gpu1 --size 64MiB --json");
  CHECK(Json::parse(typed.out)["time_s"] == Json::parse(forward[0])["time_s"]);
}

TEST_CASE("blank lines, broken UTF-8 and a missing last newline do no harm", "[unit][batch]") {
  const Run run =
      batch_of({"", "{\"id\": \"\xff\"}", "  \t", R"({"id": 1, "kind": "rings", "platform": "dgx2", "gpus": [0, 1]})"});
  CHECK(run.code == 1);
  const auto answers = split(run.out);
  REQUIRE(answers.size() == 2);
  CHECK(Json::parse(answers[0]).contains("error"));
  CHECK(Json::parse(answers[1])["id"] == 1);
  const Run unfinished = run_program("predict --batch - < /dev/null");
  CHECK(unfinished.code == 0);
  CHECK(unfinished.out.empty());
  const Run cut =
      run_command("printf '%s' '{\"id\": 2, \"kind\": \"rings\", \"platform\": \"dgx2\", \"gpus\": [0, 1]}' | '" +
                  test::program() + "' predict --batch -");
  CHECK(cut.code == 0);
  REQUIRE(split(cut.out).size() == 1);
  CHECK(Json::parse(cut.out)["id"] == 2);
}

}  // namespace linkcast::test::batch_test
