#include "sim/forecast/terms.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <numbers>
#include <string>
#include <utility>

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
constexpr double kRounding = 1e-12;  // source: ours, of a time: far above what sums of doubles lose, far below a term
constexpr double kDecides = 0.1;     // source: ours, share of a time
constexpr double kNarrowest = 1e-6;  // source: ours, of ln(time): a spread that is none
constexpr int kHalvings = 50;        // source: ours, a double's digits
constexpr std::string_view kInherited = "inherited:";

}  // namespace

double paced_s(double host_s, double device_s, double wait_s, int calls) {
  if (calls == 0) return std::max(device_s, host_s);
  return (host_s + (calls - 1) * std::max(host_s, device_s) + device_s + wait_s) / calls;
}

std::string_view source_of(const Learned& figure, std::string_view prior) {
  return figure.provenance.empty() ? prior : figure.provenance;
}

std::string_view source_of(const Calibration& calibration, const Resolved& figure, std::string_view otherwise) {
  const Parameter* own = figure.calibrated ? calibration.find(figure.name) : nullptr;
  return own != nullptr ? std::string_view(own->provenance) : figure.calibrated ? kMeasured : otherwise;
}

bool from_data(std::string_view source) { return source != kTable && source != kAssumed && source != kNominal; }

std::string source_text(std::string_view source) {
  if (source == "fitted") return std::string(kMeasured);
  if (source == kPrior) return std::string(kAssumed);
  if (source.starts_with("derived")) return "derived from measurements";
  if (!source.starts_with(kInherited)) return std::string(source);
  source.remove_prefix(kInherited.size());
  return "inherited from " + std::string(source.substr(0, source.find(',')));
}

void Terms::add_largest(std::string_view label, double sigma_log, std::string_view source) {
  Term* known = find(label);
  if (known == nullptr) return add(label, sigma_log, source);
  if (sigma_log <= known->spread.sigma) return;
  known->spread.sigma = sigma_log;
  known->source = source;
}

void Terms::add_once(std::string_view label, double sigma_log, std::string_view source) {
  for (const Term& one : terms_)
    if (one.label == label && one.source == source) return;
  add(label, sigma_log, source);
}

void Terms::add_part(std::string_view label, double seconds, std::string_view source) {
  if (std::abs(seconds) <= kRounding * device_s_) return;
  if (Term* known = find(label))
    known->seconds += seconds;
  else
    terms_.push_back({label, seconds, {}, source});
}

Term* Terms::find(std::string_view label) {
  for (Term& one : terms_)
    if (one.label == label) return &one;
  return nullptr;
}

double Terms::device_s() const { return host_ && host_->in_engine ? chosen_s_ - host_->issue.s : chosen_s_; }

double Terms::time_s() const {
  if (!host_) return chosen_s_;
  return host_->in_engine ? chosen_s_ + host_->wait.s : paced_s(host_->issue.s, chosen_s_, host_->wait.s, host_->calls);
}

double Terms::variance() const {
  std::vector<ErrorPart> parts;
  parts.reserve(terms_.size());
  for (const Term& term : terms_) parts.push_back(term.spread);
  return variance_of(*calibration_, parts);
}

Interval Terms::mixture(const Interval& own) const {
  double rest = 1;
  for (const Other& other : others_) rest -= other.share;
  std::vector<Other> all = others_;
  all.push_back({rest, row_s_, own});
  Interval widest = own;
  for (const Other& one : all)
    widest = {std::min(widest.low_s, one.interval.low_s), std::max(widest.high_s, one.interval.high_s)};
  // Each is two halves of lognormal distributions around its time.
  const auto below = [&](double time_s) {
    double sum = 0;
    for (const Other& one : all) {
      const double end_s = time_s < one.time_s ? one.interval.low_s : one.interval.high_s;
      const double sigma = std::max(std::abs(std::log(end_s / one.time_s)) / kNinetyPercentSigmas, kNarrowest);
      sum += one.share * std::erfc(-std::log(time_s / one.time_s) / sigma / std::numbers::sqrt2) / 2;
    }
    return sum;
  };
  const auto quantile = [&](double share) {
    double low = std::log(widest.low_s), high = std::log(widest.high_s);
    for (int halvings = 0; halvings < kHalvings; ++halvings) {
      const double middle = (low + high) / 2;
      (below(std::exp(middle)) < share ? low : high) = middle;
    }
    return std::exp((low + high) / 2);
  };
  constexpr double kTail = 0.05;  // source: 90 % between them
  return {std::min(quantile(kTail), chosen_s_), std::max(quantile(1 - kTail), chosen_s_)};
}

