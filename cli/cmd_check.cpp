#include <filesystem>
#include <iostream>

#include "calibrate/fit/fit.hpp"
#include "cli/check_trace.hpp"
#include "cli/command.hpp"
#include "cli/progress.hpp"
#include "cli/stdin_file.hpp"
#include "cli/texts.hpp"
#include "sim/machine/fabric_generator.hpp"
#include "sim/machine/machine_files.hpp"
#include "sim/machine/variant.hpp"
#include "sim/records/discovery.hpp"
#include "sim/records/launch_record.hpp"
#include "sim/records/left_out.hpp"
#include "sim/records/measurement.hpp"
#include "sim/records/nccl_choices.hpp"
#include "sim/records/node_groups.hpp"
#include "validate/claim.hpp"

namespace linkcast::cli {
namespace {

/// Parameter names are checked against the topology they name, where that is found. @returns what was not checked
std::string check_calibration(Context& context, const std::string& path) {
  Calibration calibration = read_calibration(path);
  const catalogue::MachineFiles files(context.catalogue().data_dir());
  if (calibration.wiring.is_null() && !files.topology_of(calibration))
    return " (parameter names not checked: topology '" + calibration.topology + "' is not shipped)";
  Topology topology = files.read_topology_of(calibration);
  static_cast<void>(Platform(std::move(topology), std::move(calibration)));
  return "";
}

/// *.jsonl, or that packed by gzip.
bool is_trace(std::filesystem::path path) {
  if (path.extension() == ".gz") path = path.stem();
  return path.extension() == ".jsonl";
}

/// Reads a record by the strict reader of its schema. @returns its schema
std::string check_file(Context& context, const std::string& path) {
  if (is_trace(path)) return check_trace(path);
  const Json json = read_json_file(path);
  ObjectReader r(json, path);
  const std::string schema =
      r.choice("schema", {"topology/1", "variant/1", "measurement/1", "launch/1", "discovery/1", "calibration/1",
                          "fit-report/1", "left-out/1", "claims/1", "node-groups/1", "nccl-choices/1"});
  if (schema == "topology/1") {
    const Topology topology = read_topology(path);
    if (!topology.fabric.is_null()) make_fabric(topology);
  }
  if (schema == "variant/1") {
    const Variant variant = read_variant(path);
    static_cast<void>(variant_platform(variant, context.machine(variant.base)->platform()));
  }
  if (schema == "measurement/1") read_measurement(path);
  if (schema == "launch/1") read_launch_record(path);
  if (schema == "discovery/1") read_discovery(path);
  if (schema == "calibration/1") return schema + check_calibration(context, path);
  if (schema == "fit-report/1") fit::check_report(json, path);
  if (schema == "left-out/1") read_left_out(path);
  if (schema == "claims/1") validate::read_claims(path);
  if (schema == "node-groups/1") read_node_groups(json, path);
  if (schema == "nccl-choices/1") read_nccl_choices(path);
  return schema;
}

}  // namespace

void add_check(CLI::App& app, Context& context) {
  auto* command = app.add_subcommand("check", "read any record strictly and say what is wrong with it");
  auto files = std::make_shared<std::vector<std::string>>();
  auto* option = command->add_option("file", *files,
                                     "topology, variant, measurement, launch, discovery, calibration, fit-report, "
                                     "left-out, claims, node-groups or nccl-choices "
                                     "files, or traces (*.jsonl, *.jsonl.gz); '-': a record on standard input");
  reads_stdin(option->required(), Pipes::kStreamed);
  add_format(*command, context);
  command->footer("Example:\n  linkcast check topologies/p100-dgx1.json");
  command->callback([files, &context] {
    Json list = Json::array();
    for (const std::string& file : *files) {
      const auto checked = [&] {
        const Heartbeat waiting(context.console(), "check " + naming_stdin(file));
        return check_file(context, file);
      };
      list.push_back({{"file", naming_stdin(file)}, {"schema", checked()}});
      if (!context.json && context.format == "table")
        std::cout << text(list.back()["file"]) << ": ok, " << text(list.back()["schema"]) << '\n';
    }
    print_as_data(context, {{"files", list}}, "files");
  });
}

}  // namespace linkcast::cli
