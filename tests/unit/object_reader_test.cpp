// Strict reading of JSON: every error names file and pointer.
#include "sim/base/object_reader.hpp"

#include <filesystem>
#include <functional>
#include <string>

#include "sim/base/file_hash.hpp"
#include "tests/support/catch.hpp"
#include "tests/support/error_of.hpp"
#include "tests/unit/program.hpp"

namespace linkcast::test::object_reader_test {

namespace {

/// Error of reading `text` as an object of the file "f.json".
std::string reading(const std::string& text, const std::function<void(ObjectReader&)>& action) {
  return error_of([&] {
    const Json json = parse_json(text, "f.json");
    ObjectReader r(json, "f.json");
    action(r);
  });
}

bool begins(const std::string& text, const std::string& with) { return text.rfind(with, 0) == 0; }

}  // namespace

TEST_CASE("values of every type are read", "[unit]") {
  const Json json = parse_json(R"({"s": "text", "b": true, "i": -7, "l": 9000000000, "d": 1.5, "n": 3,
    "v": [1, 2, 3], "w": ["a"], "r": "25 GB/s", "t": "3 us", "z": "4 KiB", "o": {"x": 1}, "p": [{"y": 1}, {"y": 2}]})",
                               "f.json");
  ObjectReader r(json, "f.json");
  CHECK(r.required<std::string>("s") == "text");
  CHECK(r.required<bool>("b"));
  CHECK(r.required<int>("i") == -7);
  CHECK(r.required<std::int64_t>("l") == 9000000000);
  CHECK(r.required<double>("d") == 1.5);
  CHECK(r.required<double>("n") == 3);
  CHECK(r.required<std::vector<int>>("v") == std::vector<int>{1, 2, 3});
  CHECK(r.required<std::vector<std::string>>("w") == std::vector<std::string>{"a"});
  CHECK(r.bandwidth("r").si == 25e9);
  CHECK_THAT(r.seconds("t").si, WithinRel(3e-6, 1e-15));
  CHECK(r.bytes("z").si == 4096);
  CHECK_FALSE(r.optional<int>("absent").has_value());
  CHECK(r.optional<int>("i") == -7);
  CHECK_FALSE(r.optional_object("absent").has_value());
  CHECK(r.optional_object("o")->required<int>("x") == 1);
  auto list = r.objects("p");
  REQUIRE(list.size() == 2);
  CHECK(list[1].required<int>("y") == 2);
  CHECK(list[1].pointer("y") == "/p/1/y");
  CHECK(r.has("s"));
  CHECK_FALSE(r.has("absent"));
  CHECK(r.file() == "f.json");
  CHECK_NOTHROW(r.finish());
}

TEST_CASE("a map of names to objects is read in the file's order", "[unit]") {
  const Json json = parse_json(R"({"zeta": {}, "alpha/1": {}})", "f.json");
  ObjectReader r(json, "f.json");
  auto named = r.named_objects();
  REQUIRE(named.size() == 2);
  CHECK(named[0].first == "zeta");
  CHECK(named[1].second.pointer() == "/alpha~11");
  CHECK_NOTHROW(r.finish());
}

TEST_CASE("a wrong type names the pointer and what is wanted", "[unit]") {
  const auto read = [](const char* text, auto value) {
    return reading(text, [](ObjectReader& r) { static_cast<void>(r.required<decltype(value)>("k")); });
  };
  const auto size = [](const char* text) {
    return reading(text, [](ObjectReader& r) {
      static_cast<void>(r.optional<std::string>("size_text"));
      static_cast<void>(r.required<int>("size_B"));
    });
  };
  CHECK(size(R"({"size": 1, "op": 2})") == "f.json:/size_B: missing key (did you mean 'size_B' by 'size'?)");
  CHECK(size(R"({"size_text": "1", "op": 2})") == "f.json:/size_B: missing key");
  CHECK(read("{}", 0) == "f.json:/k: missing key");
  CHECK(read(R"({"k": null})", 0) == "f.json:/k: must be a whole number");
  CHECK(read(R"({"k": 1.5})", 0) == "f.json:/k: must be a whole number");
  CHECK(read(R"({"k": 3000000000})", 0) == "f.json:/k: must be a whole number below 2^31");
  CHECK(read(R"({"k": 18446744073709551615})", std::int64_t{}) == "f.json:/k: must be a whole number below 2^63");
  CHECK(read(R"({"k": 1})", std::string()) == "f.json:/k: must be a string");
  CHECK(read(R"({"k": 1})", true) == "f.json:/k: must be true or false");
  CHECK(read(R"({"k": "1"})", 1.0) == "f.json:/k: must be a number");
  CHECK(read(R"({"k": 1})", std::vector<int>()) == "f.json:/k: must be an array");
  CHECK(read(R"({"k": [1, "2"]})", std::vector<int>()) ==
        "f.json:/k: must be an array of which each element is a whole number");
}

