#include <cmath>
#include <iostream>

#include "cli/command.hpp"
#include "cli/draft_file.hpp"
#include "cli/progress.hpp"
#include "cli/texts.hpp"
#include "cli/trace_out.hpp"
#include "sim/query/provenance.hpp"
#include "sim/query/whatif.hpp"
#include "sim/replay/replay_run.hpp"
#include "sim/units/parse.hpp"

namespace linkcast::cli {
namespace {

constexpr int kMostRepeats = 1000000000;
constexpr int kMostRanks = 1000000;

struct ReplayOptions {
  std::string trace, platform, placement, timeline;
  std::vector<std::string> also;
  int ranks = 0;
  std::optional<int> nodes{}, gpus_per_node{};
  std::vector<std::string> options;
  replay::ReplayRequest request;
};

/// Nothing where the network was not used.
std::string interval(const Json& result, const std::string& name, const std::string& before,
                     const std::string& after = ")") {
  const Json& low = result[name + "_low_s"];
  const Json& high = result[name + "_high_s"];
  return low.is_null() || low == high ? "" : before + seconds(low) + " to " + seconds(high) + after;
}

std::string path_text(const Json& path) {
  double all = 0;
  for (const auto& part : path.items()) all += part.value().get<double>();
  std::string text;
  for (const auto& part : path.items()) {
    const std::string name = part.key().substr(0, part.key().size() - 2);
    if (part.value().get<double>() > 0)
      text += (text.empty() ? "" : ", ") + name + " " + percent(part.value().get<double>() / all);
  }
  return text;
}

void print_replay(const Json& result) {
  std::vector<std::vector<std::string>> rows{
      {"makespan", " " + seconds(result["makespan_s"]) + interval(result, "time", "  (90 %: ")}};
  if (!result["step_time_s"].is_null())
    rows.push_back({"step", " " + seconds(result["step_time_s"]) + "  (median of " +
                                std::to_string(result["steps_s"].size()) +
                                interval(result, "step_time", "; 90 %: ", "") + ")"});
  rows.push_back({"exposed communication", " " + seconds(result["exposed_communication_s"]) + "  (median rank)"});
  rows.push_back({"critical path", " " + path_text(result["critical_path"])});
  for (const Json& job : result.value("jobs", Json::array()))
    if (!job["step_time_s"].is_null())
      rows.push_back({"step of " + job["trace"].get<std::string>(),
                      " " + seconds(job["step_time_s"]) + interval(job, "step_time", "  (90 %: ")});
  print_table(rows);
  std::vector<std::vector<std::string>> table{
      {"rank", "gpu", "compute", "communication", "exposed", "waiting", "idle"}};
  for (const Json& rank : result["ranks"])
    table.push_back({rank["rank"].dump(), rank["gpu"].dump(), seconds(rank["compute_s"]),
                     seconds(rank["communication_s"]), seconds(rank["exposed_s"]), seconds(rank["waiting_s"]),
                     seconds(rank["idle_s"])});
  std::cout << '\n';
  print_table(table);
  print_warnings(result);
}

/// FILE, or FILE:GPUS.
replay::ReplayPart other_job(const std::string& text) {
  const std::size_t colon = text.rfind(':');
  const std::string gpus = colon == std::string::npos ? "" : text.substr(colon + 1);
  if (gpus.empty() || gpus.find_first_not_of("0123456789,-") != std::string::npos) return {text};
  return {text.substr(0, colon), parse_gpus(gpus, "--also")};
}

/// 0: not said.
int positive(const char* option, const std::optional<int>& value) {
  if (value && *value < 1) throw InputError(std::string(option) + ": must be 1 or more");
  return value.value_or(0);
}

void check(ReplayOptions& o, const Context& context) {
  if (o.request.host_scale && !std::isfinite(*o.request.host_scale))
    throw InputError("--host-scale: must be a number, not nan");
  if (context.solver != "fluid") throw InputError("--solver: a replay knows fluid alone");
  if (o.request.utilisation && !context.json) throw InputError("--utilisation: needs --json: it is no table");
  if (context.whatif && !o.timeline.empty()) throw InputError("--timeline: is of one run, and whatif makes two");
  if (context.whatif && context.edit_list().empty())
    throw InputError("whatif needs at least one edit, e.g. --remove gpu0-gpu4");
  o.request.nodes = positive("--nodes", o.nodes);
  o.request.gpus_per_node = positive("--gpus-per-node", o.gpus_per_node);
}

/// Of the options, in the words of a batch query where that has them.
Json asked(const ReplayOptions& o) {
  const replay::ReplayPart& part = o.request.parts.front();
  Json query{{"kind", "replay"}, {"platform", o.platform}, {"trace", part.trace}};
  if (!part.options.empty()) query["options"] = part.options;
  if (!part.gpus.empty()) query["placement"] = part.gpus;
  if (part.ranks > 0) query["ranks"] = part.ranks;
  for (std::size_t i = 1; i < o.request.parts.size(); ++i) {
    query["also"].push_back({{"trace", o.request.parts[i].trace}});
    if (!o.request.parts[i].gpus.empty()) query["also"].back()["placement"] = o.request.parts[i].gpus;
  }
  if (o.request.repeat > 1) query["repeat"] = o.request.repeat;
  if (!o.request.library.empty()) query["library"] = o.request.library;
  if (o.request.local) query["local"] = true;
  if (o.request.utilisation) query["utilisation"] = true;
  if (o.request.host_scale) query["host_scale"] = *o.request.host_scale;
  if (o.request.nodes > 0) query["nodes"] = o.request.nodes;
  if (o.request.gpus_per_node > 0) query["gpus_per_node"] = o.request.gpus_per_node;
  if (!o.request.transport.empty()) query["transport"] = o.request.transport;
  return query;
}

/// On the platform with or without edits.
Json result_on(const std::string& platform, ReplayOptions& o, Context& context) {
  Progress progress;
  o.request.platform = platform;
  o.request.watcher = &progress;
  Json result = replay::replay(context.catalogue(), o.request);
  o.request.watcher = nullptr;
  query::put_provenance(context.catalogue(), platform, asked(o), "", result);
  return result;
}

Json both_results(ReplayOptions& o, Context& context) {
  Json out{{"before", result_on(o.platform, o, context)}, {"after", result_on(context.edited(o.platform), o, context)}};
  out["change"] = query::change_of(out["before"], out["after"]);
  return out;
}

void run_replay(ReplayOptions& o, Context& context) {
  check(o, context);
  o.request.parts = {{o.trace, {}, o.ranks, key_values(o.options, "trace")}};
  if (!o.placement.empty()) o.request.parts[0].gpus = parse_gpus(o.placement, "--placement");
  for (const std::string& job : o.also) o.request.parts.push_back(other_job(job));
  std::optional<DraftFile> timeline;
  for (const replay::ReplayPart& part : o.request.parts) refuse_same_file("--timeline", o.timeline, part.trace);
  if (!o.timeline.empty()) o.request.timeline = &timeline.emplace("--timeline", o.timeline).out();
  const Json result = context.whatif ? both_results(o, context) : result_on(context.edited(o.platform), o, context);
  if (timeline) timeline->close();
  if (context.json)
    std::cout << result.dump(2) << '\n';
  else if (context.whatif)
    print_replays(result);
  else
    print_replay(result);
}

}  // namespace

void add_replay(CLI::App& app, Context& context) {
  auto* command = app.add_subcommand("replay", "run an application's trace on a machine");
  auto o = std::make_shared<ReplayOptions>();
  command->add_option("trace", o->trace, "trace file, or a trace or application that 'linkcast list traces' names")
      ->required();
  add_common(*command, context, o->platform);
  command->add_option("--placement", o->placement, "GPU of each rank, e.g. 0,3,1,2 (default: the first ones)");
  command
      ->add_option("--ranks", o->ranks, "replay on another number of ranks than were recorded, where all do the same")
      ->check(CLI::Range(1, kMostRanks));
  command
      ->add_option("--option", o->options, "key=value of an application, see 'linkcast trace --help'; may be repeated")
      ->allow_extra_args(false);
  command
      ->add_option("--also", o->also,
                   "another job at the same time, on these GPUs or on the first ones left, repeatable")
      ->type_name("TRACE[:GPUS]")
      ->allow_extra_args(false);
  command->add_option("--repeat", o->request.repeat, "the trace (not that of --also) so many times over")
      ->check(CLI::Range(1, kMostRepeats));
  command->add_option("--timeline", o->timeline, "what happened when, for ui.perfetto.dev or chrome://tracing")
      ->type_name("FILE");
  command->add_flag("--utilisation", o->request.utilisation, "with --json: busy shares of ranks and links over time");
  command->add_option("--library", o->request.library, "communication library (default: the platform's)");
  command->add_option("--nodes", o->nodes, "nodes of the platform on its fabric (default: one node alone)");
  command->add_option("--gpus-per-node", o->gpus_per_node, "of each node, the first ones (default: all)");
  command->add_option("--transport", o->request.transport,
                      "of messages between nodes, as in predict p2p (default: what the library would take)");
  command
      ->add_option("--host-scale", o->request.host_scale,
                   "CPU times are multiplied by it instead of by the trace's own factor; 0: CPUs take no time")
      ->check(CLI::Range(0.0, 1e6));
  command->add_flag(
      "--local", o->request.local,
      "each rank by itself: without collectives, messages and what the trace marks as part of an exchange");
  command->footer(
      "Example:\n  linkcast replay training.jsonl --platform hgx-h200\n"
      "  linkcast replay data_parallel --option ranks=8 --platform hgx-h200");
  command->callback([o, &context] { run_replay(*o, context); });
}

}  // namespace linkcast::cli
