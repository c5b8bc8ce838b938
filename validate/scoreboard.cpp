#include "validate/scoreboard.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstdio>
#include <iomanip>
#include <sstream>

#include "sim/base/parse.hpp"

namespace linkcast::validate {
namespace {

constexpr ClaimVerdict kVerdicts[] = {ClaimVerdict::kPass, ClaimVerdict::kFail, ClaimVerdict::kRefutedByData,
                                      ClaimVerdict::kNotModelled};

constexpr Role kRoles[] = {Role::kPredicted, Role::kFitted, Role::kModelInput};

Json empty_verdicts() {
  Json counts = Json::object();
  for (const ClaimVerdict verdict : kVerdicts) counts[to_text(verdict)] = 0;
  counts["claims"] = 0;
  return counts;
}

Json empty_counts() {
  Json counts = empty_verdicts();
  for (const Role role : kRoles) counts["roles"][to_text(role)] = empty_verdicts();
  return counts;
}

Json counts_by_paper(const std::vector<ClaimResult>& results) {
  Json board{{"total", empty_counts()}};
  for (const ClaimResult& result : results) {
    if (!board.contains(result.paper)) board[result.paper] = empty_counts();
    for (const std::string& row : {std::string("total"), result.paper})
      for (const std::string& column : {to_text(result.verdict), std::string("claims")})
        for (Json* counts : {&board[row], &board[row]["roles"][to_text(result.role)]})
          (*counts)[column] = (*counts)[column].get<int>() + 1;
  }
  return board;
}

int modelled(const Json& counts) {
  return counts["claims"].get<int>() - counts[to_text(ClaimVerdict::kNotModelled)].get<int>();
}

/// "62 of 108", of those that can be modelled.
std::string passed_text(const Json& counts) {
  return fmt::format("{} of {}", counts[to_text(ClaimVerdict::kPass)].get<int>(), modelled(counts));
}

std::string share_text(const Json& counts) {
  if (modelled(counts) == 0) return "-";
  char text[16];
  std::snprintf(text, sizeof text, "%.0f %%",
                100.0 * counts[to_text(ClaimVerdict::kPass)].get<int>() / modelled(counts));
  return text;
}

Json strength_json(const Strength& strength) {
  if (!strength.margin) return nullptr;
  return {{"margin", *strength.margin}, {"quantity", strength.quantity}};
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
                      {"statement", result.statement},
                      {"role", to_text(result.role)},
                      {"verdict", to_text(result.verdict)},
                      {"strength", strength_json(result.strength)},
                      {"cause", result.cause.empty() ? Json(nullptr) : Json(result.cause)},
                      {"expected", result.expected},
                      {"predicted", result.predicted},
                      {"measured", result.measured},
                      {"why", result.why}});
  return {{"claims", claims}, {"scoreboard", counts_by_paper(results)}};
}

std::string scoreboard_table(const std::vector<ClaimResult>& results) {
  std::ostringstream out;
  const auto line = [&](const std::string& paper, const std::vector<std::string>& cells) {
    out << std::left << std::setw(36) << paper << std::right;
    for (const std::string& cell : cells) out << std::setw(14) << cell;
    out << '\n';
  };
  line("paper: passed of modelled",
       {"predicted", "share", "fitted", "model input", "refuted", "not modelled", "claims"});
  const Json board = counts_by_paper(results);
  for (const auto& [paper, counts] : board.items()) {
    std::vector<std::string> cells;
    for (const Role role : kRoles) cells.push_back(passed_text(counts["roles"][to_text(role)]));
    cells.insert(cells.begin() + 1, share_text(counts["roles"][to_text(Role::kPredicted)]));
    for (const std::string& column :
         {to_text(ClaimVerdict::kRefutedByData), to_text(ClaimVerdict::kNotModelled), std::string("claims")})
      cells.push_back(std::to_string(counts[column].get<int>()));
    line(paper, cells);
  }
  for (const ClaimResult& result : results)
    if (result.verdict == ClaimVerdict::kFail || result.verdict == ClaimVerdict::kRefutedByData)
      out << result.id << ' ' << to_text(result.verdict) << " (" << to_text(result.role)
          << (result.cause.empty() ? "" : "; " + result.cause) << "): " << result.why << '\n';
  return out.str();
}

std::string claims_table(const std::vector<ClaimResult>& results) {
  std::ostringstream out;
  out << "| claim | statement | claimed | predicted | verdict | role | margin | how it was read; why it fails; what is "
         "missing |\n| --- | --- | --- | --- | --- | --- | --- | --- |\n";
  for (const ClaimResult& result : results) {
    const bool modelled = result.verdict != ClaimVerdict::kNotModelled;
    const bool predicted = !modelled || !result.predicted.is_null();
    out << "| " << result.id << " | " << result.statement << " | " << figure_text(result.expected, {}) << " | "
        << predicted_text(result) << " | " << to_text(result.verdict) << " | " << to_text(result.role) << " | "
        << (modelled && predicted ? to_text(result.strength) : "-") << " | "
        << (result.cause.empty() ? "" : "(" + result.cause + ") ") << (modelled && predicted ? result.note : result.why)
        << " |\n";
  }
  return out.str();
}

bool none_failed(const std::vector<ClaimResult>& results) {
  return std::none_of(results.begin(), results.end(),
                      [](const ClaimResult& result) { return result.verdict == ClaimVerdict::kFail; });
}

}  // namespace linkcast::validate