TEST_CASE("wrong quantities and choices name the pointer", "[unit]") {
  CHECK(begins(reading(R"({"k": "25"})", [](ObjectReader& r) { r.bandwidth("k"); }), "f.json:/k: '25' has no unit: "));
  CHECK(reading(R"({"k": 25e9})", [](ObjectReader& r) { r.bandwidth("k"); }) == "f.json:/k: must be a string");
  CHECK(begins(reading(R"({"k": "1 B"})", [](ObjectReader& r) { r.seconds("k"); }), "f.json:/k: '1 B': unknown unit"));
  CHECK(reading(R"({"k": "8M"})", [](ObjectReader& r) { r.bytes("k"); }) ==
        "f.json:/k: '8M' is ambiguous: write 8MiB (binary) or 8MB (decimal)");
  CHECK(reading(R"({"k": "c"})", [](ObjectReader& r) {
          r.choice("k", {"a", "b"});
        }) == "f.json:/k: 'c' is not allowed: one of a, b");
  CHECK(reading(R"({"schema": "topology/2"})", [](ObjectReader& r) { r.schema("topology/1"); }) ==
        "f.json:/schema: is 'topology/2', this program reads 'topology/1'");
  CHECK(reading("{}", [](ObjectReader& r) { r.schema("topology/1"); }) == "f.json:/schema: missing key");
}

TEST_CASE("wrong nesting names the pointer", "[unit]") {
  CHECK(reading("[]", [](ObjectReader&) {}) == "f.json:/: must be an object, not array");
  CHECK(reading(R"({"k": 1})", [](ObjectReader& r) { r.object("k"); }) == "f.json:/k: must be an object, not number");
  CHECK(reading(R"({"k": {}})", [](ObjectReader& r) { r.objects("k"); }) == "f.json:/k: must be an array of objects");
  CHECK(reading(R"({"k": [{}, 3]})", [](ObjectReader& r) { r.objects("k"); }) ==
        "f.json:/k/1: must be an object, not number");
  CHECK(reading(R"({"a/b": {"c~d": {}}})", [](ObjectReader& r) { r.object("a/b").required<int>("c~d"); }) ==
        "f.json:/a~1b/c~0d: must be a whole number");
}

TEST_CASE("a key that nobody asked for is an error that lists the known ones", "[unit]") {
  CHECK(reading(R"({"size": 1, "sise": 2})", [](ObjectReader& r) {
          r.required<int>("size");
          r.optional<int>("count");
          static_cast<void>(r.has("rate"));  // looked for, absent: still a key that may stand here
          r.finish();
        }) == "f.json:/sise: unknown key (did you mean 'size'?); known here: count, rate, size");
  CHECK(reading(R"({"a": 1, "b": 2})", [](ObjectReader& r) {
          if (!r.has("b")) return;  // looked for but not read
          r.required<int>("a");
          r.finish();
        }) == "f.json:/b: unknown key; known here: a");
}

TEST_CASE("duplicate keys are found wherever they stand", "[unit]") {
  const auto parse = [](const std::string& text) { return error_of([&] { parse_json(text, "f.json"); }); };
  CHECK(parse(R"({"a": 1, "a": 2})") == "f.json:/a: duplicate key");
  CHECK(parse(R"({"a": [0, [1], {"b/c": 1, "b/c": 1}]})") == "f.json:/a/2/b~1c: duplicate key");
  CHECK(parse(R"([{"x": {"y": 1}}, {"x": {"y": 1, "z": 2, "y": 3}}])") == "f.json:/1/x/y: duplicate key");
  CHECK(parse(R"({"a": {"a": {"a": 1}}, "b": [{"a": 1}, {"a": 1}]})") == "no error");
}

TEST_CASE("broken text says where", "[unit]") {
  const auto parse = [](const std::string& text) { return error_of([&] { parse_json(text, "f.json"); }); };
  CHECK(begins(parse("{\n\"a\": }"), "f.json: not JSON: parse error at line 2, column 6: "));
  CHECK(begins(parse(""), "f.json: not JSON: parse error at line 1, column 1: "));
  CHECK(begins(parse("{\"a\": 1e999}"), "f.json: not JSON: "));
  CHECK(begins(parse("{\"a\": 1} {"), "f.json: not JSON: "));
  CHECK(test::lines_of(parse("{\"a\n\": 1}")) == 0);
}

TEST_CASE("a file that cannot be read says so", "[unit]") {
  const test::ScratchFolder scratch;
  const std::string absent = (scratch / "absent.json").string();
  CHECK(error_of([&] { read_json_file(absent); }) == absent + ": no such file, or not readable");
  CHECK(error_of([&] { sha256_of_file(absent); }) == absent + ": no such file, or not readable");
  const std::string folder = (scratch / "").string();
  CHECK(error_of([&] { read_json_file(folder); }) == folder + ": is a folder, not a file");
}

TEST_CASE("SHA-256 agrees with the standard's examples", "[unit]") {
  // source: FIPS 180-2, appendix B.1 and B.2; the empty text: NIST CAVP, SHA256ShortMsg.rsp
  CHECK(sha256_of_text("abc") == "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
  CHECK(sha256_of_text("abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq") ==
        "248d6a61d20638b8e5c026930c3e6039a33ce45964ff2167f6ecedd419db06c1");
  CHECK(sha256_of_text("") == "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855");
}

TEST_CASE("an error without a pointer points at the whole document", "[unit]") {
  CHECK(std::string(InputError("f.json", "", "is odd").what()) == "f.json:/: is odd");
  CHECK(std::string(InputError("f.json", "/a", "is odd").what()) == "f.json:/a: is odd");
}

TEST_CASE("JSON nested too deeply is refused, not recursed into", "[unit]") {
  const std::string deep = std::string(1000, '[') + std::string(1000, ']');
  CHECK_THROWS_WITH(parse_json(deep, "line 1"), "line 1: nested deeper than 100 levels");
}

}  // namespace linkcast::test::object_reader_test
