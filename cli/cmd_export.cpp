#include <fmt/format.h>

#include <cmath>
#include <filesystem>
#include <limits>

#include "cli/command.hpp"
#include "cli/files.hpp"
#include "sim/base/log.hpp"
#include "sim/engine/plan_record.hpp"
#include "sim/engine/s4u_program.hpp"
#include "sim/machine/library_name.hpp"
#include "sim/query/provenance.hpp"
#include "sim/query/query.hpp"

namespace linkcast::cli {
namespace {

// source: ours. Two hosts each and 8 B for each pair of hosts are 128 MB
constexpr std::size_t kMostExported = 2000;

constexpr const char* kProgramFile = "plan.cpp";

struct ExportOptions {
  std::string format, query, out;
};

/// A copy, flows or a collective, without noise.
void check_has_plan(const Json& query, const std::string& path) {
  const std::string kind =
      query.is_object() && query.contains("kind") && query["kind"].is_string() ? query["kind"].get<std::string>() : "";
  if (!kind.empty() && kind != "p2p" && kind != "flows" && kind != "collective")
    throw InputError(path, "/kind", "an answer of kind " + kind + " is no plan with a time: p2p, flows or collective");
  if (query.is_object() && query.contains("noise"))
    throw InputError(path, "/noise", "a plan is of one network, and noise draws many: leave it out");
}

/// The query with the algorithm and protocol that the answer names: a forecast runs every choice of the library that
/// is not settled.
Json settled(const Json& query, const Json& answer) {
  const auto named = [&](const char* key) {
    return answer.contains(key) && answer[key].is_string() ? answer[key].get<std::string>() : "";
  };
  Json out = query;
  const std::string family = library_family(named("library"));
  const bool rings = (family == "nccl" || family == "rccl") && named("algorithm") != "messages";
  for (const char* key : {"algorithm", "protocol"})
    if (rings && !named(key).empty()) out[key] = named(key);
  return out;
}

/// The plan whose time is nearest below the answer's.
const RecordedPlan& exported_plan(const PlanRecord& record, double time_s, const std::string& path) {
  constexpr double kRounding = 1 + 1e-9;  // source: what solvers agree to
  const RecordedPlan* nearest = nullptr;
  double least_s = std::numeric_limits<double>::infinity();
  for (const RecordedPlan& plan : record.plans()) {
    const double apart_s = std::abs(plan.solution.makespan_s - time_s);
    if (plan.solution.makespan_s > time_s * kRounding) continue;
    if (apart_s < least_s) nearest = &plan, least_s = apart_s;
  }
  if (record.too_large() > 0)
    throw InputError(path, "",
                     fmt::format("its plan has {} steps, and {} can be exported: fewer GPUs, nodes or channels",
                                 record.too_large(), kMostExported));
  if (nearest == nullptr && !record.plans().empty())
    throw InputError(path, "", "no plan that the forecast ran is the one of its time: force algorithm or protocol");
  if (nearest == nullptr)
    throw InputError(path, "",
                     "its time is a sum over classes of alike messages and no plan of flows: of an alltoall engine "
                     "direct has one");
  return *nearest;
}

std::vector<std::string> program_head(const Json& original, const Json& query, const PlanRecord& record) {
  std::vector<std::string> head = {
      fmt::format("Plan of this query by linkcast {}, as a program of SimGrid >= 3.32 alone:", query::build_version()),
      query.dump(), "Compile: c++ -std=c++17 plan.cpp -o plan $(pkg-config --cflags --libs simgrid)",
      "Links are named after the machine's; steps after how many lead to them and where they begin and end."};
  if (query != original)
    head.push_back(fmt::format("Of {} this is what the library most likely takes.", original.dump()));
  if (record.plans().size() > 1)
    head.push_back(
        fmt::format("Of {} plans that the forecast ran this is the one nearest to its time.", record.plans().size()));
  return head;
}

void run_export(const ExportOptions& o, Context& context) {
  Json query = read_json_file(o.query);
  check_has_plan(query, o.query);
  const Json original = query;
  query = settled(original, query::answer_or_throw(context.catalogue(), original, o.query));
  const PlanRecord record(kMostExported);
  const Json answer = query::answer_or_throw(context.catalogue(), query, o.query);
  if (!answer.contains("time_s") || !answer["time_s"].is_number())
    throw InputError(o.query, "", "its answer has no single time: one size, one plan");
  const auto time_s = answer["time_s"].get<double>();
  const RecordedPlan& plan = exported_plan(record, time_s, o.query);
  std::error_code why;
  std::filesystem::create_directories(o.out, why);
  if (!std::filesystem::is_directory(o.out))
    throw InputError("--out: " + o.out + ": is no folder, and none can be there");
  const std::string path = (std::filesystem::path(o.out) / kProgramFile).string();
  write_file("--out", path, s4u_program(plan, {program_head(original, query, record), time_s}));
  log::Log("cli").note("{}: {} steps", path, plan.problem.activities.size());
}

}  // namespace

void add_export(CLI::App& app, Context& context) {
  auto* command = app.add_subcommand("export", "a forecast's plan as a program of another simulator");
  auto o = std::make_shared<ExportOptions>();
  command->add_option("format", o->format, "simgrid: C++ with its S4U interface")
      ->required()
      ->check(CLI::IsMember({"simgrid"}));
  reads_stdin(
      command->add_option("query", o->query, "JSON query as of 'predict --batch'; '-': standard input")->required());
  command
      ->add_option("--out", o->out,
                   "folder for plan.cpp (replaced), whose first lines say how to compile it; up to 2000 steps")
      ->required()
      ->type_name("DIR");
  command->footer("Example:\n  linkcast export simgrid query.json --out plan");
  command->callback([o, &context] { run_export(*o, context); });
}

}  // namespace linkcast::cli
