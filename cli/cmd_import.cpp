#include <algorithm>
#include <filesystem>
#include <utility>

#include "calibrate/import/import_cost.hpp"
#include "calibrate/import/importer.hpp"
#include "cli/command.hpp"
#include "cli/import_notes.hpp"
#include "cli/plugin_pages.hpp"
#include "cli/progress.hpp"
#include "cli/recorded_machine.hpp"
#include "cli/stdin_file.hpp"
#include "cli/trace_out.hpp"
#include "sim/catalogue/machine_files.hpp"
#include "sim/plugin/trace_source.hpp"
#include "sim/records/near_names.hpp"

namespace linkcast::cli {
namespace {

struct ImportOptions {
  std::string format, out;
  std::vector<std::string> options;
  ImportRequest request;
};

bool is_trace(const std::string& format) {
  for (const PluginInfo& info : trace_importers().list())
    if (info.name == format) return true;
  return false;
}

void import_trace(const ImportOptions& o, Context& context) {
  const TraceImporter& importer = trace_importers().get(o.format);
  const std::vector<TraceOption> known = importer.options();
  const TraceOptions options(o.request.options);
  options.refuse_others(o.format, known);
  for (const auto& [option, value] : {std::pair{"--machine", &o.request.machine}, {"--topology", &o.request.topology}})
    if (!value->empty())
      throw InputError(std::string(option) + ": " + o.format + " gives a trace, which is of no machine");
  for (const std::string& file : o.request.files) {
    if (std::filesystem::is_directory(file)) throw InputError(file + ": is a folder: name the files in it");
    refuse_same_file("--out", o.out, file);
  }
  expect_import(o.format, o.request.files);
  const auto of_machine = [](const TraceOption& option) { return option.key == "machine"; };
  if (std::any_of(known.begin(), known.end(), of_machine)) {
    std::map<std::string, std::string> lent = o.request.options;
    lend_parameters(context, known, lent);
    import_recorded(context, importer, o.request.files, lent, o.out);
    return;
  }
  TraceOut sink(o.out, context.progress());
  ToldTrace told(sink);
  importer.run(o.request.files, options, told);
  sink.close();
  told.tell();
}

/// It would be one more rank, or one more repetition.
void refuse_same_files(const std::vector<std::string>& files) {
  for (auto file = files.begin(); file != files.end(); ++file)
    for (auto before = files.begin(); before != file; ++before)
      if (std::error_code none; std::filesystem::equivalent(*before, *file, none))
        throw InputError(*file + ": is given twice" + (*before == *file ? "" : ", as " + *before + " too"));
}

/// File of the machine that --topology names by id or file; empty: neither.
std::string topology_file(Context& context, const std::string& id) {
  if (id.empty()) return "";
  const catalogue::MachineFiles files(context.catalogue().data_dir());
  if (catalogue::MachineFiles::is_file(id)) return id;
  const std::string shipped = files.shipped_topology(id);
  return std::filesystem::exists(shipped) ? shipped : "";
}

void run_import(ImportOptions& o, Context& context) {
  o.request.options = key_values(o.options, "import");
  refuse_same_files(o.request.files);
  o.format = import_format(o.format);
  if (is_trace(o.format)) {
    import_trace(o, context);
    return;
  }
  const std::vector<std::string> known = import_formats();
  if (std::find(known.begin(), known.end(), o.format) == known.end()) throw unknown_name("format", o.format, known);
  const std::string machine = topology_file(context, o.request.topology);
  std::optional<Topology> wiring;
  if (!machine.empty()) wiring = catalogue::MachineFiles(context.catalogue().data_dir()).read_wiring(machine);
  if (wiring && machine == o.request.topology) o.request.topology = wiring->name;
  expect_import(o.format, o.request.files);
  const auto imported = [&] {
    const Heartbeat waiting(context.console(), "import");
    return import_record(o.format, o.request);
  };
  const Json record = imported();
  check_gpus(record, wiring);
  write_out(o.out, naming_stdin(record.dump(1)) + "\n");
  tell_record(record);
}

}  // namespace

void add_import(CLI::App& app, Context& context) {
  auto* command = app.add_subcommand("import", "turn other tools' output into measurements, topologies or traces");
  auto o = std::make_shared<ImportOptions>();
  command->add_option("format", o->format, "one of those below")->required();
  reads_stdin(
      command->add_option("file", o->request.files, "files to read, in order; '-': standard input")->required());
  command->add_option("--out", o->out, "record to write (default: standard output)");
  command->add_option("--machine", o->request.machine,
                      "id of the machine the files come from; every measurement needs it");
  command->add_option(
      "--topology", o->request.topology,
      "topology whose device ids the measurement uses, by id or file, or a calibration file that has it; every "
      "measurement needs it");
  command->add_option("--option", o->options, "key=value, may be repeated: what the files do not print")
      ->allow_extra_args(false);
  command->add_flag_function(
      "--json", [](std::int64_t) {}, "changes nothing: what is written is JSON");
  command->footer(format_names() +
                  "Example:\n  linkcast import nvbandwidth nvbandwidth.json --machine box-1 --topology hgx-h200 "
                  "--out nvbandwidth-1.json");
  command->callback([o, &context] { run_import(*o, context); });
}

}  // namespace linkcast::cli
