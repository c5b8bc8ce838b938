#include <fmt/format.h>

#include <iostream>
#include <sstream>

#include "cli/place_formats.hpp"
#include "cli/place_listed.hpp"
#include "cli/query_options.hpp"
#include "cli/texts.hpp"
#include "cli/trace_out.hpp"
#include "sim/place/slurm.hpp"

namespace linkcast::cli {
namespace {

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
  if (context.whatif) throw InputError("--format: whatif compares two placements, " + context.format + " is one");
  if (context.format == "cuda")
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
  command->add_option("--option", o->options, "key=value of an application, see 'linkcast help trace'; may be repeated")
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
    const bool others = context.format == "cuda" || context.format == "rankfile", groups = query.contains("groups");
    if ((query.contains("nodes") || groups) && others)
      throw InputError("--format: is of the GPUs of one node; leave out --nodes and --groups");
    if (!o->hosts.empty() && context.format != "rankfile") throw InputError("--hosts: is of --format rankfile");
    const bool one_of = !o->listed.free.empty() && !groups;
    const Json result =
        one_of ? place_on_listed(context, o->listed, o->query.platform(), query) : run_query(context, query);
    if (one_of && context.format == "table" && !context.json) print_candidates(result);
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
