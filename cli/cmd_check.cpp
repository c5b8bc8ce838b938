#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <iostream>
#include <map>
#include <set>
#include <string>
#include <tuple>
#include <vector>

#include "calibrate/fit/fit.hpp"
#include "cli/command.hpp"
#include "cli/console.hpp"
#include "cli/files.hpp"
#include "cli/texts.hpp"
#include "sim/base/log.hpp"
#include "sim/machine/collective.hpp"
#include "sim/machine/fabric.hpp"
#include "sim/machine/machine_files.hpp"
#include "sim/machine/variant.hpp"
#include "sim/records/calibration.hpp"
#include "sim/records/discovery.hpp"
#include "sim/records/launch_record.hpp"
#include "sim/records/measurement.hpp"
#include "sim/records/nccl_choices.hpp"
#include "sim/records/node_groups.hpp"
#include "sim/records/trace.hpp"
#include "validate/claim.hpp"

namespace linkcast::cli {
namespace {

/// Contents of a trace so far, as small as they can be kept.
class Whole {
 public:
  explicit Whole(const TraceReader& reader) : reader_(reader) {
    for (const PluginInfo& info : collectives().list()) ops_.insert(info.name);
    steps_.resize(static_cast<std::size_t>(reader.header().ranks));
    for (const auto& [name, ranks] : reader.header().groups) members_[name].insert(ranks.begin(), ranks.end());
  }

  void event(const TraceEvent& event) {
    ++events_;
    if (event.kind == TraceKind::kCollective) collective(event);
    if (event.kind == TraceKind::kSend) ++messages_[{event.rank, event.peer, event.tag}];
    if (event.kind == TraceKind::kStep) ++steps_[static_cast<std::size_t>(event.rank)];
    if (event.kind == TraceKind::kRecv) --messages_[{event.peer, event.rank, event.tag}];
  }

  [[nodiscard]] long events() const { return events_; }

  /// After the last event.
  void end() const {
    for (const auto& [group, calls] : calls_)
      for (const int rank : members_.at(group))
        if (calls_of(calls, rank) != calls.begin()->second)
          fail(fmt::format("group '{}': rank {} calls {} collectives, rank {} calls {}", group, calls.begin()->first,
                           calls.begin()->second, rank, calls_of(calls, rank)));
    for (const auto& [ends, more] : messages_)
      if (more != 0)
        fail(fmt::format("rank {} to rank {}{}: {}{}", std::get<0>(ends), std::get<1>(ends),
                         std::get<2>(ends).empty() ? "" : " with tag '" + std::get<2>(ends) + "'", std::abs(more),
                         more > 0 ? " more sends than receives" : " more receives than sends"));
    const auto [least, most] = std::minmax_element(steps_.begin(), steps_.end());
    if (*least < *most)
      log::Log("check").warning("{}: rank {} has {} steps and rank {} {}: it may have been cut off", reader_.name(),
                                least - steps_.begin(), *least, most - steps_.begin(), *most);
  }

 private:
  void collective(const TraceEvent& event) {
    const std::string place = fmt::format("{} line {}", reader_.name(), reader_.line());
    if (ops_.count(event.op) == 0) {
      std::string known;
      for (const std::string& op : ops_) known += (known.empty() ? "" : ", ") + op;
      throw InputError(place, "/op", "'" + event.op + "' is no collective: one of " + known);
    }
    if (members_.at(event.group).count(event.rank) == 0)
      throw InputError(place, "/group", fmt::format("rank {} is not in '{}'", event.rank, event.group));
    ++calls_[event.group][event.rank];
  }
  static long calls_of(const std::map<int, long>& calls, int rank) {
    const auto found = calls.find(rank);
    return found == calls.end() ? 0 : found->second;
  }
  [[noreturn]] void fail(const std::string& what) const { throw InputError(reader_.name() + ": " + what); }

