#include <fmt/format.h>

#include <cmath>
#include <iostream>
#include <utility>
#include <vector>

#include "cli/command.hpp"
#include "cli/texts.hpp"
#include "sim/base/parse.hpp"

namespace linkcast::cli {
namespace {

using Answers = std::vector<std::pair<Json, const Json*>>;

/// Answers with terms, with what tells them apart: {} of one alone, {"answer": "before"} of two, {"size_B": 8} of a
/// curve's, or both.
void find_answers(const Json& result, const Json& name, Answers& found) {
  if (result.contains("terms")) found.emplace_back(name, &result);
  for (const char* one : {"before", "after"})
    if (result.contains(one) && result[one].is_object()) {
      Json named = name;
      named["answer"] = one;
      find_answers(result[one], named, found);
    }
  if (!result.contains("points")) return;
  for (const Json& point : result["points"]) find_answers(point, {{"size_B", point["size_B"]}}, found);
}

Answers answers_of(const Json& result) {
  Answers found;
  find_answers(result, Json::object(), found);
  return found;
}

std::string title_of(const Json& name) {
  std::string title = "terms";
  if (name.contains("size_B")) title += " of " + to_text(Bytes{name["size_B"].get<double>()});
  if (name.contains("answer")) title += " " + text(name["answer"]);
  return title;
}

std::string sources_text(const Json& term) {
  if (!term.contains("sources")) return text(term["source"]);
  std::string all;
  for (const Json& one : term["sources"]) all += (all.empty() ? "" : ", ") + text(one);
  return all;
}

std::string share_text(const Json& share) {
  const double percent = std::round(100 * share.get<double>());
  return fmt::format("{:.0f} %", percent == 0 ? 0.0 : percent);  // no "-0"
}

}  // namespace

Json term_rows(const Json& result) {
  Json rows = Json::array();
  for (const auto& [name, answer] : answers_of(result))
    for (const Json& term : (*answer)["terms"]) {
      rows.push_back(name);
      rows.back().update(term);
    }
  return rows;
}

void print_terms(const Json& result) {
  constexpr const char* kLine = "  {:<14}{:>10} {:>7} {:>9}  {}\n";
  for (const auto& [name, answer] : answers_of(result)) {
    std::cout << title_of(name) << '\n' << fmt::format(kLine, "", "time", "of time", "of spread", "source");
    for (const Json& term : (*answer)["terms"]) {
      const std::string parameter = term.contains("parameter") ? ": " + text(term["parameter"]) : "";
      std::cout << fmt::format(kLine, text(term["label"]), seconds(term["time_s"]), share_text(term["time_share"]),
                               share_text(term["uncertainty_share"]), sources_text(term) + parameter);
    }
  }
}

}  // namespace linkcast::cli
