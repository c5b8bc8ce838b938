#include <array>
#include <cstdio>
#include <optional>
#include <string_view>
#include <utility>

#include "calibrate/pipelines/import_files.hpp"
#include "cli/command.hpp"
#include "cli/console.hpp"
#include "cli/file_kind.hpp"
#include "cli/files.hpp"
#include "cli/plugin_pages.hpp"
#include "sim/base/log.hpp"

namespace linkcast::cli {
namespace {

struct ImportOptions {
  std::string format, out;
  std::vector<std::string> options;
  ImportRequest request;
};

/// Lines for standard output, held in a file without a name until all are there: who reads a pipe takes a part of a
/// trace for a trace.
class HeldLines {
 public:
  HeldLines() : file_(std::tmpfile()) { check(file_ != nullptr); }
  HeldLines(const HeldLines&) = delete;
  HeldLines& operator=(const HeldLines&) = delete;
  ~HeldLines() {
    if (file_ != nullptr) static_cast<void>(std::fclose(file_));
  }
  void add(std::string_view lines) { check(std::fwrite(lines.data(), 1, lines.size(), file_) == lines.size()); }
  void send_to(DraftFile& out) {
    check(std::fflush(file_) == 0);
    std::rewind(file_);
    std::array<char, 65536> part{};
    for (std::size_t read = 0; (read = std::fread(part.data(), 1, part.size(), file_)) > 0; out.check())
      out.out().write(part.data(), static_cast<std::streamsize>(read));
  }

 private:
  static void check(bool well) {
    if (!well) throw InputError("standard output: " P_tmpdir " has no room to hold the trace until it is whole: --out");
  }
  std::FILE* file_;
};

void import_trace(const ImportOptions& o, Context& context) {
  DraftFile file("--out", o.out);  // before the work, which takes its time
  std::optional<HeldLines> held;
  if (file.is_standard_output()) held.emplace();
  const auto notes = pipelines::import_trace(context.catalogue(), o.format, o.request, [&](std::string_view lines) {
    if (held) return held->add(lines);
    file.out() << lines;
    file.check();
  });
  if (held) held->send_to(file);
  file.close();
  tell(notes);
}

void import_files(ImportOptions& o, Context& context) {
  check_outputs({{"--out", o.out}}, o.request.files);
  o.request.options = key_values(o.options, "import");
  if (pipelines::gives_trace(o.format)) {
    import_trace(o, context);
    return;
  }
  const auto imported = [&] {
    const Heartbeat waiting(context.console(), "import");
    return pipelines::import_measured(context.catalogue(), o.format, o.request);
  }();
  write_out(o.out, naming_stdin(imported.record.dump(1)) + "\n");
  tell(imported.notes);
}

void run_import(ImportOptions& o, Context& context) try { import_files(o, context); } catch (const InputError&) {
  expect_files_of_format(o.format, o.request.files);
  throw;
}

}  // namespace

void tell(const std::vector<pipelines::Note>& notes) {
  static const log::Log import_log("import");
  for (const pipelines::Note& note : notes)
    note.warning ? import_log.warning("{}", note.text) : import_log.note("{}", note.text);
}

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
  command->add_option("--option", o->options, "what the files do not print; repeatable")
      ->type_name("KEY=VALUE")
      ->allow_extra_args(false);
  command->add_flag_function(
      "--json", [](std::int64_t) {}, "changes nothing: what is written is JSON");
  command->footer(format_names() +
                  "Example:\n  linkcast import nvbandwidth nvbandwidth.json --machine box-1 --topology hgx-h200 "
                  "--out nvbandwidth-1.json");
  command->callback([o, &context] { run_import(*o, context); });
}

}  // namespace linkcast::cli
