#include <algorithm>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <iterator>
#include <set>

#include "cli/command.hpp"
#include "cli/python_program.hpp"
#include "cli/stdin_file.hpp"
#include "sim/log/log.hpp"
#include "sim/work/in_order.hpp"
#include "validate/compare.hpp"
#include "validate/diagnosis/benchmark_log.hpp"
#include "validate/scoreboard.hpp"

namespace linkcast::cli {
namespace {

struct ValidateOptions {
  std::vector<std::string> claims, against, classes;
  std::string report, platform, paper;
  bool table = false;
  int jobs = 1;
  validate::CompareLimits limits;
};

std::vector<validate::Claim> of_classes(const std::vector<validate::Claim>& all,
                                        const std::vector<std::string>& classes) {
  for (const std::string& asked : classes)
    if (std::none_of(all.begin(), all.end(), [&](const validate::Claim& claim) { return claim.claim_class == asked; }))
      throw InputError("validate: --class: no claim is of class '" + asked + "'");
  std::vector<validate::Claim> chosen;
  std::copy_if(all.begin(), all.end(), std::back_inserter(chosen), [&](const validate::Claim& claim) {
    return std::find(classes.begin(), classes.end(), claim.claim_class) != classes.end();
  });
  return chosen;
}

/// @param start  of the paper's name, e.g. 001
std::vector<validate::Claim> of_paper(const std::vector<validate::Claim>& all, const std::string& start) {
  std::vector<validate::Claim> chosen;
  std::set<std::string> papers;
  for (const validate::Claim& claim : all) {
    papers.insert(claim.paper);
    if (claim.paper.rfind(start, 0) == 0) chosen.push_back(claim);
  }
  const auto differs = [&](const validate::Claim& claim) { return claim.paper != chosen.front().paper; };
  if (!start.empty() && !chosen.empty() && std::none_of(chosen.begin(), chosen.end(), differs)) return chosen;
  std::string known;
  for (const std::string& paper : papers) known += (known.empty() ? "" : ", ") + paper;
  throw InputError("validate: --paper: '" + start + "' is the start of no single paper, one of " + known);
}

std::vector<validate::Claim> chosen_claims(Context& context, const ValidateOptions& o) {
  auto all = validate::load_claims(context.catalogue().data_dir() + "/validate/claims");
  if (!o.paper.empty()) all = of_paper(all, o.paper);
  if (!o.classes.empty()) all = of_classes(all, o.classes);
  const std::vector<std::string>& ids = o.claims;
  if (ids.empty()) return all;
  std::vector<validate::Claim> chosen;
  for (const std::string& id : ids) {
    const auto it = std::find_if(all.begin(), all.end(), [&](const validate::Claim& claim) { return claim.id == id; });
    if (it == all.end()) throw InputError("validate: unknown claim '" + id + "', see 'linkcast list claims'");
    chosen.push_back(*it);
  }
  return chosen;
}

/// @throws InputError  with what makes a measurement of the file, where it is what a benchmark printed
Measurement measurement_of(const std::string& path) {
  try {
    return read_measurement(path);
  } catch (const InputError& error) {
    const std::string format = std::filesystem::exists(path) ? diagnosis::log_format(path) : "measurement";
    if (format.empty() || format == "measurement") throw;
    throw InputError(path + ": is what " + format + " prints: 'linkcast import " + format +
                     "' makes a measurement of it, 'linkcast diagnose' takes it as it is");
  }
}

/// --against takes all that follows it: a claim there is none of its files.
void refuse_claims(Context& context, const std::vector<std::string>& files) {
  const auto missing =
      std::find_if(files.begin(), files.end(), [](const std::string& path) { return !std::filesystem::exists(path); });
  if (missing == files.end()) return;
  for (const validate::Claim& claim : validate::load_claims(context.catalogue().data_dir() + "/validate/claims"))
    if (claim.id == *missing)
      throw InputError("validate: give claims or --against, not both: " + *missing + " is a claim, and no file");
}

/// Predictions beside every point of measurement files. @returns false if a limit is missed
bool compare_files(Context& context, const ValidateOptions& o) {
  bool within = true, any = false;
  Json list = Json::array();
  refuse_claims(context, o.against);
  for (const std::string& path : o.against) {
    const Measurement measurement = measurement_of(path);
    const validate::Comparison comparison =
        validate::compare(context.catalogue(), measurement, o.limits,
                          context.edited(o.platform.empty() ? measurement.topology : o.platform));
    within = within && comparison.within_limits();
    any = any || !comparison.points.empty();
    if (!any && path == o.against.back())
      throw InputError(path + ": nothing to compare: " + comparison.unanswered.front());
    if (context.json || context.format == "csv")
      list.push_back(validate::to_json(comparison, true));
    else
      std::cout << naming_stdin(validate::to_table(comparison));
  }
  if (context.format == "csv")
    std::cout << csv_of(rows_of_files(list, "points"));
  else
    print_as_data(context, {{"comparisons", list}});
  return within;
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
  const auto claims = chosen_claims(context, o);
  const auto results = o.jobs == 1 ? validate::evaluate(context.catalogue(), claims)
                                   : validate::evaluate(context.catalogue().data_dir(), claims,
                                                        static_cast<std::size_t>(o.jobs), context.progress());
  if (!o.report.empty()) write_report(o.report, results);
  if (!print_as_data(context, validate::scoreboard_json(results), "claims"))
    std::cout << (o.table ? validate::claims_table(results) : validate::scoreboard_table(results));
  const bool good = validate::none_failed(results);
  if (!o.paper.empty() && !o.report.empty()) {
    std::cout.flush();
    become_python(context, "validate/gallery/gallery.py",
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
  command->add_option("claim", o->claims, "claim ids (default: all)");
  auto* against =
      command->add_option("--against", o->against, "measurement files to compare predictions with, instead of claims");
  reads_stdin(against);
  command
      ->add_option("--platform", o->platform,
                   "platform to compare with, or a calibration file (default: that of the measurement's topology)")
      ->needs(against);
  command->add_option("--median-limit", o->limits.median, "largest median error allowed, e.g. 0.02")->needs(against);
  command->add_option("--p95-limit", o->limits.p95, "largest 95th percentile of the error allowed")->needs(against);
  command->add_option("--class", o->classes, "only claims of these classes, e.g. collective or topology,routing")
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
          "--paper", o->paper,
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
    for (const auto& [name, limit] : {std::pair{"--median-limit", o->limits.median}, {"--p95-limit", o->limits.p95}})
      if (limit && !(*limit >= 0)) throw InputError(std::string(name) + ": must be 0 or more, e.g. 0.02");
    if (!o->against.empty() && !o->claims.empty()) throw InputError("validate: give claims or --against, not both");
    if (o->against.empty() && !context.edit_list().empty())
      throw InputError("validate: edits need --against: claims name the platforms they are about");
    const bool good = o->against.empty() ? check_claims(context, *o) : compare_files(context, *o);
    context.exit_code = good ? 0 : kComparisonFailed;
  });
}

}  // namespace linkcast::cli
