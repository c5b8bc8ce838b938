#include <exception>
#include <iostream>
#include <optional>
#include <stdexcept>
#include <string>
#include <vector>

#include "cli/command.hpp"
#include "cli/command_line.hpp"
#include "cli/console.hpp"
#include "cli/file_kind.hpp"
#include "cli/files.hpp"
#include "cli/help_format.hpp"
#include "cli/option_names.hpp"
#include "cli/texts.hpp"
#include "sim/base/input_error.hpp"
#include "sim/base/table.hpp"
#include "sim/base/text_width.hpp"

namespace {

void add_commands(CLI::App& app, linkcast::cli::Context& context) {
  using namespace linkcast::cli;
  add_list(app, context);
  add_show(app, context);
  add_predict(app, context);
  add_routes(app, context);
  add_rings(app, context);
  add_calibrate(app, context);
  add_validate(app, context);
  add_diagnose(app, context);
  add_import(app, context);
  add_init(app, context);
  add_measure(app, context);
  add_check(app, context);
  add_trace(app, context);
  add_replay(app, context);
  add_place(app, context);
  add_schedule(app, context);
  add_wiring(app, context);
  add_serve(app, context);
  add_ui(app, context);
  add_emulate(app, context);
  add_export(app, context);
  add_whatif(app, context);
  add_sweep(app, context);
  add_record(app, context);
  add_report(app, context);
  add_schema(app, context);
  add_fake(app, context);
  add_explain(app, context);
  add_help(app, context);
  add_completion(app, context);
  add_log_options(app, context);
  platforms_read_stdin(app);
  add_limit_options(app, context);
}

/// "linkcast LOG" is "linkcast diagnose LOG".
std::vector<const char*> with_command(const CLI::App& app, int argc, const char* const* argv) {
  std::vector<const char*> words(argv, argv + argc);
  const auto is_first = [&](const CLI::App* command) { return command->check_name(argv[1]); };
  if (argc > 1 && app.get_subcommands(is_first).empty() && linkcast::cli::is_log_file(argv[1]))
    words.insert(words.begin() + 1, "diagnose");
  return words;
}

int run_program(int argc, const char* const* argv, bool progress) {
  using namespace linkcast::cli;
  CLI::App app("linkcast forecasts what a GPU interconnect will do: routes, rings, contention, times, and how sure.",
               "linkcast");
  app.footer("Example:\n  linkcast predict p2p --platform p100-dgx1 --src gpu0 --dst gpu5 --size 64MiB");
  app.formatter(std::make_shared<HelpFormatter>());  // before the commands, which take it over
  app.set_help_flag("-h,--help", "this help");
  app.set_help_all_flag("--help-all", "this help with every option");
  app.set_version_flag("--version", version_text, "version, how it was built, SimGrid's version");
  app.require_subcommand(1);
  std::optional<CtrlC> ends_the_work;  // by its own way, so that no half file stays
  if (progress) ends_the_work.emplace();
  linkcast::set_text_columns(output_columns());
  Context context;
  app.add_option("--data-dir", context.data_dir,
                 "folder with topologies/ and models/ (default: LINKCAST_DATA_DIR, else beside the program)")
      ->envname("LINKCAST_DATA_DIR");
  add_commands(app, context);
  app.parse_complete_callback([&context, progress] {
    context.start_log(progress);
    context.settle_format();
    context.settle_limits();
  });
  try {
    const std::vector<const char*> words = with_command(app, argc, argv);
    app.parse(static_cast<int>(words.size()), words.data());
  } catch (const CLI::Success& help) {
    return app.exit(help);
  } catch (const CLI::ParseError& error) {
    if (argc <= 1)
      throw linkcast::InputError(
          "a command is needed, or a log: list, show, predict, diagnose, init, measure, import; 'linkcast --help' "
          "lists all");
    std::cerr << error_mark() << naming_stdin(parse_error_text(app, error)) << '\n';
    return kBadInput;
  } catch (const linkcast::InputError& error) {
    const CLI::App& command = running_command(app);
    throw linkcast::InputError(naming_option(naming_file(error.what(), command.get_name()), command));
  } catch (const linkcast::work::Stopped&) {
    std::cout.flush();
    if (const std::string at = context.stopped_at(); !at.empty()) std::cerr << "stopped: " << at << '\n';
    return kInterrupted;
  }
  std::cout.flush();
  if (!std::cout) throw std::runtime_error("standard output: cannot be written");
  return context.exit_code;
}

/// A message in one line; one that quotes what was read may be long.
std::string error_line(const std::string& what) {
  constexpr std::size_t kLongest = 4000;  // source: ours, more than any list of what is known
  return linkcast::cli::error_mark() + linkcast::shortened(linkcast::one_line(what), kLongest);
}

/// The last line, which no level of the log silences.
int failed(const std::string& line, int code) {
  std::cout.flush();
  std::cerr << line << '\n';
  return code;
}

}  // namespace

int linkcast::cli::command_line(int argc, const char* const* argv, bool progress) {
  try {
    return run_program(argc, argv, progress);
  } catch (const InputError& error) {
    return failed(error_line(naming_stdin(error.what())), kBadInput);
  } catch (const std::filesystem::filesystem_error& error) {
    return failed(error_line(file_error_text(error)), kBadInput);
  } catch (const InvariantError& error) {
    return failed(std::string("internal error, please report: ") + error.what(), kBrokenInvariant);
  } catch (const std::bad_alloc&) {
    return failed(error_mark() + "memory: there is not enough of it for this", kBadInput);
  } catch (const std::exception& error) {
    return failed(error_line(error.what()), 1);
  }
}

int main(int argc, char** argv) {
  std::ios::sync_with_stdio(false);
  return linkcast::cli::command_line(argc, argv, true);
}
