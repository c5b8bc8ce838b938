#include "calibrate/learn/collectives.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <set>
#include <tuple>

#include "calibrate/fit/least_squares.hpp"
#include "sim/base/input_error.hpp"
#include "sim/base/parse.hpp"
#include "sim/base/statistics.hpp"
#include "sim/query/query.hpp"
#include "sim/records/parameters.hpp"
#include "validate/measured_query.hpp"

namespace linkcast::learn {
namespace {

const char* const kName = "calibration being fitted";  // of the machine

std::string unit_of(const std::string& name) {
  const ParameterRow* row = find_parameter_row(name);
  return row != nullptr ? std::string(row->unit) : "1";
}

/// The forecast of a sample on a machine, which need not be in the catalogue.
Json answer_on(const catalogue::MachinePtr& machine, catalogue::Catalogue& catalogue, const Sample& sample) {
  return query::answer(catalogue, validate::collective_query(kName, *sample.file, *sample.collective), machine);
}

catalogue::MachinePtr machine_of(const Topology& topology, const Calibration& calibration) {
  return std::make_shared<const catalogue::Machine>(kName, Platform(topology, calibration));
}

/// Machines at values that a fit tries: the last one is kept, since a fit asks for many samples at the same values.
class Trials {
 public:
  Trials(catalogue::MachinePtr base, const std::vector<fit::Unknown>& unknowns)
      : base_(std::move(base)), unknowns_(unknowns) {}

  const catalogue::MachinePtr& at(const std::vector<double>& values) {
    if (machine_ && values == values_) return machine_;
    std::map<std::string, Parameter> changed;
    for (std::size_t k = 0; k < values.size(); ++k)
      changed[unknowns_[k].name] = {values[k], 0, unit_of(unknowns_[k].name), "fitted"};
    machine_ = base_->with_library_parameters(changed);
    values_ = values;
    return machine_;
  }

