#include "validate/diagnose.hpp"

#include <algorithm>
#include <limits>
#include <map>
#include <set>

#include "sim/units/statistics.hpp"

namespace linkcast::validate {
namespace {

// Beyond the interval. source: two P100 DGX-1 differ by 2.6 to 17.5 % on host paths, 5.7 % on NVLink, where the model
// was fitted to one of them (validate/plots/transfer.py); the interval covers the smaller ones
constexpr double kBoxes = 0.1;
constexpr double kMostlySlow = 0.75;  // source: ours: a part is suspected if so many of its points are slow
constexpr std::size_t kMostSuspects = 5;

Finding finding_of(const ComparedPoint& p) {
  if (p.measured_s > p.high_s * (1 + kBoxes)) return p.host ? Finding::kHost : Finding::kSlow;
  return p.measured_s * (1 + kBoxes) < p.low_s ? Finding::kFast : Finding::kNormal;
}

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

/// Links, and the GPUs at their ends.
std::set<std::string> parts_of(const ComparedPoint& p) {
  std::set<std::string> parts(p.links.begin(), p.links.end());
  for (const std::string& link : p.links)
    for (const char* arrow : {"<->", "<=>", "->"})
      if (const std::size_t at = link.find(arrow); at != std::string::npos) {
        for (const std::string& end : {link.substr(0, at), link.substr(at + std::string(arrow).size())})
          if (end.find("gpu") != std::string::npos) parts.insert(end);
        break;
      }
  return parts;
}

class Cover {
 public:
  Cover(const Comparison& comparison, const std::vector<Finding>& findings)
      : comparison_(comparison), findings_(findings) {
    double least_B = std::numeric_limits<double>::infinity();
    for (std::size_t i = 0; i < findings.size(); ++i) {
      if (findings[i] != Finding::kSlow) continue;
      open_.insert(i);
      least_B = std::min(least_B, comparison.points[i].size_B);
    }
    for (std::size_t i = 0; i < findings.size(); ++i) {
      if (comparison.points[i].size_B < least_B) continue;  // a slow rate does not show in small copies
      for (const std::string& part : parts_of(comparison.points[i])) points_of_[part].push_back(i);
    }
  }

  std::vector<Suspect> run() {
    std::vector<Suspect> suspects;
    while (!open_.empty() && suspects.size() < kMostSuspects) {
      const auto best = std::max_element(points_of_.begin(), points_of_.end(),
                                         [&](const auto& a, const auto& b) { return explains(a) < explains(b); });
      if (best == points_of_.end() || explains(*best).first == 0) break;
      suspects.push_back(suspect(*best));
      for (const std::size_t point : best->second) open_.erase(point);
    }
    return suspects;
  }

 private:
  using Part = std::pair<const std::string, std::vector<std::size_t>>;

  /// Slow points that nothing explains yet, and of equal parts the one that fewer normal points pass; 0 if most of its
  /// points are not slow.
  [[nodiscard]] std::pair<int, double> explains(const Part& part) const {
    int fresh = 0, slow = 0;
    for (const std::size_t point : part.second) {
      slow += findings_[point] == Finding::kSlow ? 1 : 0;
      fresh += open_.count(point) > 0 ? 1 : 0;
    }
    const double share = slow / static_cast<double>(part.second.size());
    return share >= kMostlySlow ? std::pair{fresh, share} : std::pair{0, 0.0};
  }
  [[nodiscard]] Suspect suspect(const Part& part) const {
    Suspect found{part.first, 0, static_cast<int>(part.second.size()), 1};
    std::vector<double> factors;
    for (const std::size_t point : part.second)
      if (findings_[point] == Finding::kSlow)
        factors.push_back(comparison_.points[point].measured_s / comparison_.points[point].predicted_s);
    found.slow = static_cast<int>(factors.size());
    found.factor = median(factors);
    return found;
  }

  const Comparison& comparison_;
  const std::vector<Finding>& findings_;
  std::set<std::size_t> open_;
  std::map<std::string, std::vector<std::size_t>> points_of_;
};

}  // namespace

Diagnosis diagnose(const Comparison& comparison) {
  Diagnosis diagnosis;
  for (const ComparedPoint& point : comparison.points) {
    diagnosis.findings.push_back(finding_of(point));
    diagnosis.slow += diagnosis.findings.back() == Finding::kSlow ? 1 : 0;
    diagnosis.host += diagnosis.findings.back() == Finding::kHost ? 1 : 0;
    diagnosis.fast += diagnosis.findings.back() == Finding::kFast ? 1 : 0;
  }
  diagnosis.suspects = Cover(comparison, diagnosis.findings).run();
  return diagnosis;
}

Json to_json(const Comparison& comparison, const Diagnosis& diagnosis) {
  Json out{{"file", comparison.file},      {"platform", comparison.platform},
           {"normal", diagnosis.normal()}, {"points", comparison.points.size()},
           {"slow", diagnosis.slow},       {"fast", diagnosis.fast},
           {"host_bound", diagnosis.host}};
  out["off"] = Json::array();
  for (std::size_t i = 0; i < comparison.points.size(); ++i) {
    if (diagnosis.findings[i] == Finding::kNormal) continue;
    const ComparedPoint& p = comparison.points[i];
    out["off"].push_back({{"transport", p.transport},
                          {"variant", p.variant},
                          {"ends", p.ends},
                          {"size_B", p.size_B},
                          {"measured_s", p.measured_s},
                          {"expected_s", p.predicted_s},
                          {"low_s", p.low_s},
                          {"high_s", p.high_s},
                          {"factor", p.measured_s / p.predicted_s},
                          {"finding", text_of(diagnosis.findings[i])}});
  }
  out["suspects"] = Json::array();
  for (const Suspect& one : diagnosis.suspects)
    out["suspects"].push_back({{"id", one.id}, {"slow", one.slow}, {"points", one.points}, {"factor", one.factor}});
  out["unanswered"] = comparison.unanswered;
  return out;
}

}  // namespace linkcast::validate
