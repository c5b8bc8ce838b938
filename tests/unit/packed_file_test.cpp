// Recordings and traces that gzip packed are read as if it had not.
#include <zlib.h>

#include "sim/records/trace.hpp"
#include "tests/support/catch.hpp"
#include "tests/unit/kineto_timeline.hpp"

namespace linkcast::test::packed_file_test {

namespace {

std::string bytes_of(const std::string& path) {
  std::ifstream in(path, std::ios::binary);
  std::ostringstream text;
  text << in.rdbuf();
  return text.str();
}

void write(const std::string& path, const std::string& text) { std::ofstream(path, std::ios::binary) << text; }

std::string packed(const std::string& text) {
  const ScratchFolder scratch;
  const std::string path = (scratch / "packed").string();
  gzFile file = gzopen(path.c_str(), "wb");
  REQUIRE(gzwrite(file, text.data(), static_cast<unsigned>(text.size())) == static_cast<int>(text.size()));
  REQUIRE(gzclose(file) == Z_OK);
  return bytes_of(path);
}

std::string timeline() {
  Timeline made;
  for (int i = 0; i < 200; ++i)
    made.kernel("kernel" + std::to_string(i * i), 10 * i, 10 * i + 1, 10 * i + 2, 10 * i + 5);
  return made.text();
}

}  // namespace

TEST_CASE("a recording that gzip packed imports as it does unpacked", "[unit][trace]") {
  const std::string text = timeline();
  CHECK(trace_of("kineto", packed(text))->text == trace_of("kineto", text)->text);
  const std::string goal = bytes_of(trace_sample("goal.txt"));
  CHECK(trace_of("goal", packed(goal))->text == trace_of("goal", goal)->text);
}

TEST_CASE("gzip data that are broken are one error", "[unit][trace]") {
  const std::string whole = packed(timeline());
  CHECK(trace_error("kineto", whole.substr(0, whole.size() / 2)) == "FILE: gzip data that end too early");
  std::string broken = whole;
  for (std::size_t i = whole.size() / 2; i < whole.size() / 2 + 20; ++i) broken[i] = static_cast<char>(~broken[i]);
  CHECK(trace_error("kineto", broken) == "FILE: gzip data that are broken");
}

TEST_CASE("a packed trace is read", "[unit][trace]") {
  const ScratchFolder scratch;
  const std::string path = (scratch / "trace.jsonl.gz").string();
  write(path, packed(R"({"schema":"trace/1","name":"x","ranks":1,"source":"by hand"})"
                     "\n"
                     R"({"rank":0,"kind":"compute","time_s":1})"
                     "\n"));
  TraceReader reader(path);
  CHECK(reader.header().name == "x");
  CHECK(reader.next()->time_s == 1);
  CHECK_FALSE(reader.next());
}

}  // namespace linkcast::test::packed_file_test
