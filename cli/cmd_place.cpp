#include <fmt/format.h>

#include <algorithm>
#include <iostream>
#include <set>
#include <sstream>
#include <string>

#include "cli/command.hpp"
#include "cli/files.hpp"
#include "cli/query_options.hpp"
#include "cli/texts.hpp"
#include "sim/base/hostlist.hpp"
#include "sim/base/log.hpp"
#include "sim/base/object_reader.hpp"
#include "sim/machine/platform.hpp"
#include "sim/place/place.hpp"
#include "sim/place/slurm.hpp"
#include "sim/records/node_groups.hpp"

namespace linkcast::cli {
namespace {

// A placement as other programs read it.
// Options of place for nodes that a resource manager has listed: which there are, how they hang together, what is free.

/// Among the CPUs, in their order.
long socket_number(const Platform& platform, int gpu) {
  const auto& devices = platform.topology().devices;
  const auto socket = devices.begin() + platform.socket_of(platform.gpu(gpu));
  return std::count_if(devices.begin(), socket, [](const Device& device) { return device.kind == DeviceKind::kCpu; });
}

/// "CUDA_VISIBLE_DEVICES=0,3,1,2": the device of local rank i is number i.
std::string cuda_line(const Json& gpus) {
  std::string text;
  for (const Json& gpu : gpus) text += (text.empty() ? "" : ",") + gpu.dump();
  return "CUDA_VISIBLE_DEVICES=" + text;
}

/// Open MPI's rankfile: each rank on the cores of the socket that its GPU hangs on.
/// @source  Open MPI 4.1, mpirun(1), Rankfiles: rank N=HOST slot=SOCKET:CORES
std::string rankfile(const Json& gpus, const Platform& platform, const std::string& host) {
  std::string text = "# GPUs are not bound by a rankfile: set " + cuda_line(gpus) +
                     ", each rank takes device OMPI_COMM_WORLD_LOCAL_RANK\n";
  int rank = 0;
  for (const Json& gpu : gpus)
    text += fmt::format("rank {}={} slot={}:*\n", rank++, host, socket_number(platform, gpu.get<int>()));
  return text;
}

struct ListedNodes {
  std::string free;    ///< file of scontrol's JSON
  std::string groups;  ///< file: node-groups/1, topology.conf or topology.yaml
};

Json names_in(const std::string& text, const std::string& option) {
  try {
    return expand_hostlist(text);
  } catch (const HostlistError& error) {
    throw InputError(option + ": " + error.what());
  }
}

/// The option as it was written; the command then takes it as not given.
std::vector<std::string> taken(CLI::App& command, const std::string& name) {
  CLI::Option* option = command.get_option(name);
  std::vector<std::string> texts = option->results();
  option->clear();
  return texts;
}

/// Those of these nodes that cannot run a whole job now.
Json busy_in(const std::string& path, const std::vector<std::string>& all) {
  Json busy = Json::array();
  std::set<std::string> told;
  const placement::SlurmNodes listed = placement::read_slurm_nodes(read_json_file(path), path);
  for (const std::string& warning : listed.warnings) log::Log("cli").warning("{}", warning);
  for (const placement::SlurmNode& node : listed.nodes) {
    told.insert(node.name);
    if (node.unusable.empty() && node.busy.empty()) continue;
    if (std::find(all.begin(), all.end(), node.name) != all.end()) busy.push_back({{"node", node.name}});
    log::Log("cli").debug("{}: {}", node.name, node.unusable.empty() ? "GPUs of it are in use" : node.unusable);
  }
  for (const std::string& name : all)
    if (told.count(name) == 0) throw InputError(path + ": " + name + " of --groups is not in it");
  return busy;
}

std::vector<std::string> nodes_of(const NodeGroups& groups) {
  std::vector<std::string> names;
  for (const std::string& one : groups.order) {
    const NodeGroup& group = groups.switches.at(one);
    names.insert(names.end(), group.nodes.begin(), group.nodes.end());
  }
  return names;
}

/// --free and --groups. The object must live as long as the command, which has --busy, --with and --nodes.
void add_listed_nodes(CLI::App& command, ListedNodes& listed) {
  reads_stdin(command
                  .add_option("--free", listed.free,
                              "what 'scontrol show nodes --json' prints: the job gets the best of its nodes; with "
                              "--groups, whole nodes that are free")
                  ->type_name("FILE"));
  reads_stdin(
      command
          .add_option(
              "--groups", listed.groups,
              "topology.conf, topology.yaml, ibnetdiscover, iblinkinfo or node-groups/1: whole nodes by its names, "
              "on its switches")
          ->type_name("FILE"));
}

/// With --groups the keys groups, busy and with, by the names of the nodes; takes --busy and --with from the command.
Json take_named_nodes(CLI::App& command, const ListedNodes& listed) {
  Json keys = Json::object();
  if (listed.groups.empty()) {
    for (const char* name : {"--busy", "--with", "--nodes"})
      if (!listed.free.empty() && command.count(name) > 0) throw InputError("--free: excludes " + std::string(name));
    return keys;
  }
  keys["groups"] = cluster_in(listed.groups);
  const std::vector<std::string> all = nodes_of(read_node_groups(keys["groups"], listed.groups));
  Json busy = Json::array();
  for (const std::string& text : taken(command, "--busy"))
    for (const Json& name : names_in(text, "--busy")) busy.push_back({{"node", name}});
  if (!listed.free.empty()) {
    if (!busy.empty()) throw InputError("--free: excludes --busy");
    busy = busy_in(listed.free, all);
  }
  if (!busy.empty()) keys["busy"] = busy;
  for (const std::string& text : taken(command, "--with")) {
    const std::size_t colon = text.rfind(':');
    if (colon == std::string::npos || colon == 0)
      throw InputError("--with: '" + text + "' is not JOB:NODES, e.g. all_reduce:64MiB:n[1-4]");
    keys["with"].push_back({{"job", text.substr(0, colon)}, {"nodes", names_in(text.substr(colon + 1), "--with")}});
  }
  return keys;
}

/// The answer on the best node of --free, with its name as `node` and all as `candidates`.
/// @param platform  as given, without edits. @param query  of one node
Json place_on_listed(Context& context, const ListedNodes& listed, const std::string& platform, Json query) {
  if (context.whatif) throw InputError("--free: whatif compares placements on one node");
  const placement::SlurmNodes nodes = placement::read_slurm_nodes(read_json_file(listed.free), listed.free);
  const catalogue::MachinePtr machine = context.edited(platform);
  std::vector<placement::NodeCandidate> candidates;
  for (const placement::SlurmNode& node : nodes.nodes)
    candidates.push_back(placement::candidate_of(context.catalogue(), node, platform, machine));
  Json asked = query;
  for (const char* key : {"kind", "platform"}) asked.erase(key);
  asked["top"] = 1;
  placement::PlacementMemory memory;
  const placement::BestNode best =
      placement::best_node(context.catalogue(), asked, candidates, naming_stdin(listed.free), memory);
  query["busy"] = best.node.use["busy"];
  Json result = run_query(context, query);
  result["node"] = best.node.name;
  result["candidates"] = placement::to_json(best.tried);
  for (const std::string& warning : nodes.warnings) result["warnings"].push_back(warning);
  return result;
}

void print_candidates(const Json& result) {
  std::vector<std::vector<std::string>> rows{{"node", "time", ""}};
  for (const Json& row : result["candidates"])
    rows.push_back({text(row["node"]), row.contains("time_s") ? seconds(row["time_s"]) : "",
                    row["node"] == result["node"] ? " taken" : " " + text(row.value("refused", Json("")))});
  print_table(rows);
  std::cout << '\n';
}

struct PlaceOptions {
  PlaceOptions(CLI::App& command, Context& context) : query(command, context, "place", {"cuda", "rankfile"}) {}
  QueryOptions query;
  std::vector<std::string> options{}, hosts{};
  ListedNodes listed{};
  bool slurm = false;
};

std::string numbers(const Json& gpus) {
  std::string text;
  for (const Json& gpu : gpus) text += (text.empty() ? "" : ",") + gpu.dump();
  return text;
}

/// The names of nodes where they have any.
std::string nodes_text(const Json& row) {
  if (!row.contains("names")) return numbers(row["nodes"]);
  std::string text;
  for (const Json& name : row["names"]) text += (text.empty() ? "" : ",") + name.get<std::string>();
  return text;
}

std::string regret(const Json& one) { return percent(one["regret"].get<double>()); }

void print_on_nodes(const Json& result) {
  const Json& first = result["first_free"];
  std::vector<std::vector<std::string>> rows{
      {"nodes", " " + nodes_text(result)},
      {"time", fmt::format(" {}  (90 %: {} to {}; alone {})", seconds(result["time_s"]), seconds(result["time_low_s"]),
                           seconds(result["time_high_s"]), seconds(result["alone_s"]))},
      {"why", " " + text(result["why"])}};
  if (result.contains("bound_s"))
    rows.push_back({"bound", fmt::format(" {}, gap {}: bytes over rate of what every placement crosses",
                                         seconds(result["bound_s"]), percent(result["gap"].get<double>()))});
  rows.push_back({"first free", fmt::format(" {}, regret {}", seconds(first["time_s"]), regret(first))});
  rows.push_back({"searched", fmt::format(" {} forecasts", result["search"]["forecasts"].dump())});
  print_table(rows);
  std::vector<std::vector<std::string>> table{{"", "time", "regret", "rule", "nodes"}};
  int place = 0;
  for (const Json& row : result["placements"])
    table.push_back({std::to_string(++place), seconds(row["time_s"]), regret(row), text(row["rule"]), nodes_text(row)});
  std::cout << '\n';
  print_table(table);
  print_warnings(result);
}

void print_place(const Json& result) {
  if (result.contains("nodes")) {
    print_on_nodes(result);
    return;
  }

  std::vector<std::vector<std::string>> rows{
      {"GPUs", " " + numbers(result["gpus"])},
      {"time", fmt::format(" {}  (90 %: {} to {})", seconds(result["time_s"]), seconds(result["time_low_s"]),
                           seconds(result["time_high_s"]))},
      {"why", " " + text(result["why"])}};
  const auto other = [&](const char* label, const Json& one) {
    rows.push_back(
        {label, fmt::format(" {}: {}, regret {}", numbers(one["gpus"]), seconds(one["time_s"]), regret(one))});
  };
  other("first free", result["first_free"]);
  other("worst", result["worst"]);
  rows.push_back({"by chance", fmt::format(" regret {} on average", percent(result["mean_regret"].get<double>()))});
  for (const Json& neighbour : result.value("neighbours", Json::array()))
    rows.push_back({neighbour == result["neighbours"].front() ? "neighbours" : "",
                    fmt::format(" {} on {}: {}  (alone {})", text(neighbour["job"]), numbers(neighbour["gpus"]),
                                seconds(neighbour["time_s"]), seconds(neighbour["alone_s"]))});
  const Json& search = result["search"];
  rows.push_back({"searched", fmt::format(" {} sets in {} classes, {} forecasts{}", search["sets"].dump(),
                                          search["classes"].dump(), search["evaluated"].dump(),
                                          search["exact"].get<bool>() ? "" : ", not every rank order")});
  print_table(rows);
  std::vector<std::vector<std::string>> table{{"", "GPUs", "time", "regret", "class", ""}};
  int place = 0;
  for (const Json& row : result["placements"])
    table.push_back({std::to_string(++place), numbers(row["gpus"]), seconds(row["time_s"]), regret(row),
                     row["class"].dump(), " " + text(row["why"])});
  std::cout << '\n';
  print_table(table);
  print_warnings(result);
}

/// With the options of an application, and of whole nodes with neighbours by nodes.
Json query_of(const PlaceOptions& o, CLI::App& command) {
  const Json names = take_named_nodes(command, o.listed);  // before they are read as GPUs
  Json query = o.query.query();
  query.update(names);
  if (!o.options.empty()) {
    query["job"] = {{"trace", query["job"]}, {"options", Json::object()}};
    for (const auto& [key, value] : key_values(o.options, "trace")) query["job"]["options"][key] = value;
  }
  if (query.contains("gpus_per_node") && !query.contains("nodes") && !query.contains("groups"))
    throw InputError("--gpus-per-node: requires --nodes or --groups");
  if (query.contains("nodes") && !query.contains("groups") && query.contains("with"))
    for (Json& neighbour : query["with"]) neighbour = {{"job", neighbour["job"]}, {"nodes", neighbour["gpus"]}};
  return query;
}

/// One host for one node; a rankfile has no other way to say where a rank runs.
const std::string& host_of(const PlaceOptions& o) {
  static const std::string here = "localhost";
  if (o.hosts.size() > 1) throw InputError("--hosts: " + std::to_string(o.hosts.size()) + " hosts for one node");
  if (o.hosts.empty()) return here;
  if (o.hosts.front().empty() || o.hosts.front().find_first_of(" \t\n=#") != std::string::npos)
    throw InputError("--hosts: '" + o.hosts.front() + "' is no host name");
  return o.hosts.front();
}

void print_for_others(Context& context, const PlaceOptions& o, const Json& result) {
  if (context.whatif)
    throw InputError("--format: whatif compares two placements, " + context.format.name() + " is one");
  if (context.format == OutputFormat::kCuda)
    std::cout << cuda_line(result["gpus"]) << '\n';
  else
    std::cout << rankfile(result["gpus"], context.edited(o.query.platform())->platform(), host_of(o));
}

/// A job on standard input, its answer as JSON.
void place_for_slurm(Context& context, const CLI::App& command) {
  for (const CLI::Option* option : command.get_options())
    if (option->count() > 0 && option->get_name() != "--slurm" && option->get_name() != "--json")
      throw InputError(option->get_name() + ": --slurm reads the job from standard input");
  if (context.whatif) throw InputError("--slurm: whatif compares placements that options describe");
  std::ostringstream text;
  text << std::cin.rdbuf();
  placement::PlacementMemory memory;
  const std::string name = "standard input";
  const placement::SlurmJob job = placement::read_slurm_job(parse_json(text.str(), name), name);
  std::cout << placement::place_slurm_job(context.catalogue(), job, memory).dump(2) << '\n';
}

void need(const CLI::App& command) {
  for (const char* name : {"--platform", "--job", "--ranks"})
    if (command.count(name) == 0) throw CLI::RequiredError(name);
}

}  // namespace

void add_place(CLI::App& app, Context& context) {
  auto* command = app.add_subcommand("place", "which GPUs for a job, given what is busy and what the neighbours do");
  auto o = std::make_shared<PlaceOptions>(*command, context);
  command->get_option("--platform")->required(false);  // --slurm says it for each node
  command->add_option("--option", o->options, "of an application, see 'linkcast help trace'; repeatable")
      ->type_name("KEY=VALUE")
      ->allow_extra_args(false);
  command->get_option("--format")
      ->description("table (default), json, csv, cuda (a line CUDA_VISIBLE_DEVICES=...), rankfile (Open MPI's)");
  command->add_option("--hosts", o->hosts, "host of the rankfile (default: localhost)")->delimiter(',');
  add_listed_nodes(*command, o->listed);
  command->add_flag("--slurm", o->slurm, "read a job and its nodes from standard input, see docs/schedulers.md");
  command->footer("Example:\n  linkcast place --platform v100-dgx1 --job all_reduce:64MiB --ranks 4 --busy gpu0,gpu1");
  command->callback([o, command, &context] {
    if (o->slurm) {
      place_for_slurm(context, *command);
      return;
    }
    need(*command);
    const Json query = query_of(*o, *command);
    const bool others = context.format == OutputFormat::kCuda || context.format == OutputFormat::kRankfile,
               groups = query.contains("groups");
    if ((query.contains("nodes") || groups) && others)
      throw InputError("--format: is of the GPUs of one node; leave out --nodes and --groups");
    if (!o->hosts.empty() && context.format != OutputFormat::kRankfile)
      throw InputError("--hosts: is of --format rankfile");
    const bool one_of = !o->listed.free.empty() && !groups;
    const Json result =
        one_of ? place_on_listed(context, o->listed, o->query.platform(), query) : run_query(context, query);
    if (one_of && context.format == OutputFormat::kTable && !context.json) print_candidates(result);
    if (others)
      print_for_others(context, *o, result);
    else if (print_as_data(context, result, context.whatif ? "" : "placements"))
      return;
    else if (context.whatif)
      print_whatif(result);
    else
      print_place(result);
  });
}

}  // namespace linkcast::cli
