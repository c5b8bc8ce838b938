#include <algorithm>
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
#include "cli/option_lists.hpp"
#include "cli/option_names.hpp"
#include "cli/texts.hpp"
#include "sim/base/input_error.hpp"
#include "sim/base/table.hpp"
#include "sim/base/text_width.hpp"

namespace {

using namespace linkcast::cli;

constexpr Command kCommands[] = {
    // in the order of --help
    {"list", add_list},
    {"show", add_show},
    {"predict", add_predict},
    {"routes", add_routes},
    {"rings", add_rings},
    {"calibrate", add_calibrate},
    {"validate", add_validate},
    {"diagnose", add_diagnose},
    {"import", add_import},
    {"init", add_init},
    {"measure", add_measure},
    {"check", add_check},
    {"trace", add_trace},
    {"replay", add_replay},
    {"place", add_place},
    {"schedule", add_schedule},
    {"wiring", add_wiring},
    {"serve", add_serve},
    {"ui", add_ui},
    {"emulate", add_emulate},
    {"export", add_export},
    {"whatif", add_whatif},
    {"sweep", add_sweep},
    {"record", add_record},
    {"report", add_report},
    {"schema", add_schema},
    {"fake", add_fake},
    {"explain", add_explain},
    {"help", add_help},
    {"completion", add_completion},
};

void add_commands(CLI::App& app, Context& context) {
  context.add_reached(app, kCommands);
  add_log_options(app, context);
  platforms_read_stdin(app);
  add_limit_options(app, context);
}

/// "linkcast LOG" is "linkcast diagnose LOG".
std::vector<std::string> with_command(const CLI::App& app, int argc, const char* const* argv) {
  std::vector<std::string> words(argv + std::min(argc, 1), argv + argc);
  const auto is_first = [&](const CLI::App* command) { return command->check_name(argv[1]); };
  if (argc > 1 && app.get_subcommands(is_first).empty() && linkcast::cli::is_log_file(argv[1]))
    words.insert(words.begin(), "diagnose");
  return words;
}

int run_program(int argc, const char* const* argv, bool progress) {
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
  context.words.assign(argv + std::min(argc, 1), argv + argc);
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
    std::vector<std::string> words = without_lists(app, with_command(app, argc, argv));
    std::reverse(words.begin(), words.end());  // as CLI11 takes them
    app.parse(std::move(words));
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
