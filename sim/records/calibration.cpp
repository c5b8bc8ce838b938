#include "sim/records/calibration.hpp"

#include <algorithm>
#include <cmath>

#include "sim/base/file_hash.hpp"
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
  p.provenance = r.required<std::string>("provenance");
  r.finish();
  return p;
}

Correlation read_correlation(ObjectReader r, const std::map<std::string, Parameter>& parameters) {
  Correlation c;
  c.names = r.required<std::vector<std::string>>("names");
  c.lower = r.required<std::vector<std::vector<double>>>("lower");
  r.finish();
  if (!std::is_sorted(c.names.begin(), c.names.end())) r.fail("names", "must be sorted");
  for (const std::string& name : c.names)
    if (parameters.count(name) == 0) r.fail("names", "'" + name + "' is none of the parameters");
  if (c.lower.size() != c.names.size()) r.fail("lower", "must have one row for each name");
  for (std::size_t i = 0; i < c.lower.size(); ++i) {
    if (c.lower[i].size() != i)
      r.fail("lower", "row " + std::to_string(i) + " must have " + std::to_string(i) + " numbers");
    for (const double one : c.lower[i])
      if (!(std::abs(one) <= 1)) r.fail("lower", "a correlation must be from -1 to 1");
  }
  return c;
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
  if (s.sigma_log < 0) row.fail("sigma_log", "must be 0 or more");
  s.samples = row.required<int>("samples");
  row.finish();
  return s;
}

Calibration read_calibration(const std::string& path) {
  const Json json = read_json_file(path);
  ObjectReader r(json, path);
  r.schema("calibration/1");
  Calibration c;
  c.path = path;
  c.sha256 = sha256_of_file(path);
  c.name = r.required<std::string>("name");
  c.topology = r.required<std::string>("topology");
  c.default_library = r.required<std::string>("default_library");
  for (auto& [name, reader] : r.object("parameters").named_objects())
    c.parameters.emplace(name, read_parameter(name, reader));
  ObjectReader valid = r.object("valid_for");
  c.valid_from_B = valid.required<double>("from_B");
  c.valid_to_B = valid.required<double>("to_B");
  if (c.valid_from_B > c.valid_to_B) valid.fail("to_B", "must not be below from_B");
  valid.finish();
  for (ObjectReader& s : r.objects("scatter")) c.scatter.push_back(read_scatter(s));
  if (r.has("correlation")) c.correlation = read_correlation(r.object("correlation"), c.parameters);
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

}  // namespace linkcast
