// Rows that may count as predicted: none whose data a fit has seen, none that holds whatever the parameters are.
#include <algorithm>
#include <cmath>
#include <filesystem>
#include <fstream>
#include <random>
#include <set>

#include "sim/query/query.hpp"
#include "tests/support/catch.hpp"
#include "tests/support/scratch_folder.hpp"
#include "validate/evaluate.hpp"

namespace linkcast::test::roles_test {

namespace {

namespace fs = std::filesystem;

const fs::path kData = test::data_dir();

std::vector<fs::path> calibrations() {
  std::vector<fs::path> paths;
  for (const auto& entry : fs::directory_iterator(kData / "models/params"))
    if (entry.path().extension() == ".json") paths.push_back(entry.path());
  std::sort(paths.begin(), paths.end());
  return paths;
}

/// Measurements that a shipped calibration was fitted to.
std::set<std::string> fitted_files() {
  std::set<std::string> files;
  for (const fs::path& path : calibrations()) {
    const Json calibration = read_json_file(path);
    for (const Json& file : calibration.at("from")) files.insert(file.at("path").get<std::string>());
  }
  return files;
}

std::vector<validate::Claim> rows_of(validate::Role role) {
  std::vector<validate::Claim> rows;
  for (validate::Claim& claim : validate::load_claims(kData / "validate/claims"))
    if (claim.role == role && claim.not_modelled.empty()) rows.push_back(std::move(claim));
  return rows;
}

std::vector<std::string> with_fitted_data(const std::vector<validate::Claim>& rows) {
  const auto fitted = fitted_files();
  std::vector<std::string> ids;
  for (const validate::Claim& row : rows)
    if (row.data && std::any_of(row.data->files.begin(), row.data->files.end(),
                                [&](const std::string& file) { return fitted.count(file) > 0; }))
      ids.push_back(row.id);
  return ids;
}

void link_all_but(const fs::path& from, const fs::path& to, const std::set<std::string>& left_out) {
  fs::create_directories(to);
  for (const auto& entry : fs::directory_iterator(from))
    if (left_out.count(entry.path().filename()) == 0) fs::create_symlink(entry.path(), to / entry.path().filename());
}

/// A calibration with every parameter elsewhere in its range, be it fitted, inherited, derived or a prior.
Json elsewhere(Json calibration, std::mt19937& random) {
  constexpr double kRange = 10;  // source: ours; start-ups and rates of the shipped machines differ by as much
  for (auto& item : calibration.at("parameters").items()) {
    Json& parameter = item.value();
    const auto value = parameter.at("value").get<double>();
    const double other = value * std::pow(kRange, 2 * random() * 0x1p-32 - 1);
    const bool share = parameter.at("unit") == "1" && value <= 1;
    parameter["value"] = share ? std::min(other, 1.0) : other;
  }
  return calibration;
}

/// The data folder with other parameters, the same for the same seed and machine, whatever other machines there are.
void make_world(const fs::path& folder, unsigned seed) {
  link_all_but(kData, folder, {"models", "build"});
  link_all_but(kData / "models", folder / "models", {"params"});
  fs::create_directories(folder / "models/params");
  for (const fs::path& path : calibrations()) {
    std::vector<unsigned> seeds{seed};
    for (const char c : path.filename().string()) seeds.push_back(static_cast<unsigned char>(c));
    std::seed_seq sequence(seeds.begin(), seeds.end());
    std::mt19937 random(sequence);
    std::ofstream(folder / "models/params" / path.filename()) << elsewhere(read_json_file(path), random).dump();
  }
}

std::vector<std::string> ids_of(const std::vector<validate::Claim>& rows) {
  std::vector<std::string> ids;
  for (const validate::Claim& row : rows) ids.push_back(row.id);
  return ids;
}

/// Rows that hold; an answer that fails is no proof that a row can.
std::vector<validate::Claim> still_holding(const fs::path& folder, const std::vector<validate::Claim>& rows) {
  catalogue::Catalogue catalogue(folder);
  const auto results = validate::evaluate(catalogue, rows);
  std::vector<validate::Claim> left;
  for (std::size_t i = 0; i < rows.size(); ++i)
    if (results[i].verdict != validate::ClaimVerdict::kFail || results[i].predicted.is_null()) left.push_back(rows[i]);
  return left;
}

}  // namespace

TEST_CASE("no predicted row has data that a calibration was fitted to", "[paper]") {
  CHECK(with_fitted_data(rows_of(validate::Role::kPredicted)) == std::vector<std::string>{});
  CHECK(with_fitted_data(rows_of(validate::Role::kFitted)).size() > 20);
}

TEST_CASE("a predicted row that holds whatever the parameters are is decided by wiring, and another turns it",
          "[paper]") {
  constexpr unsigned kWorlds = 24;         // source: ours; 12 leave one row more
  const std::string by_form = "TPDS-040";  // both directions carry twice what one does
  auto rows = rows_of(validate::Role::kPredicted);
  for (validate::Claim& row : rows_of(validate::Role::kModelInput))
    if (row.id == by_form) rows.push_back(std::move(row));
  rows = still_holding(kData, rows);
  REQUIRE(rows.size() > 30);
  for (unsigned seed = 0; seed < kWorlds; ++seed) {
    const test::ScratchFolder folder;
    make_world(folder / "world", seed);
    rows = still_holding(folder / "world", rows);
  }
  std::vector<std::string> left;
  for (const validate::Claim& row : rows)
    if (row.counterexample.is_null()) left.push_back(row.id);
  CHECK(left == std::vector<std::string>{by_form});
}

TEST_CASE("a counterexample turns its row", "[paper]") {
  std::vector<validate::Claim> rows;
  for (validate::Claim& row : rows_of(validate::Role::kPredicted)) {
    if (row.counterexample.is_null()) continue;
    for (validate::Observable& quantity : row.quantities) quantity.query.update(row.counterexample);
    rows.push_back(std::move(row));
  }
  REQUIRE(!rows.empty());
  CHECK(ids_of(still_holding(kData, rows)) == std::vector<std::string>{});
}

}  // namespace linkcast::test::roles_test
