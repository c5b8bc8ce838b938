#include "validate/diagnosis/effect.hpp"

#include <algorithm>
#include <cmath>
#include <optional>

#include "sim/query/query.hpp"

namespace linkcast::diagnosis {
namespace {

// A fault that changes no time by more than this is not seen. source: ours, far below what is printed
constexpr double kUnseen = 1e-3;

class Asker {
 public:
  Asker(catalogue::Catalogue& catalogue, const std::string& platform, const std::vector<std::string>& edits)
      : catalogue_(catalogue), platform_(platform), edits_(edits) {}

  /// ln(time with the fault / time without). @returns nothing where it cannot be forecast
  [[nodiscard]] std::optional<double> shift(const validate::ComparedPoint& point, const Trial& trial) const {
    Json query = point.query;
    query["platform"] = platform_;
    Json edits = edits_;
    for (const Json& own : query.value("edits", Json::array())) edits.push_back(own);
    for (const std::string& edit : trial.edits) edits.push_back(edit);
    query["edits"] = edits;
    const Json before = query;
    if (trial.twist) trial.twist(query);
    if (trial.edits.empty() && query == before) return 0;
    Json result = asked(query);
    if (result.contains("error") && query.value("transport", "") == "peer") {  // the driver copies through the host
      query["transport"] = "staged";
      for (const char* key : {"direction", "engine"}) query.erase(key);
      result = asked(query);
    }
    if (result.contains("error")) return std::nullopt;
    return std::log(result.at("time_s").get<double>() / point.predicted_s);
  }

 private:
  [[nodiscard]] Json asked(const Json& query) const {
    try {
      return query::answer(catalogue_, query);
    } catch (const InputError& error) {
      return {{"error", error.what()}};
    }
  }

  catalogue::Catalogue& catalogue_;
  const std::string& platform_;
  Json edits_;
};

std::optional<std::vector<double>> shifts_of(const Asker& asker, const std::vector<validate::ComparedPoint>& points,
                                             const Trial& trial) {
  std::vector<double> shifts;
  for (const validate::ComparedPoint& point : points) {
    const std::optional<double> shift = asker.shift(point, trial);
    if (!shift || !std::isfinite(*shift)) return std::nullopt;
    shifts.push_back(*shift);
  }
  return shifts;
}

bool seen(const std::vector<double>& shifts) {
  return std::any_of(shifts.begin(), shifts.end(), [](double shift) { return std::abs(shift) > kUnseen; });
}

std::optional<Effect> effect_of(const Asker& asker, const std::vector<validate::ComparedPoint>& points, Cause cause) {
  Effect effect{cause, {}};
  effect.cause.trials.clear();
  // The worst first: what it does not change the slighter ones do not either.
  if (cause.graded) {
    const auto worst = shifts_of(asker, points, cause.trials.back());
    if (!worst || !seen(*worst)) return std::nullopt;
  }
  for (Trial& trial : cause.trials) {
    const auto shifts = shifts_of(asker, points, trial);
    if (!shifts && cause.graded) return std::nullopt;
    if (!shifts || (!cause.graded && !seen(*shifts))) continue;
    effect.cause.trials.push_back(std::move(trial));
    effect.shifts.push_back(*shifts);
  }
  if (effect.shifts.empty()) return std::nullopt;
  return effect;
}

}  // namespace

std::vector<Effect> effects_of(catalogue::Catalogue& catalogue, const std::string& platform,
                               const std::vector<std::string>& edits,
                               const std::vector<validate::ComparedPoint>& points, std::vector<Cause> causes) {
  const Asker asker(catalogue, platform, edits);
  std::vector<Effect> effects;
  log::Work work(catalogue.progress(), "diagnose", "causes", static_cast<std::int64_t>(causes.size()));
  std::int64_t done = 0;
  for (Cause& cause : causes) {
    work.advance(done++);
    if (auto effect = effect_of(asker, points, std::move(cause))) effects.push_back(std::move(*effect));
  }
  return effects;
}

}  // namespace linkcast::diagnosis
