#include "sim/forecast/host_costs.hpp"

#include <algorithm>
#include <cmath>
#include <string_view>

#include "sim/base/index.hpp"
#include "sim/base/input_error.hpp"
#include "sim/records/calibration.hpp"
#include "sim/records/parameters.hpp"

namespace linkcast::launch {
namespace {

// Spread of ln(cost) between hosts, on top of that of one kind. source: assumed, a factor of 1.9 either way at 90 %:
// seven hosts of one kind differ by 1.65 (docs/launch.md), and CPUs of servers by more
constexpr double kOtherHost = 0.4;

/// What times of collectives can teach: where one thread serves all GPUs, or Python does, the host is most of a small
/// call.
bool is_learned(const std::string& subject, const LaunchRow& row) {
  if (subject == "kernel") return &row == &key::launch_call;
  return (subject == "single_process" || subject == "pytorch") &&
         (&row == &key::launch_call || &row == &key::launch_gpu);
}

bool has(const Calibration* calibration, const std::string& subject) {
  return calibration != nullptr && calibration->find(key::launch_call(subject)) != nullptr;
}

/// Whether the file of a calibration lies in models/params of the data folder.
bool is_shipped(std::string_view path, std::string_view data_dir) {
  constexpr std::string_view kFolder = "/models/params/";
  data_dir = data_dir.substr(0, data_dir.find_last_not_of('/') + 1);
  if (!path.starts_with(data_dir) || !path.substr(data_dir.size()).starts_with(kFolder)) return false;
  return path.find('/', data_dir.size() + kFolder.size()) == std::string_view::npos;
}

}  // namespace

const std::string& measured_host() {
  static const std::string id = "hgx-h200";
  return id;
}

std::string_view source_of_host(const std::string& lender) {
  static const std::string measured = "inherited:" + measured_host();
  if (lender.empty()) return uncertainty::kMeasured;
  return lender == measured_host() ? std::string_view(measured) : uncertainty::kOtherMachines;
}

const std::string& name_of(Kind kind) { return launch_kinds()[at(static_cast<int>(kind))]; }

Kind kind_named(const std::string& name) {
  const auto found = std::find(launch_kinds().begin(), launch_kinds().end(), name);
  if (found == launch_kinds().end()) throw InvariantError("no kind of launch: " + name);
  return static_cast<Kind>(found - launch_kinds().begin());
}

HostCosts::HostCosts(catalogue::Catalogue& catalogue, const catalogue::Machine& machine, std::optional<double> scale)
    : parameters_(machine.platform().library_parameters()),
      own_(&parameters_.calibration()),
      scale_(scale),
      shipped_(is_shipped(own_->path, catalogue.data_dir())) {
  if (has(own_, "process") && has(own_, "single_process") && has(own_, "pytorch") && !parameters_.records()) return;
  if (!catalogue.has_platform(measured_host())) return;
  measured_ = catalogue.machine(measured_host());
  inherited_ = &measured_->platform().calibration();
}

bool HostCosts::known() const { return inherited_ != nullptr || find("process") != nullptr; }

const Calibration* HostCosts::find(const std::string& subject) const {
  for (const auto& [known, from] : found_)
    if (known == subject) return from;
  const Calibration* from = has(own_, subject) ? own_ : has(inherited_, subject) ? inherited_ : nullptr;
  return found_.emplace_back(subject, from).second;
}

const Calibration& HostCosts::of_subject(const std::string& subject) const {
  const Calibration* from = find(subject);
  if (from == nullptr)
    throw InputError("launch: what issuing costs the host was never measured: fit " +
                     parameter_subject(ParameterOf::kLaunch, subject) +
                     ".* from a record of linkcast-bench --only launch, or take launch 'graph'");
  return *from;
}

std::string HostCosts::lender(const std::string& subject) const {
  const Calibration* from = find(subject);
  return from == nullptr || from == own_ ? "" : from->name;
}

double HostCosts::value(const std::string& subject, const LaunchRow& row) const {
  const std::string name = row(subject).name;
  const Calibration& from = of_subject(subject);
  const Parameter* parameter = from.find(name);
  if (parameter == nullptr && inherited_ != nullptr) parameter = inherited_->find(name);
  if (parameter == nullptr) throw InputError(from.path, "/parameters", "has no " + name + ", but others of launch");
  if (parameters_.records() && is_learned(subject, row)) {
    const double more = own_->find(name) == nullptr ? kOtherHost : 0;
    parameters_.record(name, {parameter->value, std::hypot(parameter->stderr_ / parameter->value, more), true});
  }
  return parameter->value;
}

HostTime HostCosts::spread(const std::string& subject, double s) const {
  uncertainty::Terms terms(*own_, s * scale_.value_or(1));
  terms.add(uncertainty::term::kLaunch, value(subject, key::launch_sigma), uncertainty::kMeasured);
  if ((shipped_ || !lender(subject).empty()) && !scale_) terms.add(uncertainty::term::kLaunch, kOtherHost);
  const uncertainty::Interval interval = terms.interval();
  return {terms.time_s(), interval.low_s, interval.high_s};
}

HostTime HostCosts::of(Kind kind, const Call& call) const {
  if (!by_host(kind)) return {};
  const std::string& subject = name_of(kind);
  const double send_s = value(subject, key::launch_send), further_s = (call.busiest_sends - 1) * send_s;
  if (kind == Kind::kSingleProcess && !call.collected)
    return spread("kernel", call.gpus * call.grouped * value("kernel", key::launch_call));
  if (kind == Kind::kSingleProcess)
    return spread(subject, value(subject, key::launch_call) +
                               call.gpus * call.grouped * value(subject, key::launch_gpu) +
                               (call.all_sends - call.gpus) * send_s);
  if (kind == Kind::kProcess) return spread(subject, call.grouped * value(subject, key::launch_call) + further_s);
  if (call.point_to_point) return spread(subject, value(subject, key::launch_batch) + further_s);
  return spread(subject, value(subject, key::launch_call));
}

HostTime HostCosts::of_copy(bool by_kernel) const {
  const std::string subject = by_kernel ? "kernel" : "copy";
  return spread(subject, value(subject, key::launch_call));
}

HostTime HostCosts::synchronise() const { return spread("synchronise", value("synchronise", key::launch_call)); }

}  // namespace linkcast::launch
