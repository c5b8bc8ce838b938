#include "sim/records/calibration.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "sim/base/file_hash.hpp"
#include "sim/base/log.hpp"
#include "sim/base/ranges.hpp"
#include "sim/records/parameters.hpp"

namespace linkcast {
namespace {

Parameter read_parameter(const std::string& name, ObjectReader r) {
  Parameter p;
  p.value = r.required<double>("value");
  p.stderr_ = r.required<double>("stderr");
  if (p.stderr_ < 0) r.fail("stderr", "must be 0 or more");
  p.unit = r.choice("unit", {"s", "B", "B/s", "1"});
  check_parameter_name(r.file(), name);
  const ParameterRow* row = find_parameter_row(name);
  if (row && p.unit != row->unit)
    r.fail("unit", "'" + p.unit + "' is not the unit of this parameter: " + std::string(row->unit));
  const ParameterRow any{.unit = p.unit};  // a name of no row is refused by the machine
  if (const std::string wrong = (row ? *row : any).refusal(p.value); !wrong.empty()) r.fail("value", wrong);
  if (p.value != 0 && p.stderr_ > kLargestSpread * std::abs(p.value))
    r.fail("stderr", fmt::format("must be at most {} times the value", kLargestSpread));
  p.provenance = r.required<std::string>("provenance");
  r.finish();
  return p;
}

/// Parameters of libraries that linkcast 0.1 wrote and forecasts no longer ask for (docs/stability.md).
bool is_retired(const std::string& name) {
  if (find_parameter_row(name) != nullptr || !is_of_library(name)) return false;
  const ParameterName parts(name);
  const bool of_tree = parts.subject.find("tree.") != std::string_view::npos;
  return parts.what == "turn_steps" || (of_tree && (parts.what == "base_s" || parts.what == "hop_s"));
}

/// Reads all but those that are retired, which one warning names.
/// @returns  names of these, sorted
std::vector<std::string> read_parameters(ObjectReader r, std::map<std::string, Parameter>& parameters) {
  std::vector<std::string> retired;
  for (auto& [name, reader] : r.named_objects())
    if (is_retired(name))
      retired.push_back(name);
    else
      parameters.emplace(name, read_parameter(name, reader));
  if (!retired.empty())
    log::Log("records").warning("{}: {} of an older cost model of collectives {} not used; refit it", r.file(),
                                retired.size() == 1 ? retired.front() : fmt::format("{} parameters", retired.size()),
                                retired.size() == 1 ? "is" : "are");
  std::sort(retired.begin(), retired.end());
  return retired;
}

/// Without the rows and columns of some names.
Correlation without(const Correlation& all, const std::vector<std::string>& names) {
  Correlation kept;
  std::vector<std::size_t> from;
  for (std::size_t i = 0; i < all.names.size(); ++i)
    if (!std::binary_search(names.begin(), names.end(), all.names[i])) from.push_back(i);
  for (std::size_t i = 0; i < from.size(); ++i) {
    kept.names.push_back(all.names[from[i]]);
    kept.lower.emplace_back();
    for (std::size_t j = 0; j < i; ++j) kept.lower.back().push_back(all.lower[from[i]][from[j]]);
  }
  return kept;
}

/// @param retired  names that may stand there too, sorted
Correlation read_correlation(ObjectReader r, const std::map<std::string, Parameter>& parameters,
                             const std::vector<std::string>& retired) {
  Correlation c;
  c.names = r.required<std::vector<std::string>>("names");
  c.lower = r.required<std::vector<std::vector<double>>>("lower");
  r.finish();
  if (!std::is_sorted(c.names.begin(), c.names.end())) r.fail("names", "must be sorted");
  for (const std::string& name : c.names)
    if (parameters.count(name) == 0 && !std::binary_search(retired.begin(), retired.end(), name))
      r.fail("names", "'" + name + "' is none of the parameters");
  if (c.lower.size() != c.names.size()) r.fail("lower", "must have one row for each name");
  for (std::size_t i = 0; i < c.lower.size(); ++i) {
    if (c.lower[i].size() != i) r.fail("lower", fmt::format("row {0} must have {0} numbers", i));
    for (const double one : c.lower[i])
      if (!(std::abs(one) <= 1)) r.fail("lower", "a correlation must be from -1 to 1");
  }
  return retired.empty() ? c : without(c, retired);
}

}  // namespace

int Correlation::place(const std::string& name) const {
  const auto found = std::lower_bound(names.begin(), names.end(), name);
  return found == names.end() || *found != name ? -1 : static_cast<int>(found - names.begin());
}

double Correlation::between(int a, int b) const {
  if (a < 0 || b < 0) return 0;
  if (a == b) return 1;
  return lower[static_cast<std::size_t>(std::max(a, b))][static_cast<std::size_t>(std::min(a, b))];
}

const Parameter* Calibration::find(const std::string& name) const {
  const auto it = parameters.find(name);
  return it == parameters.end() ? nullptr : &it->second;
}

Scatter read_scatter(ObjectReader& row) {
  Scatter s;
  s.transport = row.required<std::string>("transport");
  s.from_B = row.required<double>("from_B");
  s.to_B = row.required<double>("to_B");
  s.sigma_log = row.required<double>("sigma_log");
  if (s.sigma_log < 0 || s.sigma_log > kLargestSpread)
    row.fail("sigma_log", fmt::format("must be 0 to {}", kLargestSpread));
  s.samples = row.required<int>("samples");
  s.nodes = row.optional<int>("nodes").value_or(0);
  if (s.nodes < 0) row.fail("nodes", "must be 0 or more");
  s.operations = row.optional<std::vector<std::string>>("operations").value_or(std::vector<std::string>{});
  row.finish();
  return s;
}

Calibration read_calibration(const std::string& path) { return read_calibration(read_json_file(path), path); }

Calibration read_calibration(const Json& json, const std::string& path) {
  ObjectReader r(json, path);
  r.schema("calibration/1");
  Calibration c;
  c.path = path;
  c.sha256 = sha256_of_file(path);
  c.name = r.required<std::string>("name");
  c.topology = r.required<std::string>("topology");
  c.default_library = r.required<std::string>("default_library");
  const std::vector<std::string> retired = read_parameters(r.object("parameters"), c.parameters);
  ObjectReader valid = r.object("valid_for");
  c.valid_from_B = valid.required<double>("from_B");
  c.valid_to_B = valid.required<double>("to_B");
  if (c.valid_from_B > c.valid_to_B) valid.fail("to_B", "must not be below from_B");
  valid.finish();
  for (ObjectReader& s : r.objects("scatter")) c.scatter.push_back(read_scatter(s));
  if (r.has("correlation")) c.correlation = read_correlation(r.object("correlation"), c.parameters, retired);
  if (r.has("fit")) r.object("fit");  // the fit's report in files of linkcast 0.1: now a record of its own
  for (ObjectReader& f : r.objects("from")) {
    c.from.push_back({f.required<std::string>("path"), f.required<std::string>("sha256")});
    f.finish();
  }
  if (r.has("notes")) c.notes = r.required<std::vector<std::string>>("notes");
  if (r.has("wiring")) c.wiring = r.raw("wiring");
  r.finish();
  return c;
}

namespace {

// Difference of one parameter between versions of a library. source: assumed; between NCCL 2.7 and 2.27 the
// library's own tables change base costs by up to 1.8 and hops by 1.3 (models/libraries/SOURCES.md)
constexpr double kOtherVersion = 0.2;

constexpr int kMajor = 1000;

/// "2.27" is 2027; 0 for names. A calibration may hold any text here: a number too long to be one counts as far as it
/// fits.
int number_of(const std::string& version) {
  std::size_t at = 0;
  const auto number = [&] {
    constexpr int kMost = 100000;
    int value = 0;
    for (; at < version.size() && version[at] >= '0' && version[at] <= '9'; ++at)
      value = std::min(kMost, 10 * value + (version[at] - '0'));
    return value;
  };
  const int major = number();
  if (at == 0 || at >= version.size() || version[at] != '.') return kMajor * major;
  ++at;
  return kMajor * major + number();
}

Learned as_learned(const Parameter& p, double more, int correlated) {
  const double relative = p.value != 0 ? p.stderr_ / std::abs(p.value) : 0;
  return {p.value, std::hypot(relative, more), true, correlated, p.provenance};
}

/// The parameter of the version nearest to a library's; names of no number have no neighbours.
const Parameter* of_nearest(const Calibration& calibration, const LibraryRow& row, const std::string& library) {
  const int wanted = number_of(library_version_name(library));
  const Parameter* best = nullptr;
  int distance = std::numeric_limits<int>::max();
  const auto [from, tail] = row.around_version(library_family(library));
  for (auto it = calibration.parameters.lower_bound(from);
       it != calibration.parameters.end() && it->first.starts_with(from); ++it) {
    if (!it->first.ends_with(tail)) continue;
    const int there = number_of(it->first.substr(from.size(), it->first.size() - from.size() - tail.size()));
    if (wanted == 0 || there / kMajor != wanted / kMajor || std::abs(there - wanted) >= distance) continue;
    distance = std::abs(there - wanted);
    best = &it->second;
  }
  return best;
}

}  // namespace

ErrorPart ErrorPart::times(double factor) const {
  ErrorPart part = *this;
  part.sigma *= factor;
  return part;
}

double variance_of(const Calibration& calibration, const std::vector<ErrorPart>& parts) {
  double variance = 0;
  for (std::size_t i = 0; i < parts.size(); ++i) {
    variance += parts[i].sigma * parts[i].sigma;
    for (std::size_t j = 0; j < i; ++j)
      variance += 2 * parts[i].sigma * parts[j].sigma *
                  calibration.correlation.between(parts[i].correlated, parts[j].correlated);
  }
  return std::max(0.0, variance);  // correlations are written with few digits
}

Learned learned(const LibraryParameters& parameters, const std::string& library, const LibraryRow& row,
                const Prior& prior) {
  const Calibration& calibration = parameters.calibration();
  const std::string family = library_family(library);
  const std::string own = row(library).name;
  Learned chosen{prior.value, prior.spread, false};
  if (const Parameter* p = calibration.find(own))
    chosen = as_learned(*p, 0, calibration.correlation.place(own));
  else if (const Parameter* any = calibration.find(row.of_all(family)))
    chosen = as_learned(*any, 0, -1);
  else if (const Parameter* nearest = of_nearest(calibration, row, library))
    chosen = as_learned(*nearest, kOtherVersion, -1);
  parameters.record(own, chosen);
  return chosen;
}

Learned learned(const LibraryParameters& parameters, const std::string& library, const LibraryRow& row) {
  if (!row.prior) throw InvariantError("parameter " + row(library).name + " has no prior of its own");
  return learned(parameters, library, row, *row.prior);
}

std::vector<LeftOut> read_left_out(const std::string& path) {
  const Json json = read_json_file(path);
  ObjectReader r(json, path);
  r.schema("left-out/1");
  static_cast<void>(r.required<std::string>("source"));  // for readers
  std::vector<LeftOut> rows;
  for (ObjectReader& row : r.objects("rows")) {
    LeftOut one{row.choice("learned_from", {"collectives", "bench"}), {}};
    one.scatter = read_scatter(row);
    rows.push_back(std::move(one));
  }
  r.finish();
  return rows;
}

std::vector<Scatter> scatter_left_out(const std::vector<LeftOut>& rows, bool bench) {
  const auto by_bench = [&](const std::string& kind) {
    return bench && std::any_of(rows.begin(), rows.end(), [&](const LeftOut& row) {
             return row.learned_from == "bench" && row.scatter.transport == kind;
           });
  };
  std::vector<Scatter> scatter;
  for (const LeftOut& row : rows)
    if ((row.learned_from == "bench") == by_bench(row.scatter.transport)) scatter.push_back(row.scatter);
  return scatter;
}

}  // namespace linkcast
