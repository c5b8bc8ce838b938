#include "calibrate/import/importer.hpp"
#include "sim/cli/command.hpp"

namespace linkcast::cli {
namespace {

struct ImportOptions {
  std::string format, out;
  std::vector<std::string> options;
  ImportRequest request;
};

void read_options(const std::vector<std::string>& texts, ImportRequest& request) {
  for (const std::string& text : texts) {
    const std::size_t sign = text.find('=');
    if (sign == 0 || sign == std::string::npos)
      throw InputError("--option: '" + text + "' is not key=value, see 'linkcast import --help'");
    const std::string key = text.substr(0, sign);
    if (!request.options.emplace(key, text.substr(sign + 1)).second)
      throw InputError("--option " + key + ": is given twice");
  }
}

void run_import(ImportOptions& o) {
  read_options(o.options, o.request);
  const Json record = import_record(o.format, o.request);
  write_out(o.out, record.dump(1) + "\n");
}

std::string formats() {
  std::string text = "Formats, and what --option says to each:\n";
  for (const PluginInfo& info : importers().list()) {
    text += "  " + info.name + ": " + info.summary + "\n";
    for (const ImportOption& option : importers().get(info.name).options())
      text += "      " + option.key + ": " + option.text + "\n";
  }
  return text;
}

}  // namespace

void add_import(CLI::App& app, Context&) {
  auto* command = app.add_subcommand("import", "turn other tools' output into measurement or topology records");
  auto o = std::make_shared<ImportOptions>();
  command->add_option("format", o->format, "one of the formats below")->required();
  command->add_option("file", o->request.files, "files to read, in order")->required();
  command->add_option("--out", o->out, "record to write (default: standard output)");
  command->add_option("--machine", o->request.machine,
                      "id of the machine the files come from; every measurement needs it");
  command->add_option("--topology", o->request.topology,
                      "topology whose device ids the measurement uses; every measurement needs it");
  command->add_option("--option", o->options, "key=value, may be repeated: what the files do not print")
      ->allow_extra_args(false);
  command->footer(formats() +
                  "Example:\n  linkcast import nvbandwidth nvbandwidth.json --machine box-1 --topology hgx-h200 "
                  "--out nvbandwidth-1.json");
  command->callback([o] { run_import(*o); });
}

}  // namespace linkcast::cli
