#pragma once
#include <string>
#include <vector>

#include "validate/evaluate.hpp"

namespace linkcast::validate {

/// {"claims": [{id, paper, statement, role, verdict, strength, cause, expected, predicted, measured, why}],
/// "scoreboard": {"total":
/// {...}, "<paper>": {...}}}; every scoreboard entry counts pass, fail, refuted-by-data, not-modelled and claims, and
/// under "roles" the same for each role. strength: {"margin", "quantity"}, null where counts decide (strength.hpp).
Json scoreboard_json(const std::vector<ClaimResult>& results);
/// Predictions first: passes of those that can be modelled, per paper and role, then one line for every claim that
/// failed or was refuted.
std::string scoreboard_table(const std::vector<ClaimResult>& results);
/// One row of Markdown a claim: id, statement, figure claimed, figure predicted, verdict, role, margin, reason.
std::string claims_table(const std::vector<ClaimResult>& results);
/// Exit code of `linkcast validate`: true if no claim failed. Refuted and not modelled claims are no failures.
bool none_failed(const std::vector<ClaimResult>& results);

}  // namespace linkcast::validate
