#include <cmath>
#include <iostream>

#include "cli/command.hpp"
#include "cli/diagnose_log.hpp"
#include "cli/texts.hpp"
#include "sim/log/log.hpp"
#include "sim/plugin/library.hpp"
#include "validate/diagnosis/report.hpp"

namespace linkcast::cli {
namespace {

constexpr std::size_t kMostLines = 12;

std::string rate(double bytes, double time_s) {
  return bytes > 0 ? to_text(BytesPerSecond{bytes / time_s}) : std::string("-");
}

void print_points(const diagnosis::Diagnosis& found, const diagnosis::Bench& bench) {
  const std::vector<std::size_t> telling = diagnosis::telling_points(found, bench, kMostLines);
  std::vector<std::vector<std::string>> rows{
      {"", "", "size", "measured", "expected", "times", "measured bus", "expected"}};
  for (const std::size_t place : telling) {
    if (rows.size() > kMostLines) break;
    const validate::ComparedPoint& p = found.comparison.points[place];
    rows.push_back({std::string(text_of(found.findings[place])) + ": " + p.transport + " " + p.variant, p.ends,
                    to_text(Bytes{p.size_B}), to_text(Seconds{p.measured_s}), to_text(Seconds{p.predicted_s}),
                    fixed(p.measured_s / p.predicted_s, 2), rate(p.moved_B, p.measured_s),
                    rate(p.moved_B, p.predicted_s)});
  }
  if (rows.size() > 1) print_table(rows);
  if (telling.size() >= rows.size())
    std::cout << "and " << telling.size() - rows.size() + 1 << " more, see --json\n";
}

void print_causes(const diagnosis::Diagnosis& found) {
  const std::vector<diagnosis::RankedKind> kinds = diagnosis::likely_kinds(found);
  if (kinds.empty()) return;
  std::vector<std::vector<std::string>> rows{{"cause", "likelihood", "where", "best fit"}};
  for (const diagnosis::RankedKind& kind : kinds) {
    const diagnosis::Candidate& best = kind.candidates.front();
    rows.push_back({std::string(text_of(kind.kind)), percent(kind.share), diagnosis::parts_text(kind),
                    best.text + (best.times > 1 ? " " + fixed(best.times, 2) + " times" : "")});
  }
  print_table(rows);
  std::cout << "next: " << diagnosis::next_step(kinds.front().kind) << '\n';
}

void print(const std::string& path, const Json& facts, const diagnosis::Diagnosis& found,
           const diagnosis::Bench& bench) {
  const validate::Comparison& comparison = found.comparison;
  std::cout << path << " against " << comparison.platform << ": " << comparison.points.size() << " points, "
            << text_of(found.verdict) << ", " << found.slow << " slow, " << found.fast << " fast\n";
  if (const std::string said = facts_text(facts); !said.empty()) std::cout << "the log says: " << said << '\n';
  if (found.host > 0)
    std::cout << found.host << " slower than expected and host-bound: says nothing about links\n";
  if (found.judged.empty()) std::cout << "every point may be host-bound: larger sizes would tell of links\n";
  print_causes(found);
  print_points(found, bench);
  for (const std::string& error : comparison.unanswered) log::Log("cli").warning("{}", error);
}

void run(const DiagnoseOptions& o, Context& context) {
  if (!o.library.empty())
    static_cast<void>(libraries().get(o.library));  // throws on an unknown one, with the known ones
  const Platform& platform = context.catalogue().platform(o.platform);
  Json files = Json::array();
  for (const std::string& path : o.files) {
    const DiagnosedLog log = read_log(o, platform.topology().name, path);
    if (!o.force) check_gpus(log, platform, o.platform);
    const diagnosis::Bench bench(context.catalogue(), o.platform, context.edit_list(), log.measurement);
    if (bench.comparison().points.empty()) throw InputError(path + ": " + bench.comparison().unanswered.front());
    const diagnosis::Diagnosis found = bench.diagnose();
    if (!found.normal()) context.exit_code = kComparisonFailed;
    const Json facts = facts_of(log);
    if (context.json) {
      Json one = diagnosis::to_json(found);
      one["file"] = path;
      one["log"] = facts;
      files.push_back(one);
      continue;
    }
    print(path, facts, found, bench);
    if (facts.contains("library"))
      std::cout << "expected of " << log.measurement.library
                << (o.library.empty() ? ", the nearest known to what the file names\n" : ", as --library says\n");
  }
  if (context.json) std::cout << Json{{"platform", o.platform}, {"files", files}}.dump(2) << '\n';
}

}  // namespace

void add_diagnose(CLI::App& app, Context& context) {
  auto* command =
      app.add_subcommand("diagnose", "is what a benchmark printed normal for this machine, and if not, what is wrong?");
  auto o = std::make_shared<DiagnoseOptions>();
  command
      ->add_option("file", o->files,
                   "output of nccl-tests, nvbandwidth, p2pBandwidthLatencyTest or OSU, or measurements")
      ->required();
  command->add_option("-p,--platform", o->platform, "machine that it should be like")->required();
  command->add_option("--format", o->format, "format of the files, as of import (default: by what they contain)");
  command
      ->add_option("--option", o->options,
                   "key=value that the files do not print, see 'linkcast import --help'; repeatable")
      ->allow_extra_args(false);
  command->add_option("--library", o->library,
                      "communication library of the collectives (default: the nearest known to what the file names, "
                      "else the platform's)");
  command->add_flag("--force", o->force, "compare though the file names other GPUs than the platform has");
  command->add_flag("--json", context.json, "one JSON object on stdout instead of a table");
  add_edits(*command, context);
  command->footer(
      "Example:\n  linkcast diagnose --platform p100-dgx1 p2p.log\n"
      "Faults are tried out as edits and ranked by how well they explain the file; docs/diagnose.md says how. Slow or\n"
      "fast is what lies more than 10 % outside its 90 % interval. Exit code 4: something is wrong.");
  command->callback([o, &context] { run(*o, context); });
}

}  // namespace linkcast::cli
