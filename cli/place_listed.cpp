#include "cli/place_listed.hpp"

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <set>

#include "calibrate/import/importer.hpp"
#include "cli/stdin_file.hpp"
#include "cli/texts.hpp"
#include "sim/base/hostlist.hpp"
#include "sim/base/log.hpp"
#include "sim/place/slurm.hpp"

namespace linkcast::cli {
namespace {

/// A record, or what its importer makes of Slurm's file.
Json groups_in(const std::string& path) {
  std::ifstream file(path);
  char first = ' ';
  file >> first;  // the first one that is no blank
  if (first == '{') return read_json_file(path);
  ImportRequest request;
  request.files = {path};
  request.machine = std::filesystem::path(path).stem().string();
  return import_record("topology-conf", request);
}

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

/// Of these nodes those that take no whole job now.
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

std::vector<std::string> nodes_of(const Json& groups) {
  std::vector<std::string> names;
  for (const Json& one : groups.value("switches", Json::array()))
    for (const Json& name : one.value("nodes", Json::array())) names.push_back(name.get<std::string>());
  return names;
}

}  // namespace

void add_listed_nodes(CLI::App& command, ListedNodes& listed) {
  reads_stdin(command
                  .add_option("--free", listed.free,
                              "what 'scontrol show nodes --json' prints: the job gets the best of its nodes; with "
                              "--groups, whole nodes that are free")
                  ->type_name("FILE"));
  reads_stdin(
      command
          .add_option("--groups", listed.groups,
                      "topology.conf, topology.yaml or node-groups/1: whole nodes by its names, on its switches")
          ->type_name("FILE"));
}

Json take_named_nodes(CLI::App& command, const ListedNodes& listed) {
  Json keys = Json::object();
  if (listed.groups.empty()) {
    for (const char* name : {"--busy", "--with", "--nodes"})
      if (!listed.free.empty() && command.count(name) > 0) throw InputError("--free: excludes " + std::string(name));
    return keys;
  }
  keys["groups"] = groups_in(listed.groups);
  const std::vector<std::string> all = nodes_of(keys["groups"]);
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

}  // namespace linkcast::cli