Interval Terms::devices() const {
  const double spread = std::exp(kNinetyPercentSigmas * std::sqrt(variance()));
  if (!std::isfinite(ends_.low_s) || !std::isfinite(ends_.high_s) || !std::isfinite(spread))
    throw InvariantError("a forecast of " + std::to_string(device_s_) + " s that is " + std::to_string(spread) +
                         " times uncertain");
  const double row = row_s_ / device_s_;
  const Interval own{std::max(row * ends_.low_s / spread, std::min(wire_s_, row * ends_.low_s)),
                     row * ends_.high_s * spread};
  return others_.empty() ? own : mixture(own);
}

Interval Terms::interval() const {
  Interval device = devices();
  if (!host_) return device;
  const auto& [issue, wait, calls, in_engine, source] = *host_;
  if (in_engine) device = {device_s() * (device.low_s / chosen_s_), device_s() * (device.high_s / chosen_s_)};
  return {paced_s(issue.low_s, device.low_s, wait.low_s, calls),
          paced_s(issue.high_s, device.high_s, wait.high_s, calls)};
}

std::vector<Term> Terms::list() const {
  std::vector<Term> terms = terms_;
  if (!others_.empty() || chosen_s_ != device_s_) {
    const Interval all = devices();
    const double sigma = std::log(all.high_s / all.low_s) / (2 * kNinetyPercentSigmas);
    for (Term& term : terms) term.seconds *= chosen_s_ / device_s_;
    terms.push_back({term::kChoice, 0, ErrorPart(std::sqrt(std::max(0.0, sigma * sigma - variance()))), kTable});
  }
  if (!host_) return terms;
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

namespace {

struct KindScatter {
  const Scatter *fitted, *left_out;  ///< null: not measured
};

KindScatter scatter_of_collectives(const Calibration& calibration, const Kind& kind, double bytes) {
  const std::string network = kind.nodes > 1 ? "_network" : "";
  return {scatter_of_kind(calibration, (kind.messages ? "mpi_collective" : "collective") + network, bytes),
          scatter_of_kind(calibration, (kind.messages ? "left_out.mpi" : "left_out.nccl") + network, bytes)};
}

bool fitted_operation(const Scatter* fitted, std::string_view op) {
  return fitted != nullptr &&
         std::find(fitted->operations.begin(), fitted->operations.end(), op) != fitted->operations.end();
}

}  // namespace

std::string_view misfit_source(const Calibration& calibration, const Kind& kind) {
  const auto [fitted, left_out] = scatter_of_collectives(calibration, kind, 0);
  return fitted == nullptr && left_out == nullptr ? kAssumed : kScatter;
}

double misfit_of(const Calibration& calibration, const Kind& kind, double size_B) {
  const double bytes =
      std::nextafter(size_B, kLargest_B);  // classes of collectives contain their first size, not their last
  const auto [fitted, left_out] = scatter_of_collectives(calibration, kind, bytes);
  const double own = fitted != nullptr ? fitted->sigma_log : kind.messages ? kNoneFitted : 0;
  const bool counts = left_out != nullptr && !(kind.nodes > 1 && fitted_operation(fitted, kind.op));
  const double sigma =
      fitted == nullptr && left_out == nullptr ? kUnmeasured : std::hypot(own, counts ? left_out->sigma_log : 0);
  const int measured = std::max(2, fitted != nullptr ? fitted->nodes : 0);
  if (kind.nodes <= measured) return sigma;
  const char* doubled = kind.messages ? "left_out.mpi_nodes_doubled" : "left_out.nccl_nodes_doubled";
  const double doublings = std::log2(static_cast<double>(kind.nodes) / measured);
  return std::hypot(sigma, scatter_of_doublings(calibration, doubled, bytes, doublings));
}

double scatter_of_doublings(const Calibration& calibration, const std::string& kind, double bytes, double doublings) {
  const Scatter* one = scatter_of_kind(calibration, kind, bytes);
  return one != nullptr ? one->sigma_log * doublings : kUnmeasured;
}

double scatter_beyond_sizes(const Calibration& calibration, double doublings) {
  const char* kind = "left_out.size_doubled";
  return std::min(scatter_of_doublings(calibration, kind, 0, doublings),
                  std::max(kUnmeasured, scatter_of_doublings(calibration, kind, 0, 1)));
}

double scatter_of(const Calibration& calibration, const std::string& transport, double bytes) {
  const Scatter* nearest = scatter_of_kind(calibration, transport, bytes);
  return nearest ? nearest->sigma_log : kUnmeasured;
}

namespace {

/// Shares of the variance of ln(time), which may be below 0. @returns  one a term; all 0 where nothing has a spread
std::vector<double> variance_shares(const Calibration& calibration, const std::vector<Term>& terms) {
  std::vector<double> shares(terms.size(), 0);
  double variance = 0;
  for (std::size_t i = 0; i < terms.size(); ++i)
    for (std::size_t j = 0; j < terms.size(); ++j) {
      const ErrorPart &a = terms[i].spread, &b = terms[j].spread;
      const double both =
          a.sigma * b.sigma * (i == j ? 1 : calibration.correlation.between(a.correlated, b.correlated));
      shares[i] += both;
      variance += both;
    }
  for (double& share : shares) share = variance > 0 ? share / variance : 0;
  return shares;
}

/// Terms of one label.
struct Row {
  std::string_view label;
  double seconds = 0, share = 0;
  std::vector<std::pair<std::pair<double, double>, std::string>> sources{};  ///< seconds, share of the variance; name
  std::vector<ErrorPart> spreads{};
  std::vector<std::pair<double, std::string>> parameters{};  ///< share of the variance, size alone; name

  void add(const Term& term, double of_variance) {
    seconds += term.seconds;
    share += of_variance;
    add_source(source_text(term.source), term.seconds, of_variance);
    spreads.push_back(term.spread);
    if (term.parameter == nullptr) return;
    const std::string name = std::string(term.parameter->subject) + "." + std::string(term.parameter->what);
    const auto known =
        std::find_if(parameters.begin(), parameters.end(), [&](const auto& one) { return one.second == name; });
    if (known == parameters.end())
      parameters.emplace_back(std::abs(of_variance), name);
    else
      known->first += std::abs(of_variance);
  }
  void add_source(const std::string& name, double part_s, double of_variance) {
    auto known = std::find_if(sources.begin(), sources.end(), [&](const auto& one) { return one.second == name; });
    if (known == sources.end()) known = sources.insert(sources.end(), {{0, 0}, name});
    known->first.first += part_s;
    known->first.second += of_variance;
  }
  [[nodiscard]] Json json(const Calibration& calibration, double time_s) const {
    auto ordered = sources;
    std::stable_sort(ordered.begin(), ordered.end(), [](const auto& a, const auto& b) { return a.first > b.first; });
    Json out{{"label", label},
             {"time_s", seconds},
             {"time_share", seconds / time_s},
             {"spread", std::sqrt(variance_of(calibration, spreads))},
             {"uncertainty_share", share},
             {"source", ordered.front().second}};
    if (ordered.size() > 1)
      for (const auto& [ignored, name] : ordered) out["sources"].push_back(name);
    if (parameters.empty()) return out;
    out["parameter"] = std::max_element(parameters.begin(), parameters.end(), [](const auto& a, const auto& b) {
                         return a.first < b.first;
                       })->second;
    if (parameters.size() == 1) return out;
    for (const auto& [ignored, name] : parameters) out["parameters"].push_back(name);
    return out;
  }
};

/// Rows in the order of their first terms.
std::vector<Row> rows_of(const Calibration& calibration, const std::vector<Term>& terms) {
  const std::vector<double> shares = variance_shares(calibration, terms);
  std::vector<Row> rows;
  for (std::size_t i = 0; i < terms.size(); ++i) {
    if (terms[i].seconds == 0 && terms[i].spread.sigma == 0) continue;
    auto row = std::find_if(rows.begin(), rows.end(), [&](const Row& one) { return one.label == terms[i].label; });
    if (row == rows.end()) row = rows.insert(rows.end(), Row{terms[i].label});
    row->add(terms[i], shares[i]);
  }
  return rows;
}

bool any_own(const Calibration& calibration) {
  return std::any_of(calibration.parameters.begin(), calibration.parameters.end(),
                     [](const auto& one) { return !one.second.provenance.starts_with(kInherited); });
}

}  // namespace

std::vector<Json> explained(const Calibration& calibration, const std::vector<Term>& terms, double time_s) {
  std::vector<Json> rows;
  for (const Row& row : rows_of(calibration, terms)) rows.push_back(row.json(calibration, time_s));
  return rows;
}

std::string inherited_warning(const Calibration& calibration, const std::string& machine,
                              const std::vector<Term>& terms, double time_s) {
  std::map<std::string, std::pair<double, std::string>> lenders;  // seconds and labels by source
  double inherited_s = 0;
  for (const Term& term : terms) {
    if (!term.source.starts_with(kInherited) || term.seconds <= 0 || term.label == term::kLaunch) continue;
    auto& [seconds, labels] = lenders[source_text(term.source)];
    if (labels.find(term.label) == std::string::npos) labels += (labels.empty() ? "" : ", ") + std::string(term.label);
    seconds += term.seconds;
    inherited_s += term.seconds;
  }
  if (inherited_s < kDecides * time_s || !any_own(calibration)) return "";
  std::string text;
  for (const auto& [source, one] : lenders) text += (text.empty() ? "" : "; ") + one.second + " " + source;
  return "not measured on " + machine + ": " + text + fmt::format(", {:.0f} % of the time", 100 * inherited_s / time_s);
}

void put_interval(Json& out, double time, const Interval& interval) {
  out["time_s"] = time;
  out["time_low_s"] = interval.low_s;
  out["time_high_s"] = interval.high_s;
}

}  // namespace linkcast::uncertainty
