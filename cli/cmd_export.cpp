#include <fmt/format.h>

#include <cmath>
#include <filesystem>
#include <limits>

#include "cli/command.hpp"
#include "cli/files.hpp"
#include "sim/base/log.hpp"
#include "sim/engine/plan_record.hpp"
#include "sim/engine/s4u_program.hpp"
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

/// Time of a copy, of flows or of a collective.
double exported_time(const Json& answer, const std::string& path) {
  if (!answer.contains("time_s") || !answer["time_s"].is_number())
    throw InputError(
        path, "/kind",
        "an answer of kind " + answer["kind"].get<std::string>() + " is no plan with a time: p2p, flows or collective");
  return answer["time_s"].get<double>();
}

/// The plan whose time is nearest to the answer's: a forecast may run others, for what a library chooses between.
const RecordedPlan& exported_plan(const PlanRecord& record, double time_s, const std::string& path) {
  const RecordedPlan* nearest = nullptr;
  double least_s = std::numeric_limits<double>::infinity();
  for (const RecordedPlan& plan : record.plans()) {
    const double apart_s = std::abs(plan.solution.makespan_s - time_s);
    if (apart_s < least_s) nearest = &plan, least_s = apart_s;
  }
  if (record.too_large() > 0)
    throw InputError(path, "",
                     fmt::format("its plan has {} steps, and {} can be exported: fewer GPUs, nodes or channels",
                                 record.too_large(), kMostExported));
  if (nearest == nullptr)
    throw InputError(path, "",
                     "its time is a sum over classes of alike messages and no plan of flows: of an alltoall engine "
                     "direct has one");
  return *nearest;
}

std::vector<std::string> program_head(const Json& query, const PlanRecord& record) {
  std::vector<std::string> head = {
      fmt::format("Plan of this query by linkcast {}, as a program of SimGrid >= 3.32 alone:", query::build_version()),
      query.dump(), "Compile: c++ -std=c++17 plan.cpp -o plan $(pkg-config --cflags --libs simgrid)",
      "Links are named after the machine's; steps after how many lead to them and where they begin and end."};
  if (record.plans().size() > 1)
    head.push_back(
        fmt::format("Of {} plans that the forecast ran this is the one nearest to its time.", record.plans().size()));
  return head;
}

void run_export(const ExportOptions& o, Context& context) {
  const Json query = read_json_file(o.query);
  const PlanRecord record(kMostExported);
  const Json answer = query::answer_or_throw(context.catalogue(), query, o.query);
  const double time_s = exported_time(answer, o.query);
  const RecordedPlan& plan = exported_plan(record, time_s, o.query);
  std::error_code why;
  std::filesystem::create_directories(o.out, why);
  if (!std::filesystem::is_directory(o.out))
    throw InputError("--out: " + o.out + ": is no folder, and none can be there");
  const std::string path = (std::filesystem::path(o.out) / kProgramFile).string();
  write_file("--out", path, s4u_program(plan, {program_head(query, record), time_s}));
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
  command->add_option("--out", o->out, "folder for plan.cpp, whose first lines say how to compile it")
      ->required()
      ->type_name("DIR");
  command->footer("Example:\n  linkcast export simgrid query.json --out plan");
  command->callback([o, &context] { run_export(*o, context); });
}

}  // namespace linkcast::cli
