#include "validate/diagnosis/diagnose.hpp"

#include <algorithm>
#include <cmath>

#include "validate/diagnosis/access.hpp"

namespace linkcast::diagnosis {
namespace {

// Of one point alone, beyond its interval. source: two P100 DGX-1 differ by 2.6 to 17.5 % on host paths, 5.7 % on
// NVLink, where the model was fitted to one of them (validate/plots/transfer.py); the interval covers the smaller ones
constexpr double kBoxes = 0.1;

Finding finding_of(const validate::ComparedPoint& p) {
  if (p.measured_s > p.high_s * (1 + kBoxes)) return p.host ? Finding::kHost : Finding::kSlow;
  return p.measured_s * (1 + kBoxes) < p.low_s ? Finding::kFast : Finding::kNormal;
}

std::vector<std::size_t> not_host_bound(const validate::Comparison& comparison) {
  std::vector<std::size_t> places;
  for (std::size_t i = 0; i < comparison.points.size(); ++i)
    if (!comparison.points[i].host) places.push_back(i);
  return places;
}

std::vector<validate::ComparedPoint> some_of(const validate::Comparison& comparison,
                                             const std::vector<std::size_t>& places) {
  std::vector<validate::ComparedPoint> some;
  for (const std::size_t place : places) some.push_back(comparison.points[place]);
  return some;
}

Ranker ranker_of(catalogue::Catalogue& catalogue, const std::string& platform, const std::vector<std::string>& edits,
                 const std::vector<validate::ComparedPoint>& points, const validate::Comparison& comparison) {
  std::vector<Judged> all;
  for (const validate::ComparedPoint& point : points) all.push_back(judged(point));
  return {all, effects_of(catalogue, platform, edits, points, causes_of(catalogue.platform(platform), comparison)),
          true};
}

// Half of the chance of a false alarm is of means, half of this.
bool noisy(const Diagnosis& diagnosis) { return diagnosis.slow > 0 && diagnosis.ranking.misfit < kOddAlarm / 2; }

}  // namespace

const char* text_of(Finding finding) {
  switch (finding) {
    case Finding::kSlow:
      return "slow";
    case Finding::kFast:
      return "fast";
    case Finding::kHost:
      return "host-bound";
    case Finding::kNormal:
      break;
  }
  return "normal";
}

const char* text_of(Verdict verdict) {
  switch (verdict) {
    case Verdict::kFault:
      return "faulty";
    case Verdict::kOdd:
      return "slow without a known cause";
    case Verdict::kHostOnly:
      return "host-bound";
    case Verdict::kNormal:
      break;
  }
  return "normal";
}

Bench::Bench(catalogue::Catalogue& catalogue, const std::string& platform, const std::vector<std::string>& edits,
             const Measurement& like)
    : comparison_(validate::compare(catalogue, like, {}, catalogue.edited(platform, edits))),
      judged_(not_host_bound(comparison_)),
      no_access_(without_access(catalogue.platform(catalogue.edited(platform, edits)), like)),
      ranker_(ranker_of(catalogue, platform, edits, some_of(comparison_, judged_), comparison_)),
      levels_(ranker_.noise(), some_of(comparison_, judged_), kOddAlarm / 2) {}

Diagnosis Bench::diagnose(const std::vector<double>& measured_s) const {
  Diagnosis diagnosis{comparison_, {}, 0, 0, 0, judged_, {}, {}, no_access_};
  std::vector<validate::ComparedPoint>& points = diagnosis.comparison.points;
  for (std::size_t i = 0; i < points.size(); ++i) {
    if (!measured_s.empty()) points[i].measured_s = measured_s[i];
    diagnosis.findings.push_back(finding_of(points[i]));
    diagnosis.slow += diagnosis.findings.back() == Finding::kSlow ? 1 : 0;
    diagnosis.host += diagnosis.findings.back() == Finding::kHost ? 1 : 0;
    diagnosis.fast += diagnosis.findings.back() == Finding::kFast ? 1 : 0;
  }
  std::vector<double> residuals;
  for (const std::size_t place : judged_)
    residuals.push_back(std::log(points[place].measured_s / points[place].predicted_s));
  diagnosis.ranking = ranker_.rank(residuals);
  diagnosis.levels = levels_.of(residuals);
  if (!no_access_.empty())
    diagnosis.verdict = Verdict::kFault;
  else if (diagnosis.ranking.faulty())
    diagnosis.verdict = Verdict::kFault;
  else if (!odd_levels(diagnosis.levels).empty() || noisy(diagnosis))
    diagnosis.verdict = Verdict::kOdd;
  else if (judged_.empty())
    diagnosis.verdict = Verdict::kHostOnly;
  return diagnosis;
}

}  // namespace linkcast::diagnosis
