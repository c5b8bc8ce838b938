#include "validate/scoreboard.hpp"

#include <algorithm>
#include <iomanip>
#include <sstream>

namespace linkcast {
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

bool none_failed(const std::vector<ClaimResult>& results) {
  return std::none_of(results.begin(), results.end(),
                      [](const ClaimResult& result) { return result.verdict == ClaimVerdict::kFail; });
}

}  // namespace linkcast