  const TraceReader& reader_;
  long events_ = 0;
  std::vector<long> steps_;  ///< by rank
  std::set<std::string> ops_;
  std::map<std::string, std::set<int>> members_;
  std::map<std::string, std::map<int, long>> calls_;
  std::map<std::tuple<int, int, std::string>, long> messages_;  ///< sends less receives
};

/// Reads a whole trace strictly, and looks at what only the whole shows: that all ranks of a group call it as often,
/// and that every message has both ends. @returns  what was found, for people
/// @throws InputError  line and pointer of what is wrong
std::string check_trace(const std::string& path) {
  TraceReader reader(path);
  Whole whole(reader);
  while (const std::optional<TraceEvent> event = reader.next()) whole.event(*event);
  whole.end();
  return fmt::format("trace/1 ({} events of {} ranks)", whole.events(), reader.header().ranks);
}

/// Parameter names are checked against the topology they name, where that is found. @returns what was not checked
std::string check_calibration(Context& context, const Json& json, const std::string& path) {
  Calibration calibration = read_calibration(json, path);
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

/// Reader of one schema. It returns what is to be said behind the schema.
struct RecordCheck {
  const char* schema;
  std::string (*read)(Context& context, const Json& json, const std::string& path);
};
/// Reads, and says nothing.
template <auto read>
std::string quietly(Context& /*context*/, const Json& /*json*/, const std::string& path) {
  static_cast<void>(read(path));
  return "";
}
template <auto read>
std::string quietly_json(Context& /*context*/, const Json& json, const std::string& path) {
  static_cast<void>(read(json, path));
  return "";
}

constexpr RecordCheck kChecks[] = {
    {"topology/1",
     [](Context& /*context*/, const Json& json, const std::string& path) -> std::string {
       const Topology topology = read_topology(json, path);
       if (!topology.fabric.is_null()) make_fabric(topology);
       return "";
     }},
    {"variant/1",
     [](Context& context, const Json& json, const std::string& path) -> std::string {
       const Variant variant = read_variant(json, path);
       if (!variant.is_own_machine())
         static_cast<void>(variant_platform(variant, context.machine(variant.base)->platform()));
       else if (const auto machine = context.machine(path); machine->platform().wiring().fabric.is_object())
         static_cast<void>(machine->cluster());
       return "";
     }},
    {"measurement/1", quietly<&read_measurement>},
    {"launch/1", quietly<&read_launch_record>},
    {"discovery/1", quietly<&read_discovery>},
    {"calibration/1", check_calibration},
    {"fit-report/1",
     [](Context& /*context*/, const Json& json, const std::string& path) -> std::string {
       fit::check_report(json, path);
       return "";
     }},
    {"left-out/1", quietly<&read_left_out>},
    {"claims/1", quietly<&validate::read_claims>},
    {"node-groups/1", quietly_json<&read_node_groups>},
    {"nccl-choices/1", quietly<&read_nccl_choices>}};

/// Reads a record by the strict reader of its schema. @returns its schema
std::string check_file(Context& context, const std::string& path) {
  if (is_trace(path)) return check_trace(path);
  const Json json = read_json_file(path);
  ObjectReader r(json, path);
  std::vector<std::string> known;
  for (const RecordCheck& check : kChecks) known.emplace_back(check.schema);
  const std::string schema = r.choice("schema", known);
  const auto* const check = std::find_if(std::begin(kChecks), std::end(kChecks),
                                         [&](const RecordCheck& one) { return schema == one.schema; });
  return schema + check->read(context, json, path);
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
    std::vector<std::string> wrong;
    for (const std::string& file : *files) {
      const auto checked = [&] {
        const Heartbeat waiting(context.console(), "check " + naming_stdin(file));
        return check_file(context, file);
      };
      try {
        list.push_back({{"file", naming_stdin(file)}, {"schema", checked()}});
      } catch (const InputError& error) {
        if (files->size() == 1) throw;
        wrong.emplace_back(error.what());
        log::Log("check").warning("{}", wrong.back());
        continue;
      }
      if (!context.json && context.format == OutputFormat::kTable)
        std::cout << text(list.back()["file"]) << ": ok, " << text(list.back()["schema"]) << '\n';
    }
    print_as_data(context, {{"files", list}}, "files");
    std::cout.flush();
    if (!wrong.empty()) throw InputError(fmt::format("{} of {} files are wrong", wrong.size(), files->size()));
  });
}

}  // namespace linkcast::cli