 private:
  catalogue::MachinePtr base_, machine_;
  const std::vector<fit::Unknown>& unknowns_;
  std::vector<double> values_;
};

Point point_of(const Sample& sample, const Json& answer) {
  const MeasuredCollective& c = *sample.collective;
  Point point{sample.file->path, sample.file->library, c.op, answer.value("protocol", ""),
              answer.value("algorithm", "")};
  point.nodes = c.nodes;
  point.gpus = static_cast<int>(c.gpus.size());
  point.size_B = c.size_B;
  point.measured_s = median(c.time_s);
  point.modelled_s = answer.at("time_s").get<double>();
  point.low_s = answer.at("time_low_s").get<double>();
  point.high_s = answer.at("time_high_s").get<double>();
  return point;
}

/// Unknowns and the samples each acts on.
struct Dependence {
  std::vector<Sample> samples;
  std::map<std::string, Prior> priors;
  bool inherits = false;  ///< some were measured, on other machines
  std::map<std::string, std::vector<std::size_t>> points;
};

Dependence dependence_of(catalogue::Catalogue& catalogue, const catalogue::Machine& machine,
                         const std::vector<Sample>& samples, std::vector<std::string>& refused) {
  const Calibration& calibration = machine.platform().calibration();
  Dependence found;
  for (const Sample& sample : samples) {
    const auto used = std::make_shared<ParametersUsed>();
    const Json answer = answer_on(machine.recording(used), catalogue, sample);
    if (answer.contains("error")) {
      refused.push_back(sample.file->path + ": " + answer["error"].get<std::string>());
      continue;
    }
    for (const auto& [name, used_value] : *used) {
      if (const Parameter* own = calibration.find(name); own && own->provenance == "fitted") continue;
      const double spread = used_value.measured ? std::max(used_value.spread, kSameCapability) : used_value.spread;
      found.inherits = found.inherits || used_value.measured;
      found.priors.try_emplace(name, Prior{used_value.value, spread});
      found.points[name].push_back(found.samples.size());
    }
    found.samples.push_back(sample);
  }
  return found;
}

/// As a forecast's interval calls it (sim/forecast/terms.hpp).
std::string kind_of(const Point& point) {
  return std::string(point.library.starts_with("mpi") ? "mpi_" : "") + "collective" +
         (point.nodes > 1 ? "_network" : "");
}

/// By library, nodes and size, as forecasts of this machine will be off by. A class of few points takes all of its
/// kind where these are off by more.
void add_scatter(const std::vector<Point>& points, Calibration& calibration) {
  constexpr std::size_t kEnough = 5;  // source: ours, below which 90 % of them is the largest
  for (const char* kind : {"collective", "collective_network", "mpi_collective", "mpi_collective_network"}) {
    std::vector<double> all;
    std::set<std::string> operations;
    int nodes = 0;
    for (const Point& p : points) {
      if (kind_of(p) != kind) continue;
      all.push_back(std::abs(p.log_error()));
      if (p.nodes == 1) continue;
      nodes = std::max(nodes, p.nodes);
      operations.insert(p.op);
    }
    if (all.empty()) continue;
    for (const SizeClass& one : size_classes()) {
      std::vector<double> errors;
      for (const Point& p : points)
        if (kind_of(p) == kind && &size_class_of(p.size_B) == &one) errors.push_back(std::abs(p.log_error()));
      const bool enough = errors.size() >= kEnough;
      double sigma = errors.empty() ? 0 : fit::sigma_of_ninety_percent(errors);
      if (!enough) sigma = std::max(sigma, fit::sigma_of_ninety_percent(all));
      calibration.scatter.push_back({kind,
                                     one.from_B,
                                     one.to_B,
                                     sigma,
                                     static_cast<int>(enough ? errors.size() : all.size()),
                                     nodes,
                                     {operations.begin(), operations.end()}});
    }
  }
}

/// Those that hang together, with two digits: below 0.05 they are left out.
Correlation correlation_of(const fit::MapRequest& request, const fit::MapResult& result) {
  constexpr double kDigits = 100, kNone = 0.05;  // source: ours, so that records stay small
  const std::size_t n = request.unknowns.size();
  const auto rounded = [&](std::size_t i, std::size_t j) {
    const double whole = std::round(kDigits * result.correlation[i][j]) / kDigits;
    return std::abs(whole) < kNone ? 0 : whole;
  };
  Correlation kept;
  std::vector<std::size_t> places;
  for (std::size_t i = 0; i < n; ++i) {  // unknowns are sorted by name
    bool any = false;
    for (std::size_t j = 0; j < n; ++j) any = any || (j != i && rounded(i, j) != 0);
    if (!any) continue;
    kept.names.push_back(request.unknowns[i].name);
    kept.lower.emplace_back();
    for (const std::size_t j : places) kept.lower.back().push_back(rounded(i, j));
    places.push_back(i);
  }
  return kept;
}

}  // namespace

const std::vector<SizeClass>& size_classes() {
  // source: ours: what a call costs, what channels and protocols cost, what links carry
  static const std::vector<SizeClass> kClasses = {{"below 64 KiB", "size=0B-64KiB", 0, 65536},
                                                  {"64 KiB to 4 MiB", "size=64KiB-4MiB", 65536, 4194304},
                                                  {"from 4 MiB", "size=4MiB-", 4194304, kLargest_B}};
  return kClasses;
}

const SizeClass& size_class_of(double size_B) {
  const SizeClass* found = &size_classes().front();
  for (const SizeClass& one : size_classes())
    if (size_B >= one.from_B) found = &one;
  return *found;
}

double Point::log_error() const { return std::log(modelled_s / measured_s); }

namespace {

/// Whether a library could take what was forced: LL sends twice the bytes and is for few, the others' blocks move at
/// least some KiB at once.
bool of_a_usual_size(const MeasuredCollective& c) {
  constexpr double kMostLL_B = 4194304, kLeast_B = 8192;  // source: tables of NCCL 2.7 to 2.30, one node
  if (c.protocol.empty()) return true;
  return c.protocol == "LL" ? c.size_B <= kMostLL_B : c.size_B >= kLeast_B;
}

}  // namespace

std::vector<Sample> samples_of(const std::vector<Measurement>& measurements) {
  std::vector<Sample> samples;
  for (const Measurement& m : measurements)
    if (!m.library.empty())
      for (const MeasuredCollective& c : m.collectives)
        if (c.with.empty() && (!m.of_base_costs() || of_a_usual_size(c))) samples.push_back({&m, &c});
  return samples;
}

std::vector<Point> forecasts(catalogue::Catalogue& catalogue, const Topology& topology, const Calibration& calibration,
                             const std::vector<Sample>& samples, std::vector<std::string>& refused) {
  const catalogue::MachinePtr machine = machine_of(topology, calibration);
  std::vector<Point> points;
  for (const Sample& sample : samples) {
    const Json answer = answer_on(machine, catalogue, sample);
    if (answer.contains("error"))
      refused.push_back(sample.file->path + ": " + answer["error"].get<std::string>());
    else
      points.push_back(point_of(sample, answer));
  }
  return points;
}

Lesson learn_collectives(catalogue::Catalogue& catalogue, const Topology& topology, Calibration& calibration,
                         const std::vector<Sample>& samples) {
  Lesson lesson;
  if (samples.empty()) return lesson;
  const catalogue::MachinePtr machine = machine_of(topology, calibration);
  const Dependence dependence = dependence_of(catalogue, *machine, samples, lesson.refused);
  fit::MapRequest request;
  request.points = dependence.samples.size();
  request.progress = &catalogue.progress();
  for (const auto& [name, prior] : dependence.priors) {
    const ParameterRow* row = find_parameter_row(name);
    request.unknowns.push_back({name, prior, row != nullptr && row->heavy_tails});
    request.depending.push_back(dependence.points.at(name));
  }
  Trials trials(machine, request.unknowns);
  request.log_error = [&](std::size_t i, const std::vector<double>& values) {
    const Sample& sample = dependence.samples[i];
    return std::log(answer_on(trials.at(values), catalogue, sample).at("time_s").get<double>() /
                    median(sample.collective->time_s));
  };
  fit::MapResult result = fit::fit_map(request);
  if (dependence.inherits) lesson.left_at_prior = no_better_than_prior(request, result);
  for (const LeftAtPrior& part : lesson.left_at_prior)
    for (const std::size_t k : part.unknowns) {
      const Prior& prior = request.unknowns[k].prior;
      const fit::MapEstimate learned = result.estimates[k];
      // The data say as well how far from it they would be.
      const double spread = std::max(learned.spread, std::abs(std::log(learned.value / prior.value)));
      result.estimates[k] = {prior.value, std::min(spread, prior.spread), false};
      for (std::size_t other = 0; other < request.unknowns.size(); ++other)
        if (other != k) result.correlation[k][other] = result.correlation[other][k] = 0;
    }
  lesson.sigma = result.sigma;
  for (std::size_t k = 0; k < result.estimates.size(); ++k) {
    const fit::MapEstimate& estimate = result.estimates[k];
    lesson.parameters.push_back({request.unknowns[k].name, estimate, request.unknowns[k].prior});
    const std::string& name = request.unknowns[k].name;
    calibration.parameters[name] = {estimate.value, estimate.value * estimate.spread, unit_of(name),
                                    estimate.determined ? "fitted" : "believed"};
  }
  calibration.correlation = correlation_of(request, result);
  lesson.points = forecasts(catalogue, topology, calibration, dependence.samples, lesson.refused);
  add_scatter(lesson.points, calibration);
  return lesson;
}

namespace {

constexpr double kP95 = 0.95;

/// A key that names parts of the samples, and a sample's value of it.
struct PartKey {
  std::string_view name;
  std::string (*value)(const Sample&);
};
const PartKey kPartKeys[] = {
    {"nodes", [](const Sample& s) { return fmt::to_string(s.collective->nodes); }},
    {"gpus",
     [](const Sample& s) { return fmt::to_string(static_cast<int>(s.collective->gpus.size()) * s.collective->nodes); }},
    {"op", [](const Sample& s) { return s.collective->op.name(); }},
    {"library", [](const Sample& s) { return s.file->library; }},
};
constexpr std::string_view kSizeKey = "size";  // parts are ranges

const PartKey* find_part_key(std::string_view name) {
  const auto* it =
      std::find_if(std::begin(kPartKeys), std::end(kPartKeys), [&](const PartKey& k) { return k.name == name; });
  return it == std::end(kPartKeys) ? nullptr : it;
}

std::string value_of(const Sample& sample, const std::string& key) {
  const PartKey* known = find_part_key(key);
  return known == nullptr ? "" : known->value(sample);
}

/// Values of a key among these samples: "nodes=1, nodes=2", "sizes 8 B to 32 MiB".
std::string values_of(const std::vector<Sample>& samples, const std::string& key) {
  if (key == kSizeKey) {
    const auto [least, most] = std::minmax_element(
        samples.begin(), samples.end(),
        [](const Sample& a, const Sample& b) { return a.collective->size_B < b.collective->size_B; });
    return "sizes " + to_text(Bytes{least->collective->size_B}) + " to " + to_text(Bytes{most->collective->size_B});
  }
  std::set<std::string> values;
  for (const Sample& sample : samples) values.insert(key + "=" + value_of(sample, key));
  std::string text;
  for (const std::string& value : values) text += (text.empty() ? "" : ", ") + value;
  return text;
}

}  // namespace

Part::Part(const std::string& text) : text_(text) {
  const auto equals = text.find('=');
  key_ = text.substr(0, equals);
  if (equals == std::string::npos || (key_ != kSizeKey && find_part_key(key_) == nullptr))
    throw InputError("hold_out: '" + text +
                     "': one of nodes=N, gpus=N, op=NAME, library=NAME, size=FROM-TO (4MiB-: from 4 MiB on)");
  value_ = text.substr(equals + 1);
  if (key_ != kSizeKey) return;
  const auto dash = value_.find('-');
  if (dash == std::string::npos)
    throw InputError("hold_out: '" + text + "': a range of sizes is FROM-TO, as 64KiB-4MiB or 4MiB-");
  try {
    from_B_ = parse_bytes(value_.substr(0, dash)).si;
    to_B_ =
        dash + 1 < value_.size() ? parse_bytes(value_.substr(dash + 1)).si : std::numeric_limits<double>::infinity();
  } catch (const UnitError& error) {
    throw InputError("hold_out: '" + text + "': " + error.what());
  }
}

bool Part::holds(const Sample& sample) const {
  if (key_ == kSizeKey) return sample.collective->size_B >= from_B_ && sample.collective->size_B < to_B_;
  return value_of(sample, key_) == value_;
}

std::vector<Part> parts_of(const std::vector<Sample>& samples, const std::vector<std::string>& keys) {
  std::vector<Part> parts;
  for (const std::string& key : keys) {
    std::vector<std::string> texts;
    if (key == kSizeKey) {
      for (const SizeClass& one : size_classes()) texts.emplace_back(one.part);
    } else {
      std::set<std::string> values;
      for (const Sample& sample : samples) values.insert(value_of(sample, key));
      for (const std::string& value : values) texts.push_back(key + "=" + value);
    }
    for (const std::string& text : texts) {
      const Part part(text);
      const auto held = std::count_if(samples.begin(), samples.end(), [&](const Sample& s) { return part.holds(s); });
      if (held > 0 && held < static_cast<std::ptrdiff_t>(samples.size())) parts.push_back(part);
    }
  }
  if (parts.empty() && !keys.empty()) {
    std::string there;
    for (const std::string& key : keys) there += (there.empty() ? "" : "; ") + values_of(samples, key);
    throw InputError(fmt::format("leave_out: nothing would be left to learn from: all {} collectives are alike: {}",
                                 samples.size(), there));
  }
  return parts;
}

std::vector<Sample> samples_of_part(const std::vector<Sample>& samples, const Part& part) {
  std::vector<Sample> found;
  std::copy_if(samples.begin(), samples.end(), std::back_inserter(found),
               [&](const Sample& sample) { return part.holds(sample); });
  if (found.empty())
    throw InputError(fmt::format("hold_out: '{}': none of the {} collectives is of it, which are of {}", part.text(),
                                 samples.size(), values_of(samples, part.key())));
  return found;
}

std::vector<AccuracyRow> accuracy(const std::vector<Point>& points, const std::string& machine,
                                  const std::string& left_out) {
  using Key = std::tuple<std::string, int, std::string, double>;
  std::map<Key, std::vector<const Point*>> groups;
  for (const Point& p : points) groups[{p.library, p.nodes, p.op, size_class_of(p.size_B).from_B}].push_back(&p);
  std::vector<AccuracyRow> rows;
  for (const auto& [key, group] : groups) {
    const auto& [library, nodes, op, from_B] = key;
    std::vector<double> errors, logs;
    int inside = 0;
    for (const Point* p : group) {
      errors.push_back(std::abs(p->modelled_s / p->measured_s - 1));
      logs.push_back(p->log_error());
      inside += p->measured_s >= p->low_s && p->measured_s <= p->high_s ? 1 : 0;
    }
    AccuracyRow row{left_out, machine, library, op, size_class_of(from_B).text, nodes};
    row.points = static_cast<int>(group.size());
    row.median = median(errors);
    row.p95 = nearest_rank(errors, kP95);
    row.bias = std::exp(median(logs)) - 1;
    row.coverage = static_cast<double>(inside) / static_cast<double>(group.size());
    rows.push_back(row);
  }
  return rows;
}

HeldOut hold_out(catalogue::Catalogue& catalogue, const Topology& topology, const Calibration& copies,
                 const std::vector<Sample>& samples, const Part& part) {
  std::vector<Sample> kept, held;
  for (const Sample& sample : samples) (part.holds(sample) ? held : kept).push_back(sample);
  HeldOut result{part.text(), {}, {}};
  Calibration calibration = copies;
  learn_collectives(catalogue, topology, calibration, kept);
  result.points = forecasts(catalogue, topology, calibration, held, result.refused);
  return result;
}

}  // namespace linkcast::learn
