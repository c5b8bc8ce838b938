// Files of other programs and of linkcast itself.
#include <map>

#include "calibrate/import/importer.hpp"
#include "sim/base/file_hash.hpp"
#include "sim/base/object_reader.hpp"
#include "sim/base/packed_file.hpp"
#include "sim/machine/fabric.hpp"
#include "sim/machine/platform.hpp"
#include "sim/machine/topology.hpp"
#include "sim/machine/topology_reader.hpp"
#include "sim/machine/trace_source.hpp"
#include "sim/machine/variant.hpp"
#include "sim/place/job_list.hpp"
#include "sim/records/calibration.hpp"
#include "sim/records/discovery.hpp"
#include "sim/records/launch_record.hpp"
#include "sim/records/measurement.hpp"
#include "sim/records/nccl_choices.hpp"
#include "sim/records/node_groups.hpp"
#include "tests/fuzz/targets/target.hpp"
#include "topologies/formats/drawing.hpp"
#include "topologies/formats/infragraph.hpp"
#include "topologies/formats/nccl_xml.hpp"
#include "validate/claim.hpp"
#include "validate/emulation/compare.hpp"

namespace linkcast::fuzz {
namespace {

using Options = std::map<std::string, std::string>;

/// What the files of a format do not print.
Options options_of(const std::string& format) {
  static const std::map<std::string, Options> known{
      {"osu", {{"src", "gpu0"}, {"dst", "gpu1"}}},
      {"perftest", {{"src", "gpu0"}, {"dst", "gpu1"}}},
      {"ucx_perftest", {{"src", "gpu0"}, {"dst", "gpu1"}}},
      {"csv", {{"timing", "single"}}},
      {"mgbench-csv",
       {{"size", "100MB"}, {"unit", "GB/s"}, {"duplex", "half"}, {"transport", "peer"}, {"timing", "single"}}}};
  const auto found = known.find(format);
  return found == known.end() ? Options() : found->second;
}

std::string suffix_of(const std::string& format) {
  static const std::map<std::string, std::string> known{{"nccl-xml", ".xml"},  {"hwloc-xml", ".xml"},
                                                        {"csv", ".csv"},       {"mgbench-csv", ".csv"},
                                                        {"topology-conf", ""}, {"nsys", ".sql"}};
  const auto found = known.find(format);
  return found == known.end() ? ".txt" : found->second.empty() ? ".conf" : found->second;
}

/// What an importer makes must pass the reader of its schema.
void import(const std::string& format, const Input& input) {
  const Json record = import_record(format, {{input.path}, "m", "p100-dgx1", options_of(format)});
  const std::string schema = record.at("schema");
  try {
    if (schema == "measurement/1")
      parse_measurement(record, input.path);
    else if (schema == "topology/1")
      parse_topology(record, input.path);
  } catch (const InputError& error) {
    found("import " + format + " makes a record that is none: " + error.what());
  }
}

class Forget final : public TraceSink {
 public:
  void header(const TraceHeader& header) override { to_json(header); }
  void event(const TraceEvent& event) override { to_json(event); }
};

void read_trace(const Input& input) {
  TraceReader reader(input.path);
  while (const auto event = reader.next()) to_json(*event);
}

void read_a_topology(const Input& input) {
  const Topology topology = read_topology(input.path);
  if (!topology.fabric.is_null()) make_fabric(topology);
  exporters::to_dot(topology);
  exporters::to_svg(topology);
  exporters::infragraph_json(topology);
  exporters::nccl::topology_xml(topology);
}

const Platform& machine() {
  static const Platform one(read_topology(data_dir() + "/topologies/hgx-h200.json"),
                            read_calibration(data_dir() + "/models/params/hgx-h200.json"));
  return one;
}

/// Reads fast what it reads, and then as the strict reader does.
void compare_json(const Input& input) {
  const std::string text(input.bytes);
  Json quick;
  if (!read_quickly(text, quick)) return;
  try {
    if (const Json strict = parse_json(text, "text"); strict != quick)
      found("quick: " + quick.dump() + ", strict: " + strict.dump());
  } catch (const InputError& error) {
    found(std::string("read quickly, and refused strictly: ") + error.what());
  }
}

void add_records(std::vector<Target>& all) {
  const auto record = [&](const char* name, auto read) {
    all.push_back({name, ".json", [read](const Input& input) { static_cast<void>(read(input.path)); }});
  };
  record("measurement", read_measurement);
  record("calibration", [](const std::string& path) { return read_calibration(path); });
  record("discovery", read_discovery);
  record("launch", read_launch_record);
  record("left-out", read_left_out);
  record("nccl-choices", read_nccl_choices);
  record("claims", validate::read_claims);
  record("variant", [](const std::string& path) { return variant_platform(read_variant(path), machine()); });
  record("node-groups", [](const std::string& path) { return read_node_groups(read_json_file(path), path); });
  record("job-list", scheduling::read_job_list);
  record("packed", file_text);
  record("graph-dump", read_graph_dump);
  record("told-topology",
         [](const std::string& path) { return topology_readers().get("nccl-xml").read(path, machine()); });
  all.push_back({"topology", ".json", read_a_topology});
  all.push_back({"trace", ".jsonl", read_trace});
  all.push_back({"trace-gz", ".jsonl.gz", read_trace});
  all.push_back({"json", "", compare_json});
}

}  // namespace

std::vector<Target> reader_targets() {
  std::vector<Target> all;
  for (const std::string& format : importers().names())
    all.push_back({"import-" + format, suffix_of(format), [format](const Input& input) { import(format, input); }});
  for (const std::string& format : trace_importers().names())
    all.push_back({"import-" + format, suffix_of(format), [format](const Input& input) {
                     Forget sink;
                     trace_importers().get(format).run({input.path}, TraceOptions({}), sink);
                   }});
  add_records(all);
  return all;
}

}  // namespace linkcast::fuzz
