#include "sim/launch/host_costs.hpp"

#include <algorithm>
#include <cmath>
#include <string_view>

#include "sim/records/input_error.hpp"
#include "sim/uncertainty/interval.hpp"
#include "sim/units/index.hpp"

namespace linkcast::launch {
namespace {

// Whose launches stand for those of machines that have none of their own. source: the only ones measured so far
constexpr const char* kMeasuredOn = "hgx-h200";
// Spread of ln(cost) between hosts, on top of that of one kind. source: assumed, a factor of 1.9 either way at 90 %:
// seven hosts of one kind differ by 1.65 (docs/launch.md), and CPUs of servers by more
constexpr double kOtherHost = 0.4;

constexpr std::string_view kHead = "launch.";

bool is_named(std::string_view name, std::string_view subject, std::string_view what) {
  return name.size() == kHead.size() + subject.size() + 1 + what.size() &&
         name.substr(kHead.size(), subject.size()) == subject && name.ends_with(what);
}

/// launch.<subject>.<what>; null where there is none. Few names begin so, and nothing is built to find one: each query
/// asks.
const Parameter* find(const Calibration* calibration, std::string_view subject, std::string_view what) {
  if (calibration == nullptr) return nullptr;
  static const std::string head(kHead);
  const auto& all = calibration->parameters;
  for (auto item = all.lower_bound(head); item != all.end() && item->first.starts_with(kHead); ++item)
    if (is_named(item->first, subject, what)) return &item->second;
  return nullptr;
}

bool has(const Calibration* calibration, std::string_view subject) {
  return find(calibration, subject, "call_s") != nullptr;
}

}  // namespace

const std::vector<std::string>& kind_names() {
  static const std::vector<std::string> names = {"graph", "process", "single_process", "pytorch"};
  return names;
}

const std::string& name_of(Kind kind) { return kind_names()[at(static_cast<int>(kind))]; }

Kind kind_named(const std::string& name) {
  const auto found = std::find(kind_names().begin(), kind_names().end(), name);
  if (found == kind_names().end()) throw InvariantError("no kind of launch: " + name);
  return static_cast<Kind>(found - kind_names().begin());
}

HostCosts::HostCosts(catalogue::Catalogue& catalogue, const std::string& platform_id)
    : own_(&catalogue.platform(platform_id).calibration()) {
  if (has(own_, "process") && has(own_, "single_process") && has(own_, "pytorch")) return;
  if (catalogue.has_platform(kMeasuredOn)) lent_ = &catalogue.platform(kMeasuredOn).calibration();
}

bool HostCosts::known() const { return has(own_, "process") || lent_ != nullptr; }

const Calibration& HostCosts::of_subject(const std::string& subject) const {
  const Calibration* from = has(own_, subject) ? own_ : lent_;
  if (!has(from, subject))
    throw InputError("launch: what issuing costs the host was never measured: fit launch." + subject +
                     ".* from a record of linkcast-bench --only launch, or take launch 'graph'");
  return *from;
}

std::string HostCosts::lender(const std::string& subject) const {
  return has(own_, subject) || !has(lent_, subject) ? "" : lent_->name;
}

double HostCosts::value(const std::string& subject, const std::string& what) const {
  const Calibration& from = of_subject(subject);
  const Parameter* parameter = find(&from, subject, what);
  if (parameter == nullptr)
    throw InputError(from.path, "/parameters", "has no launch." + subject + "." + what + ", but others of launch");
  return parameter->value;
}

HostTime HostCosts::spread(const std::string& subject, double s) const {
  uncertainty::Uncertainty uncertainty;
  uncertainty.add(value(subject, "sigma"));
  if (!lender(subject).empty()) uncertainty.add(kOtherHost);
  const uncertainty::Interval interval = uncertainty.around(s);
  return {s, interval.low_s, interval.high_s};
}

HostTime HostCosts::of(Kind kind, const Call& call) const {
  if (kind == Kind::kGraph) return {};
  const std::string& subject = name_of(kind);
  const double further_s = (call.sends - 1) * value(subject, "send_s");
  if (kind == Kind::kSingleProcess)
    return spread(subject, value(subject, "call_s") + call.gpus * (call.grouped * value(subject, "gpu_s") + further_s));
  if (kind == Kind::kProcess) return spread(subject, call.grouped * value(subject, "call_s") + further_s);
  if (call.point_to_point) return spread(subject, value(subject, "batch_s") + further_s);
  return spread(subject, value(subject, "call_s"));
}

HostTime HostCosts::of_copy(bool by_kernel) const {
  const std::string subject = by_kernel ? "kernel" : "copy";
  return spread(subject, value(subject, "call_s"));
}

HostTime HostCosts::synchronise() const { return spread("synchronise", value("synchronise", "call_s")); }

}  // namespace linkcast::launch
