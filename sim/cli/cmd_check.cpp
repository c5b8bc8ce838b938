#include <iostream>

#include "sim/cli/command.hpp"
#include "sim/records/measurement.hpp"
#include "validate/claim.hpp"

namespace linkcast::cli {
namespace {

/// Reads a record by the strict reader of its schema. @returns its schema
std::string check_file(const std::string& path) {
  const Json json = read_json_file(path);
  ObjectReader r(json, path);
  const std::string schema = r.choice("schema", {"topology/1", "measurement/1", "calibration/1", "claims/1"});
  if (schema == "topology/1") read_topology(path);
  if (schema == "measurement/1") read_measurement(path);
  if (schema == "calibration/1") read_calibration(path);
  if (schema == "claims/1") read_claims(path);
  return schema;
}

}  // namespace

void add_check(CLI::App& app, Context& /*context*/) {
  auto* command = app.add_subcommand("check", "read any record strictly and say what is wrong with it");
  auto files = std::make_shared<std::vector<std::string>>();
  command->add_option("file", *files, "topology, measurement, calibration or claims files")->required();
  command->footer("Example:\n  linkcast check topologies/p100-dgx1.json");
  command->callback([files] {
    for (const std::string& file : *files) std::cout << file << ": ok, " << check_file(file) << '\n';
  });
}

}  // namespace linkcast::cli
