#include "sim/records/calibration.hpp"

#include "sim/records/file_hash.hpp"
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
  const ParameterKind* row = find_parameter_kind(name);
  if (row && p.unit != row->unit) r.fail("unit", "'" + p.unit + "' is not the unit of this parameter: " + row->unit);
  if (p.unit == "B/s" && !(p.value > 0)) r.fail("value", "a bandwidth must be above 0");
  if (p.value < 0) r.fail("value", "must be 0 or more");
  if (row && p.value >= row->below) r.fail("value", "must be below " + std::to_string(row->below));
  p.provenance = r.required<std::string>("provenance");
  r.finish();
  return p;
}

Scatter read_scatter(ObjectReader r) {
  Scatter s;
  s.transport = r.required<std::string>("transport");
  s.from_B = r.required<double>("from_B");
  s.to_B = r.required<double>("to_B");
  s.sigma_log = r.required<double>("sigma_log");
  if (s.sigma_log < 0) r.fail("sigma_log", "must be 0 or more");
  s.samples = r.required<int>("samples");
  r.finish();
  return s;
}

}  // namespace

const Parameter* Calibration::find(const std::string& name) const {
  const auto it = parameters.find(name);
  return it == parameters.end() ? nullptr : &it->second;
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
  r.object("fit");  // report of the fit: for readers, not for the simulation
  for (ObjectReader& f : r.objects("from")) {
    c.from.push_back({f.required<std::string>("path"), f.required<std::string>("sha256")});
    f.finish();
  }
  r.finish();
  return c;
}

}  // namespace linkcast
