#include <algorithm>
#include <cmath>
#include <iostream>

#include "cli/console.hpp"
#include "cli/file_kind.hpp"
#include "cli/files.hpp"
#include "cli/query_options.hpp"
#include "cli/texts.hpp"
#include "sim/base/object_reader.hpp"
#include "sim/base/parse.hpp"
#include "sim/base/text.hpp"
#include "sim/engine/solvers.hpp"
#include "sim/machine/gpu_names.hpp"
#include "sim/query/gpu_values.hpp"
#include "sim/query/key.hpp"
#include "sim/query/provenance.hpp"
#include "sim/query/query.hpp"
#include "sim/query/query_kind.hpp"
#include "sim/replay/query/replay_answer.hpp"
#include "sim/replay/replay_request.hpp"

namespace linkcast::cli {
namespace {

constexpr std::size_t kMostStepRows = 12;  // as many as fit on a screen with the rest; --json has all

std::vector<std::string> step_row(const std::string& name, double recorded_s, double forecast_s) {
  const std::string difference = recorded_s > 0 ? signed_percent(forecast_s / recorded_s - 1) : "-";
  return {name, seconds(recorded_s), seconds(forecast_s), difference};
}

std::string rate_text(const Json& value) { return value == 0 ? "-" : to_text(BytesPerSecond{value.get<double>()}); }

std::string calls(double number) { return number == std::floor(number) ? fixed(number, 0) : fixed(number, 1); }

/// Parts of what `replay` prints, each with an empty line before it; nothing where the answer has none of it.
/// Recorded and forecast, step by step.
void print_recorded_steps(const Json& result) {
  const Json& recorded = result["recorded_steps_s"];
  const Json& forecast = result["steps_s"];
  if (recorded.empty() || recorded.size() != forecast.size()) return;
  std::vector<std::vector<std::string>> table{{"step", "recorded", "forecast", "difference"}};
  for (std::size_t step = 0; step < std::min(recorded.size(), kMostStepRows); ++step)
    table.push_back(step_row(std::to_string(step + 1), recorded[step], forecast[step]));
  if (recorded.size() > kMostStepRows) table.push_back({"...", "", "", ""});
  table.push_back(step_row("median", result["recorded_step_time_s"], result["step_time_s"]));
  std::cout << '\n';
  print_table(table);
  std::cout << "recorded steps hold what recording cost, forecasts do not: docs/step.md\n";
}

/// Time of each kind of collective.
void print_operations(const Json& result) {
  const Json& operations = result["operations"];
  if (operations.empty()) return;
  const bool recorded =
      std::any_of(operations.begin(), operations.end(), [](const Json& row) { return !row["recorded_s"].is_null(); });
  std::vector<std::vector<std::string>> table{{"operation", "calls", "bytes", "time", "exposed", "bus bandwidth"}};
  if (recorded) table[0].insert(table[0].end(), {"recorded", "bus bandwidth"});
  for (const Json& row : operations) {
    table.push_back({text(row["op"]), calls(row["calls"]), to_text(Bytes{row["size_B"].get<double>()}),
                     seconds(row["time_s"]), seconds(row["exposed_s"]), rate_text(row["bus_bandwidth_Bps"])});
    if (!recorded) continue;
    const bool known = !row["recorded_s"].is_null();
    table.back().push_back(known ? seconds(row["recorded_s"]) : "-");
    const Json& rate = row["recorded_bus_bandwidth_Bps"];
    table.back().push_back(rate.is_null() ? "-" : rate_text(rate));
  }
  std::cout << '\n';
  print_table(table);
}

constexpr int kMostRepeats = 1000000000;

struct ReplayOptions {
  ReplayOptions(CLI::App& command, Context& context) : query(command, context, "replay") {}
  QueryOptions query;
  std::string timeline{};
  std::vector<std::string> also{};
  int repeat = 1;
  bool utilisation = false;
  Json asked{};  ///< the query, with what a batch does not know
  replay::ReplayRequest request{};
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
  if (!result["bound"].is_null()) rows.push_back({"bound", " " + result["bound"].get<std::string>()});
  for (const Json& job : result.value("jobs", Json::array()))
    if (!job["step_time_s"].is_null())
      rows.push_back({"step of " + job["trace"].get<std::string>(),
                      " " + seconds(job["step_time_s"]) + interval(job, "step_time", "  (90 %: ")});
  print_table(rows);
  print_recorded_steps(result);
  print_operations(result);
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
Json other_job(const std::string& text) {
  const std::string gpus = query::at_colons(text).back();
  const std::vector<std::string> names = split(gpus, ',');
  const bool named = gpus.size() < text.size() && !names.empty() &&
                     std::all_of(names.begin(), names.end(), [](const auto& one) { return read_gpu_text(one); });
  if (!named) return {{"trace", text}};
  return {{"trace", text.substr(0, text.size() - gpus.size() - 1)}, {"placement", query::gpus_of(gpus, "--also")}};
}

void check(ReplayOptions& o, const Context& context) {
  if (o.utilisation && !context.json) throw InputError("--utilisation: needs --json: it is no table");
  if (context.whatif && !o.timeline.empty()) throw InputError("--timeline: is of one run, and whatif makes two");
  if (context.whatif && context.edit_list().empty())
    throw InputError("whatif needs at least one edit, e.g. --remove gpu0-gpu4");
}

/// The options in the words of a batch query.
void read(ReplayOptions& o, Context& context) {
  o.asked = o.query.query();
  for (const std::string& text : o.also) o.asked["also"].push_back(other_job(text));
  if (o.repeat > 1) o.asked["repeat"] = o.repeat;
  if (o.utilisation) o.asked["utilisation"] = true;
  constexpr const char* name = "command line";
  try {
    const Topology& topology = context.machine(o.query.platform())->platform().topology();
    const Json asked = query::with_numbers(query::query_kinds().get("replay").keys(), o.asked, topology, name);
    ObjectReader r(asked, name);
    static_cast<void>(r.required<std::string>("kind"));
    o.request = replay::read_replay_request(context.machine(r.required<std::string>("platform")), r);
  } catch (const InputError& error) {
    throw in_options(error, "replay");
  }
}

/// On the platform with or without edits.
Json result_on(const catalogue::MachinePtr& machine, ReplayOptions& o, Context& context) {
  ReplayProgress progress(context.progress());
  o.request.machine = machine;
  o.request.watcher = &progress;
  Json result{{"kind", "replay"}};
  result.update(replay::replay_answer(context.catalogue(), o.request));
  o.request.watcher = nullptr;
  query::put_provenance(*machine, o.asked, context.solver, result);
  return result;
}

Json both_results(ReplayOptions& o, Context& context) {
  Json out{{"before", result_on(context.machine(o.query.platform()), o, context)},
           {"after", result_on(context.edited(o.query.platform()), o, context)}};
  out["change"] = query::change_of(out["before"], out["after"]);
  return out;
}

void run_replay(ReplayOptions& o, Context& context) {
  check(o, context);
  static_cast<void>(context.catalogue().solver(context.solver));  // whether there is such a one
  const SolverChoice chosen(context.solver);
  read(o, context);
  std::optional<DraftFile> timeline;
  std::vector<std::string> traces;
  for (const replay::ReplayPart& part : o.request.parts) traces.push_back(part.trace);
  for (const std::string& trace : traces) expect_file_of("replay", trace);
  check_outputs({{"--timeline", o.timeline}}, traces);
  if (!o.timeline.empty()) o.request.timeline = &timeline.emplace("--timeline", o.timeline).out();
  const Json result =
      context.whatif ? both_results(o, context) : result_on(context.edited(o.query.platform()), o, context);
  if (timeline) timeline->close();
  if (print_as_data(context, result, context.whatif ? "" : "ranks")) return;
  if (context.whatif)
    print_replays(result);
  else
    print_replay(result);
}

}  // namespace

void add_replay(CLI::App& app, Context& context) {
  auto* command = app.add_subcommand("replay", "run an application's trace on a machine");
  auto o = std::make_shared<ReplayOptions>(*command, context);
  reads_stdin(command->get_option("trace"), Pipes::kStreamed);
  command
      ->add_option("--also", o->also,
                   "another job at the same time, on these GPUs or on the first ones left, repeatable")
      ->type_name("TRACE[:GPUS]")
      ->allow_extra_args(false);
  command->add_option("--repeat", o->repeat, "the trace (not that of --also) so many times over")
      ->check(CLI::Range(1, kMostRepeats));
  command->add_option("--timeline", o->timeline, "what happened when, for ui.perfetto.dev or chrome://tracing")
      ->type_name("FILE");
  command->add_flag("--utilisation", o->utilisation, "with --json: busy shares of ranks and links over time");
  command->footer(
      "Example:\n  linkcast replay training.jsonl --platform hgx-h200\n"
      "  linkcast replay data_parallel --option ranks=8 --platform hgx-h200");
  command->callback([o, &context] { run_replay(*o, context); });
}

}  // namespace linkcast::cli
