// The shipped calibrations follow from the committed measurements: calibrate/data/refit.sh makes them again.
#include <algorithm>
#include <string>
#include <vector>

#include "sim/base/object_reader.hpp"
#include "tests/support/catch.hpp"
#include "tests/unit/program.hpp"

namespace linkcast::test::refit_test {

namespace {

namespace fs = std::filesystem;

// Re-running the fit reproduces models/params to a relative 1e-9

/// Numbers to kExact, the rest alike. Calibrations that lend parameters lie in another folder here, so that their
/// path and, to the last digits, their hash may differ.
void require_alike(const Json& made, const Json& shipped, const std::string& at) {
  INFO(at);
  REQUIRE(made.type() == shipped.type());
  if (made.is_number()) {
    CHECK_THAT(made.get<double>(), WithinRel(shipped.get<double>(), kExact));
  } else if (made.is_object()) {
    const bool lent = shipped.contains("sha256") && shipped["path"].get<std::string>().rfind("models/", 0) == 0;
    REQUIRE(made.size() == shipped.size());
    auto other = shipped.begin();
    for (auto it = made.begin(); it != made.end(); ++it, ++other) {
      REQUIRE(it.key() == other.key());
      if (lent && it.key() == "path")
        CHECK(fs::path(it->get<std::string>()).filename() == fs::path(other->get<std::string>()).filename());
      else if (!lent)
        require_alike(*it, *other, at + "/" + it.key());
    }
  } else if (made.is_array()) {
    REQUIRE(made.size() == shipped.size());
    for (std::size_t i = 0; i < made.size(); ++i) require_alike(made[i], shipped[i], at + "/" + std::to_string(i));
  } else {
    CHECK(made == shipped);
  }
}

/// Calibrations and, in "reports", what their fits say of themselves.
std::vector<std::string> names_in(const fs::path& folder) {
  std::vector<std::string> names;
  for (const auto& entry : fs::recursive_directory_iterator(folder))
    if (entry.is_regular_file()) names.push_back(fs::relative(entry.path(), folder).generic_string());
  std::sort(names.begin(), names.end());
  return names;
}

}  // namespace

TEST_CASE("refitting the committed measurements gives the shipped parameters", "[refit][fit]") {
  const ScratchFolder scratch;
  const fs::path folder = scratch / "params";
  const auto run = run_command("calibrate/data/refit.sh '" + test::program() + "' '" + folder.string() + "'");
  INFO(run.err);
  REQUIRE(run.code == 0);
  const auto names = names_in(fs::path(test::data_dir()) / "models" / "params");
  CHECK(names_in(folder) == names);
  for (const std::string& name : names) {
    REQUIRE(fs::exists(folder / name));
    const fs::path shipped = fs::path(test::data_dir()) / "models" / "params" / name;
    require_alike(Json::parse(text_of_file(folder / name)), Json::parse(text_of_file(shipped)), name);
  }
}

TEST_CASE("fitting copies and collectives twice gives the same bytes", "[unit][fit]") {
  const ScratchFolder scratch;
  std::vector<std::string> texts;
  for (const char* name : {"first.json", "second.json"}) {
    const fs::path out = scratch / name;
    const auto run = run_command(
        "'" + test::program() +
        "' calibrate fit calibrate/data/p100-dgx1/p2p-matrix.json calibrate/data/p100-dgx1/p2p-message-size.json "
        "calibrate/data/p100-dgx1/tartan-nccl1.json --topology p100-dgx1 --out '" +
        out.string() + "'");
    INFO(run.err);
    REQUIRE(run.code == 0);
    texts.push_back(text_of_file(out));
  }
  CHECK((texts[0] == texts[1]));
}

}  // namespace linkcast::test::refit_test
