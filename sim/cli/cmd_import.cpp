#include <iostream>

#include "calibrate/import/importer.hpp"
#include "sim/cli/command.hpp"
#include "sim/records/atomic_file.hpp"

namespace linkcast::cli {
namespace {

struct ImportOptions {
  std::string format, out;
  std::vector<std::string> options;
  ImportRequest request;
};

/// "key=value" of --option.
std::map<std::string, std::string> parse_options(const std::vector<std::string>& texts) {
  std::map<std::string, std::string> options;
  for (const std::string& text : texts) {
    const auto equals = text.find('=');
    if (equals == 0 || equals == std::string::npos) throw InputError("--option: '" + text + "' is not KEY=VALUE");
    if (!options.emplace(text.substr(0, equals), text.substr(equals + 1)).second)
      throw InputError("--option: '" + text.substr(0, equals) + "' is given twice");
  }
  return options;
}

void run_import(ImportOptions& o) {
  o.request.options = parse_options(o.options);
  const Json record = importers().get(o.format).run(o.request);
  const std::string text = record.dump(1) + "\n";
  if (o.out.empty() || o.out == "-")
    std::cout << text;
  else
    write_atomically(o.out, text);
}

std::string formats() {
  std::string text = "Formats:\n";
  for (const PluginInfo& info : importers().list()) text += "  " + info.name + ": " + info.summary + "\n";
  return text;
}

}  // namespace

void add_import(CLI::App& app, Context&) {
  auto* command = app.add_subcommand("import", "turn other tools' output into measurement or topology records");
  auto o = std::make_shared<ImportOptions>();
  command->add_option("format", o->format, "one of the formats below")->required();
  command->add_option("file", o->request.files, "files to read, in order")->required();
  command->add_option("--out", o->out, "record to write (default: standard output)");
  command->add_option("--machine", o->request.machine, "id of the machine the files come from (default: --topology)");
  command->add_option("--topology", o->request.topology, "topology whose device ids the measurement uses");
  command->add_option("--option", o->options, "a fact that the files do not hold; each format knows its own keys")
      ->type_name("KEY=VALUE")
      ->allow_extra_args(false);  // the next word is a file
  command->footer(
      formats() +
      "Example:\n  linkcast import nvbandwidth nvbandwidth.json --topology hgx-h200 --out nvbandwidth-1.json");
  command->callback([o] { run_import(*o); });
}

}  // namespace linkcast::cli
