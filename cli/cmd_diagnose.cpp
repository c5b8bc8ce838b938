#include <algorithm>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <sstream>

#include "calibrate/import/importer.hpp"
#include "cli/command.hpp"
#include "cli/stdin_file.hpp"
#include "cli/texts.hpp"
#include "cli/trace_out.hpp"
#include "sim/log/log.hpp"
#include "sim/plugin/library.hpp"
#include "validate/diagnose.hpp"

namespace linkcast::cli {
namespace {

constexpr std::size_t kMostLines = 12;

struct DiagnoseOptions {
  std::vector<std::string> files, options;
  std::string platform, format, library;
};

/// By words that each program prints and the others do not.
std::string format_of(const std::string& path) {
  std::ifstream file(path);
  if (!file || std::filesystem::is_directory(path)) throw InputError(path + ": cannot be read");
  std::ostringstream text;
  text << file.rdbuf();
  const std::string content = text.str();
  const std::vector<std::pair<const char*, const char*>> words{
      {"measurement/1", "measurement"},
      {"nvbandwidth", "nvbandwidth"},
      {"GPU Bandwidth Latency Test", "p2pBandwidthLatencyTest"},
      {"D\\D", "p2pBandwidthLatencyTest"},  // where the title was cut off
      {"OSU MPI", "osu"},
      {"\"nccl_version\"", "nccl-tests"},  // as JSON, which names neither the program nor a column of its table
      {"nccl-tests", "nccl-tests"},
      {"busbw", "nccl-tests"}};
  for (const auto& [word, format] : words)
    if (content.find(word) != std::string::npos) return format;
  throw InputError(path +
                   ": is no measurement and no output of nccl-tests, nvbandwidth, p2pBandwidthLatencyTest or OSU; "
                   "--format says what it is");
}

/// A measurement goes through the strict reader, whatever it was imported from.
Measurement measurement_of(Context& context, const DiagnoseOptions& o, const std::string& path) {
  const std::string format = o.format.empty() ? format_of(path) : o.format;
  if (format == "measurement") return read_measurement(path);
  ImportRequest request{
      {path}, "box", context.catalogue().platform(o.platform).topology().name, key_values(o.options, "import")};
  const Json record = import_record(format, request);
  if (record.value("schema", "") != "measurement/1") throw InputError("--format: " + format + " gives no measurement");
  return parse_measurement(record, path);
}

void print(const validate::Comparison& comparison, const validate::Diagnosis& diagnosis) {
  std::cout << naming_stdin(comparison.file) << " against " << comparison.platform << ": " << comparison.points.size()
            << " points, " << (diagnosis.normal() ? "normal" : std::to_string(diagnosis.slow) + " slow") << ", "
            << diagnosis.fast << " faster than expected\n";
  if (diagnosis.host > 0)
    std::cout << diagnosis.host << " slower than expected and host-bound: says nothing about links\n";
  for (const validate::Suspect& one : diagnosis.suspects)
    std::cout << "suspect: " << one.id << ", " << one.slow << " of its " << one.points << " points slow, "
              << fixed(one.factor, 2) << " times the expected time\n";
  const Json off = validate::to_json(comparison, diagnosis)["off"];
  std::vector<std::vector<std::string>> rows{{"", "", "size", "measured", "expected", "times"}};
  for (const Json& row : off) {
    if (rows.size() > kMostLines) break;
    rows.push_back({row["finding"].get<std::string>() + ": " + row["transport"].get<std::string>() + " " +
                        row["variant"].get<std::string>(),
                    row["ends"].get<std::string>(), to_text(Bytes{row["size_B"].get<double>()}),
                    to_text(Seconds{row["measured_s"].get<double>()}),
                    to_text(Seconds{row["expected_s"].get<double>()}), fixed(row["factor"].get<double>(), 2)});
  }
  if (rows.size() > 1) print_table(rows);
  if (off.size() >= rows.size()) std::cout << "and " << off.size() - rows.size() + 1 << " more, see --json\n";
  for (const std::string& error : comparison.unanswered) log::Log("cli").warning("{}", error);
}

void run(const DiagnoseOptions& o, Context& context) {
  if (!o.library.empty())
    static_cast<void>(libraries().get(o.library));  // throws on an unknown one, with the known ones
  const std::string id = context.edited(o.platform);
  Json files = Json::array();
  for (const std::string& path : o.files) {
    Measurement measurement = measurement_of(context, o, path);
    if (!o.library.empty()) measurement.library = o.library;
    const validate::Comparison comparison = validate::compare(context.catalogue(), measurement, {}, id);
    if (comparison.points.empty()) throw InputError(path + ": " + comparison.unanswered.front());
    const validate::Diagnosis diagnosis = validate::diagnose(comparison);
    if (!diagnosis.normal()) context.exit_code = kComparisonFailed;
    const bool named = !measurement.collectives.empty() && !measurement.library.empty();
    if (context.json) {
      files.push_back(validate::to_json(comparison, diagnosis));
      if (named) files.back()["library"] = measurement.library;
      continue;
    }
    print(comparison, diagnosis);
    if (named)
      std::cout << "expected of " << measurement.library
                << (o.library.empty() ? ", the nearest known to what the file names\n" : ", as --library says\n");
  }
  for (const std::string& note : context.catalogue().platform(id).calibration().notes)
    log::Log("cli").warning("{}", note);
  print_as_data(context, {{"platform", o.platform}, {"files", files}});
}

}  // namespace

void add_diagnose(CLI::App& app, Context& context) {
  auto* command =
      app.add_subcommand("diagnose", "is what a benchmark printed normal for this machine, and if not, where?");
  auto o = std::make_shared<DiagnoseOptions>();
  reads_stdin(command
                  ->add_option("file", o->files,
                               "output of nccl-tests, nvbandwidth, p2pBandwidthLatencyTest or OSU, or measurements; "
                               "'-': standard input")
                  ->required());
  command->add_option("-p,--platform", o->platform, "machine that it should be like")->required();
  command->add_option("--format", o->format, "format of the files, as of import (default: by what they contain)");
  command
      ->add_option("--option", o->options,
                   "key=value that the files do not print, see 'linkcast help import'; repeatable")
      ->allow_extra_args(false);
  command->add_option("--library", o->library,
                      "communication library of the collectives (default: the nearest known to what the file names, "
                      "else the platform's)");
  command->add_flag("--json", context.json, "one JSON object on stdout instead of a table");
  add_edits(*command, context);
  command->footer(
      "Example:\n  linkcast diagnose --platform p100-dgx1 p2p.log\n"
      "Slow or fast is what lies more than 10 % outside its 90 % interval. Exit code 4: something is slow.");
  command->callback([o, &context] { run(*o, context); });
}

}  // namespace linkcast::cli
