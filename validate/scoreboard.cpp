#include "validate/scoreboard.hpp"

#include <algorithm>
#include <cstdio>
#include <iomanip>
#include <sstream>

#include "sim/units/parse.hpp"

namespace linkcast::validate {
namespace {

constexpr ClaimVerdict kVerdicts[] = {ClaimVerdict::kPass, ClaimVerdict::kFail, ClaimVerdict::kRefutedByData,
                                      ClaimVerdict::kNotModelled};

Json empty_counts() {
  Json counts = Json::object();
  for (const ClaimVerdict verdict : kVerdicts) counts[to_text(verdict)] = 0;
  counts["claims"] = 0;
  return counts;
}

Json counts_by_paper(const std::vector<ClaimResult>& results) {
  Json board{{"total", empty_counts()}};
  for (const ClaimResult& result : results) {
    if (!board.contains(result.paper)) board[result.paper] = empty_counts();
    for (const std::string& row : {std::string("total"), result.paper})
      for (const std::string& column : {to_text(result.verdict), std::string("claims")})
        board[row][column] = board[row][column].get<int>() + 1;
  }
  return board;
}

std::string number_text(const Json& number, const std::string& unit) {
  if (!number.is_number()) return "-";
  if (unit == "B") return to_text(Bytes{number.get<double>()});
  char text[32];
  std::snprintf(text, sizeof text, "%.4g", number.get<double>());
  return text;
}

/// @param names  put before the numbers, one each; empty: none
std::string figure_text(const Json& figure, const std::vector<std::string>& names) {
  if (!figure.is_object() || figure.at("value").is_null()) return "-";
  const Json numbers = figure.at("value").is_array() ? figure.at("value") : Json::array({figure.at("value")});
  const auto unit = figure.at("unit").get<std::string>();
  std::string text;
  for (std::size_t i = 0; i < numbers.size(); ++i)
    text += (i == 0 ? "" : ", ") + (i < names.size() && !names[i].empty() ? names[i] + " " : "") +
            number_text(numbers[i], unit);
  return unit.empty() || unit == "B" ? text : text + " " + unit;
}

/// With the names of quantities where the claim gives no figure to compare with; longer expressions stay nameless.
std::string predicted_text(const ClaimResult& result) {
  if (result.predicted.is_null()) return "-";
  if (!result.expected.at("value").is_null()) return figure_text(result.predicted, {});
  auto names = result.predicted.at("names").get<std::vector<std::string>>();
  for (std::string& name : names)
    if (name.find(' ') != std::string::npos) name.clear();
  return figure_text(result.predicted, names);
}

}  // namespace

Json scoreboard_json(const std::vector<ClaimResult>& results) {
  Json claims = Json::array();
  for (const ClaimResult& result : results)
    claims.push_back({{"id", result.id},
                      {"paper", result.paper},
                      {"verdict", to_text(result.verdict)},
                      {"expected", result.expected},
                      {"predicted", result.predicted},
                      {"measured", result.measured},
                      {"why", result.why}});
  return {{"claims", claims}, {"scoreboard", counts_by_paper(results)}};
}

std::string scoreboard_table(const std::vector<ClaimResult>& results) {
  std::ostringstream out;
  out << std::left << std::setw(40) << "paper" << std::right;
  for (const ClaimVerdict verdict : kVerdicts) out << std::setw(17) << to_text(verdict);
  out << std::setw(9) << "claims" << '\n';
  const Json board = counts_by_paper(results);
  for (const auto& [paper, counts] : board.items()) {
    out << std::left << std::setw(40) << paper << std::right;
    for (const ClaimVerdict verdict : kVerdicts) out << std::setw(17) << counts[to_text(verdict)].get<int>();
    out << std::setw(9) << counts["claims"].get<int>() << '\n';
  }
  for (const ClaimResult& result : results)
    if (result.verdict == ClaimVerdict::kFail || result.verdict == ClaimVerdict::kRefutedByData)
      out << result.id << ' ' << to_text(result.verdict) << ": " << result.why << '\n';
  return out.str();
}

std::string claims_table(const std::vector<ClaimResult>& results) {
  std::ostringstream out;
  out << "| claim | statement | claimed | predicted | verdict | how it was read; why it fails; what is missing |\n"
      << "| --- | --- | --- | --- | --- | --- |\n";
  for (const ClaimResult& result : results) {
    const bool modelled = result.verdict != ClaimVerdict::kNotModelled;
    const bool predicted = !modelled || !result.predicted.is_null();
    out << "| " << result.id << " | " << result.statement << " | " << figure_text(result.expected, {}) << " | "
        << predicted_text(result) << " | " << to_text(result.verdict) << " | "
        << (modelled && predicted ? result.note : result.why) << " |\n";
  }
  return out.str();
}

bool none_failed(const std::vector<ClaimResult>& results) {
  return std::none_of(results.begin(), results.end(),
                      [](const ClaimResult& result) { return result.verdict == ClaimVerdict::kFail; });
}

}  // namespace linkcast::validate
