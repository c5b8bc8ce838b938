// Platforms that are another one but for a few cables: topologies/*.json of schema variant/1.
#include "sim/machine/variant.hpp"

#include <algorithm>
#include <fstream>

#include "sim/query/query.hpp"
#include "tests/support/catalogue.hpp"
#include "tests/support/catch.hpp"
#include "tests/unit/program.hpp"

namespace linkcast::test::variant_test {

namespace {

const std::string kBase = "v100-dgx1", kSets = "v100-dgx1-fig19a", kPairs = "v100-dgx1-fig19b";

const Topology& wiring(const std::string& id) { return catalogue().machine(id)->platform().wiring(); }

int links(const Topology& wiring, int a, int b) {
  const auto& gpus = wiring.gpus();
  return wiring.direct_links(gpus[static_cast<std::size_t>(a)], gpus[static_cast<std::size_t>(b)]);
}

std::string with(const std::string& changes, const std::string& more = "") {
  return R"({"schema": "variant/1", "name": "x", "title": "X", "source": "a test", "base": "v100-dgx1", "changes": [)" +
         changes + "]" + more + "}";
}

/// What is wrong with a file, behind its path.
std::string refusal(const std::string& text) {
  const test::ScratchFolder folder;
  const std::string path = (folder / "x.json").string();
  std::ofstream(path) << text;
  try {
    static_cast<void>(variant_platform(read_variant(path), catalogue().machine(kBase)->platform()));
  } catch (const InputError& error) {
    const std::string what = error.what();
    REQUIRE(what.rfind(path + ":", 0) == 0);
    return what.substr(path.size() + 1);
  }
  return "";
}

}  // namespace

// source: Tartan (IISWC 2018) section VI names the sets and the pairs; an NVLink 2 GPU has six links
TEST_CASE("the two other wirings of a V100 DGX-1 keep six links a GPU and serve the sets they are meant for",
          "[unit]") {
  for (const std::string& id : {kSets, kPairs})
    for (int gpu = 0; gpu < 8; ++gpu) {
      int total = 0;
      for (int other = 0; other < 8; ++other) total += other == gpu ? 0 : links(wiring(id), gpu, other);
      CHECK(total == 6);
    }
  for (int a = 0; a < 8; ++a)
    for (int b = 0; b < a; ++b) CHECK(links(wiring(kSets), a, b) == (a / 4 == b / 4 ? 2 : 0));
  for (const auto& [a, b] : {std::pair(0, 3), std::pair(1, 2), std::pair(4, 7), std::pair(5, 6)})
    CHECK(links(wiring(kPairs), a, b) == 3);
  for (int a = 0; a < 8; ++a)
    for (int b = 0; b < a; ++b) CHECK((links(wiring(kPairs), a, b) > 0) == (links(wiring(kBase), a, b) > 0));
}

TEST_CASE("a variant shares parameters and everything but the changed cables with its base", "[unit]") {
  for (const std::string& id : {kSets, kPairs}) {
    const auto &mine = catalogue().machine(id)->platform().calibration().parameters,
               &base = catalogue().machine(kBase)->platform().calibration().parameters;
    REQUIRE(mine.size() == base.size());
    for (const auto& [name, parameter] : base) {
      CHECK(mine.at(name).value == parameter.value);
      CHECK(mine.at(name).stderr_ == parameter.stderr_);
    }
    CHECK(wiring(id).name == id);
    CHECK(wiring(id).source.find("assumed:") != std::string::npos);
    int changed = 0;
    for (const Cable& cable : wiring(id).cables) {
      const Cable* before = wiring(kBase).direct(cable.a, cable.b);
      if (cable.kind != "nvlink2" || before->count == cable.count) continue;
      CHECK(cable.source.find("assumed:") != std::string::npos);
      ++changed;
    }
    CHECK(changed > 0);
  }
}

TEST_CASE("variants are platforms like others", "[unit]") {
  const auto known = catalogue().platforms();
  for (const std::string& id : {kSets, kPairs}) CHECK(std::count(known.begin(), known.end(), id) == 1);
  // edits lead from the base to the variant and, on top of it, back
  const catalogue::MachinePtr back = catalogue().edited(
      catalogue().machine(kPairs),
      {"remove gpu0-gpu3:1", "remove gpu1-gpu2:1", "remove gpu4-gpu7:1", "remove gpu5-gpu6:1", "add gpu2-gpu3:nvlink2",
       "add gpu6-gpu7:nvlink2", "add gpu0-gpu4:nvlink2", "add gpu1-gpu5:nvlink2"});
  for (int a = 0; a < 8; ++a)
    for (int b = 0; b < a; ++b) CHECK(links(back->platform().wiring(), a, b) == links(wiring(kBase), a, b));
  const auto run = test::run_program("calibrate fit " + test::data_dir() +
                                     "/calibrate/data/v100-hcm/p2p-matrix.json --topology v100-dgx1-fig19a --out -");
  CHECK(run.code == 2);
  CHECK(run.err.find("v100-dgx1-fig19a.json:/changes: this is a machine that was never built") != std::string::npos);
}

TEST_CASE("a variant that is wrong is refused in one line with its place", "[unit][bad_input]") {
  const std::string good = R"({"edit": "remove gpu0-gpu4", "source": "assumed: a test"})";
  CHECK(refusal(with(good)) == "");
  CHECK(refusal(with("")) == "/changes: at least one: without any it is the base");
  CHECK(refusal(with(good, R"(, "devices": [])")).rfind("/devices: unknown key", 0) == 0);
  CHECK(refusal(with(good + R"(, {"edit": "add gpu0-gpu5:nvlink2", "source": ""})")) ==
        "/changes/1/source: a change without a source is not accepted");
  CHECK(refusal(with(R"({"edit": "remove :1", "source": "x"})")).rfind("/changes/0/edit: edit 'remove :1': ", 0) == 0);
  CHECK(refusal(with(R"({"edit": "remove gpu0", "source": "x"})"))
            .rfind("/changes: edit 'remove gpu0': 'gpu0' is a device, not a cable", 0) == 0);
  CHECK(refusal(with(R"({"edit": "slow gpu0:2", "source": "x"})")) ==
        "/changes/0/edit: 'slow gpu0:2': a variant removes and adds cables, nothing else");
  CHECK(refusal(with(R"({"edit": "remove gpu0-gpu7", "source": "x"})"))
            .rfind("/changes: edit 'remove gpu0-gpu7': no such cable", 0) == 0);
  CHECK(refusal(with(R"({"edit": "add gpu0-gpu7:nvlink4", "source": "x"})"))
            .rfind("/changes: edit 'add gpu0-gpu7:nvlink4': no platform here has cables of the kind nvlink4", 0) == 0);
}

}  // namespace linkcast::test::variant_test
