#include "sim/forecast/terms.hpp"

#include <algorithm>
#include <cmath>
#include <string>

#include "sim/base/input_error.hpp"
#include "sim/base/statistics.hpp"

namespace linkcast::uncertainty {
namespace {

// A transport that was never measured on this machine. source: assumed, a factor of 1.6 either way at 90 %
constexpr double kUnmeasured = 0.3;
// Least error of MPI's collectives where none of the machine's own were fitted, however sure its messages
// are: the rows of what was left out come on top of other machines' errors of messages, which may be larger than this
// one's. source: half of the points of MPI that were left out miss by 8 % and more in each class (docs/accuracy.md),
// 0.12 of a normal distribution
constexpr double kNoneFitted = 0.12;

}  // namespace

double paced_s(double host_s, double device_s, double wait_s, int calls) {
  if (calls == 0) return std::max(device_s, host_s);
  return (host_s + (calls - 1) * std::max(host_s, device_s) + device_s + wait_s) / calls;
}

void Terms::add_largest(std::string_view label, double sigma_log, std::string_view source) {
  for (Term& one : terms_)
    if (one.label == label && one.source == source) {
      one.spread.sigma = std::max(one.spread.sigma, sigma_log);
      return;
    }
  add(label, sigma_log, source);
}

double Terms::device_s() const { return host_ && host_->in_engine ? device_s_ - host_->issue.s : device_s_; }

double Terms::time_s() const {
  if (!host_) return device_s_;
  return host_->in_engine ? device_s_ + host_->wait.s : paced_s(host_->issue.s, device_s_, host_->wait.s, host_->calls);
}

Interval Terms::devices() const {
  std::vector<ErrorPart> parts;
  parts.reserve(terms_.size());
  for (const Term& term : terms_) parts.push_back(term.spread);
  const double spread = std::exp(kNinetyPercentSigmas * std::sqrt(variance_of(*calibration_, parts)));
  if (!std::isfinite(ends_.low_s) || !std::isfinite(ends_.high_s) || !std::isfinite(spread))
    throw InvariantError("a forecast of " + std::to_string(device_s_) + " s that is " + std::to_string(spread) +
                         " times uncertain");
  return {std::max(ends_.low_s / spread, std::min(wire_s_, ends_.low_s)), ends_.high_s * spread};
}

Interval Terms::interval() const {
  Interval device = devices();
  if (!host_) return device;
  const auto& [issue, wait, calls, in_engine, source] = *host_;
  if (in_engine) device = {device_s() * (device.low_s / device_s_), device_s() * (device.high_s / device_s_)};
  return {paced_s(issue.low_s, device.low_s, wait.low_s, calls),
          paced_s(issue.high_s, device.high_s, wait.high_s, calls)};
}

std::vector<Term> Terms::list() const {
  if (!host_) return terms_;
  std::vector<Term> terms = terms_;
  const double whole_s = time_s(), issue_s = host_->issue.s;
  const double part = issue_s <= device_s() ? 1 : host_->calls == 0 ? 0 : 1.0 / host_->calls;
  const double devices_s = part * device_s(), launch_s = whole_s - devices_s;
  for (Term& term : terms) {
    term.seconds *= part;
    term.spread = term.spread.times(devices_s / whole_s);
  }
  const double spread = issue_s > 0 ? std::log(host_->issue.high_s / issue_s) / kNinetyPercentSigmas : 0;
  terms.push_back({term::kLaunch, launch_s, ErrorPart(spread * launch_s / whole_s), host_->source});
  return terms;
}

Spread spread_of(const Interval& interval, double time_s) {
  return time_s > 0 ? Spread{interval.low_s / time_s, interval.high_s / time_s} : Spread{};
}

const Scatter* scatter_of_kind(const Calibration& calibration, const std::string& kind, double bytes) {
  const Scatter* nearest = nullptr;
  for (const Scatter& s : calibration.scatter) {
    if (s.transport != kind) continue;
    nearest = &s;
    if (bytes <= s.to_B) break;
  }
  return nearest;
}

double misfit_of(const Calibration& calibration, const Kind& kind, double size_B) {
  const double bytes =
      std::nextafter(size_B, kLargest_B);  // classes of collectives contain their first size, not their last
  const std::string network = kind.nodes > 1 ? "_network" : "";
  const Scatter* fitted =
      scatter_of_kind(calibration, (kind.messages ? "mpi_collective" : "collective") + network, bytes);
  const Scatter* left_out =
      scatter_of_kind(calibration, (kind.messages ? "left_out.mpi" : "left_out.nccl") + network, bytes);
  const double own = fitted != nullptr ? fitted->sigma_log : kind.messages ? kNoneFitted : 0;
  const double sigma =
      fitted == nullptr && left_out == nullptr ? kUnmeasured : std::hypot(own, left_out ? left_out->sigma_log : 0);
  if (kind.nodes <= 2) return sigma;
  return std::hypot(sigma, scatter_of_doublings(calibration, "left_out.nodes_doubled", std::log2(kind.nodes) - 1));
}

double scatter_of_doublings(const Calibration& calibration, const std::string& kind, double doublings) {
  const Scatter* one = scatter_of_kind(calibration, kind, 0);
  return one != nullptr ? one->sigma_log * doublings : kUnmeasured;
}

double scatter_beyond_sizes(const Calibration& calibration, double doublings) {
  const char* kind = "left_out.size_doubled";
  return std::min(scatter_of_doublings(calibration, kind, doublings),
                  std::max(kUnmeasured, scatter_of_doublings(calibration, kind, 1)));
}

double scatter_of(const Calibration& calibration, const std::string& transport, double bytes) {
  const Scatter* nearest = scatter_of_kind(calibration, transport, bytes);
  return nearest ? nearest->sigma_log : kUnmeasured;
}

std::vector<Json> explained(const Calibration& calibration, const std::vector<Term>& terms, double time_s) {
  const std::size_t count = terms.size();
  std::vector<double> shares(count, 0);
  double variance = 0;
  for (std::size_t i = 0; i < count; ++i)
    for (std::size_t j = 0; j < count; ++j) {
      const ErrorPart &a = terms[i].spread, &b = terms[j].spread;
      const double both =
          a.sigma * b.sigma * (i == j ? 1 : calibration.correlation.between(a.correlated, b.correlated));
      shares[i] += both;
      variance += both;
    }
  std::vector<Json> rows;
  for (std::size_t i = 0; i < count; ++i) {
    const Term& one = terms[i];
    if (one.seconds == 0 && one.spread.sigma == 0) continue;
    rows.push_back({{"label", one.label},
                    {"time_s", one.seconds},
                    {"time_share", one.seconds / time_s},
                    {"spread", std::abs(one.spread.sigma)},
                    {"uncertainty_share", variance > 0 ? shares[i] / variance : 0}});
    if (!one.source.empty()) rows.back()["source"] = one.source;
    if (one.parameter != nullptr)
      rows.back()["parameter"] = std::string(one.parameter->subject) + "." + std::string(one.parameter->what);
  }
  return rows;
}

void put_interval(Json& out, double time, const Interval& interval) {
  out["time_s"] = time;
  out["time_low_s"] = interval.low_s;
  out["time_high_s"] = interval.high_s;
}

}  // namespace linkcast::uncertainty
