#include <algorithm>
#include <filesystem>
#include <fstream>
#include <iostream>

#include "cli/command.hpp"
#include "cli/files.hpp"
#include "cli/python_program.hpp"
#include "sim/base/in_order.hpp"
#include "sim/base/log.hpp"
#include "validate/claim.hpp"
#include "validate/diagnosis/diagnose_files.hpp"
#include "validate/scoreboard.hpp"

namespace linkcast::cli {
namespace {

struct ValidateOptions {
  validate::ClaimChoice claims;
  diagnosis::CompareRequest against;
  std::string report;
  bool table = false;
  int jobs = 1;
};

/// Predictions beside every point of measurement files. @returns false if a limit is missed
bool compare_files(Context& context, ValidateOptions& o) {
  Json list = Json::array();
  o.against.edits = context.edit_list();
  const auto compared =
      diagnosis::compare_files(context.catalogue(), o.against, [&](const validate::Comparison& comparison) {
        if (context.json || context.format == OutputFormat::kCsv)
          list.push_back(validate::to_json(comparison, true));
        else
          std::cout << naming_stdin(validate::to_table(comparison));
      });
  if (context.format == OutputFormat::kCsv)
    std::cout << csv_of(rows_of_files(list, "points"));
  else
    print_as_data(context, {{"comparisons", list}});
  return std::all_of(compared.begin(), compared.end(), [](const auto& one) { return one.within_limits(); });
}

void write_report(const std::string& folder, const std::vector<validate::ClaimResult>& results) {
  std::filesystem::create_directories(folder);
  const auto write = [&](const char* name, const std::string& text) {
    std::ofstream out(folder + "/" + name);
    out << text;
    out.close();
    if (!out) throw InputError("--report: " + folder + "/" + name + ": cannot be written");
  };
  write("claims.json", validate::scoreboard_json(results).dump(1) + "\n");
  write("scoreboard.txt", validate::scoreboard_table(results));
  log::Log("cli").note("report: {}/claims.json and scoreboard.txt written", folder);
}

bool check_claims(Context& context, const ValidateOptions& o) {
  const auto claims = validate::chosen_claims(context.catalogue().data_dir(), o.claims);
  const auto results = o.jobs == 1 ? validate::evaluate(context.catalogue(), claims)
                                   : validate::evaluate(context.catalogue().data_dir(), claims,
                                                        static_cast<std::size_t>(o.jobs), context.progress());
  if (!o.report.empty()) write_report(o.report, results);
  if (!print_as_data(context, validate::scoreboard_json(results), "claims"))
    std::cout << (o.table ? validate::claims_table(results) : validate::scoreboard_table(results));
  const bool good = validate::none_failed(results);
  if (!o.claims.paper.empty() && !o.report.empty()) {
    std::cout.flush();
    become_python(context, "gallery",
                  {"--paper", results.front().paper, "--folder", o.report, "--status",
                   std::to_string(good ? 0 : kComparisonFailed)});
  }
  return good;
}

}  // namespace

void add_validate(CLI::App& app, Context& context) {
  auto* command =
      app.add_subcommand("validate", "check the papers' claims, or any measurement, against simulation runs");
  auto o = std::make_shared<ValidateOptions>();
  command->add_option("claim", o->claims.ids, "claim ids (default: all)");
  auto* against = command->add_option("--against", o->against.files,
                                      "measurement files to compare predictions with, instead of claims");
  reads_stdin(against);
  command
      ->add_option("--platform", o->against.platform,
                   "platform to compare with, or a calibration file (default: that of the measurement's topology)")
      ->needs(against);
  command->add_option("--median-limit", o->against.limits.median, "largest median error allowed, e.g. 0.02")
      ->needs(against);
  command->add_option("--p95-limit", o->against.limits.p95, "largest 95th percentile of the error allowed")
      ->needs(against);
  command->add_option("--class", o->claims.classes, "only claims of these classes, e.g. collective or topology,routing")
      ->delimiter(',')
      ->allow_extra_args(false)
      ->excludes(against);
  command->add_flag("--table", o->table, "one row of Markdown a claim: claimed and predicted figures, verdict, reason")
      ->excludes(against);
  command
      ->add_option("--jobs", o->jobs,
                   "threads that check claims, which share the limit of memory; the same results (default: 1)")
      ->check(CLI::Range(1, work::kMostThreads))
      ->excludes(against);
  command->add_option("--report", o->report,
                      "folder for claims.json and scoreboard.txt; with --paper also for its page");
  command
      ->add_option(
          "--paper", o->claims.paper,
          "claims of one paper, by the start of its name, e.g. 001; with --report a page that draws its figures, "
          "measured and forecast")
      ->excludes(against)
      ->excludes("claim")
      ->excludes("--class");
  add_format(*command, context);
  add_edits(*command, context);
  command->footer(
      "Example:\n  linkcast validate TPDS-001\n"
      "  linkcast validate --paper 001 --report reports/001\n"
      "  linkcast validate --against calibrate/data/p100-dgx1/p2p-matrix.json\n"
      "  linkcast validate --against calibrate/data/p100-dgx1/p2p-matrix.json --slow gpu3:1.2\n"
      "Exit code 4: a claim failed, or a comparison missed a limit.");
  command->callback([o, &context] {
    for (const auto& [name, limit] :
         {std::pair{"--median-limit", o->against.limits.median}, {"--p95-limit", o->against.limits.p95}})
      if (limit && !(*limit >= 0)) throw InputError(std::string(name) + ": must be 0 or more, e.g. 0.02");
    if (!o->against.files.empty() && !o->claims.ids.empty())
      throw InputError("validate: give claims or --against, not both");
    if (o->against.files.empty() && !context.edit_list().empty())
      throw InputError("validate: edits need --against: claims name the platforms they are about");
    const bool good = o->against.files.empty() ? check_claims(context, *o) : compare_files(context, *o);
    context.exit_code = good ? 0 : kComparisonFailed;
  });
}

}  // namespace linkcast::cli
