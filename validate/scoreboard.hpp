#pragma once
#include <string>
#include <vector>

#include "validate/evaluate.hpp"

namespace linkcast::validate {

/// {"claims": [{id, paper, verdict, expected, predicted, measured, why}], "scoreboard": {"total": {...}, "<paper>":
/// {...}}}; every scoreboard entry counts pass, fail, refuted-by-data, not-modelled and claims.
Json scoreboard_json(const std::vector<ClaimResult>& results);
/// Counts per paper and verdict, then one line for every claim that failed or was refuted.
std::string scoreboard_table(const std::vector<ClaimResult>& results);
/// One row of Markdown a claim: id, statement, figure claimed, figure predicted, verdict, reason.
std::string claims_table(const std::vector<ClaimResult>& results);
/// Exit code of `linkcast validate`: true if no claim failed. Refuted and not modelled claims are no failures.
bool none_failed(const std::vector<ClaimResult>& results);

}  // namespace linkcast::validate
