#pragma once
// What every subcommand shares.
// A result for programs: JSON, or rows of CSV.
#include <CLI/CLI.hpp>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "sim/base/object_reader.hpp"
#include "sim/base/spelled.hpp"
#include "sim/machine/catalogue.hpp"
#include "sim/query/key.hpp"

namespace linkcast::pipelines {
struct Note;
}

namespace linkcast::cli {

class Console;

// Exit codes, part of the contract: 0 ok, 1 anything else; 4 and 5 of diagnose: validate/diagnosis/verdict.hpp.
inline constexpr int kHoldsErrors = 1;  // a batch or a study went on behind them
inline constexpr int kBadInput = 2;
inline constexpr int kBrokenInvariant = 3;
inline constexpr int kComparisonFailed = 4;
inline constexpr int kInterrupted = 130;  // as shells say of Ctrl-C

/// Formats in which results are printed; the last two by 'place' alone.
enum class OutputFormat { kTable, kJson, kCsv, kCuda, kRankfile };
inline constexpr Spelling<OutputFormat> kOutputFormats[] = {{OutputFormat::kTable, "table"},
                                                            {OutputFormat::kJson, "json"},
                                                            {OutputFormat::kCsv, "csv"},
                                                            {OutputFormat::kCuda, "cuda"},
                                                            {OutputFormat::kRankfile, "rankfile"}};
constexpr std::span<const Spelling<OutputFormat>> spellings(OutputFormat) { return kOutputFormats; }

class Context;

/// A command by its name, and what declares it.
struct Command {
  const char* name;
  void (*add)(CLI::App& app, Context& context);
};

class Context {
 public:
  std::string data_dir;  ///< --data-dir, else beside the program
  std::string solver = "fluid";
  bool json = false;
  Spelled<OutputFormat> format{};  ///< --format
  int exit_code = 0;
  bool whatif = false;                                      ///< every answer without and with the edits
  std::map<std::string, std::vector<std::string>> edits{};  ///< by verb; "edit": whole ones
  std::vector<std::string> after{};                         ///< whatif: settings of the second answer, KEY=VALUE
  int verbose = 0;                                          ///< how many -v
  bool quiet = false;                                       ///< errors alone on standard error
  std::string max_memory{}, max_time{};                     ///< of one request; empty: as the environment says
  std::vector<std::string> words{};                         ///< of the command line, behind the program's name

  /// Whether the subcommand `name` of `command` must be declared. Options of all commands take longer to declare than
  /// most questions to answer; where the line names one of them at its place, only those that stand in the line are,
  /// all where it does not or asks for help. @param names  of all subcommands there
  [[nodiscard]] bool reaches(const CLI::App& command, const std::string& name,
                             const std::vector<std::string>& names) const;
  /// Declares those of the subcommands of `command` that must be.
  void add_reached(CLI::App& command, std::span<const Command> all);

  /// What the edit options say, as the `edits` of a query.
  [[nodiscard]] std::vector<std::string> edit_list() const;
  /// A platform as it is. @throws InputError  unknown
  catalogue::MachinePtr machine(const std::string& platform) { return catalogue().machine(platform); }
  /// A platform with what the edit options say.
  catalogue::MachinePtr edited(const std::string& platform) {
    return catalogue().edited(machine(platform), edit_list());
  }
  /// Made when first needed, so that --help never reads a file.
  catalogue::Catalogue& catalogue();
  /// Once the options are read, before any work. @param progress  show it. @throws InputError  LINKCAST_LOG names no
  /// level
  void start_log(bool progress = true);
  /// --format json is --json. @throws InputError  both, and they differ
  void settle_format();
  /// Hands --max-memory and --max-time to sim/base, and to the programs that this one starts.
  void settle_limits() const;
  /// Of all that takes long; also in catalogue().
  log::Progress& progress() { return *progress_; }
  /// Where progress is shown; null before start_log() and with --quiet.
  [[nodiscard]] const std::shared_ptr<Console>& console() const { return console_; }
  /// What Ctrl-C ended, for people; empty: nothing to tell.
  [[nodiscard]] std::string stopped_at() const;
  /// Says it instead of what progress() knows.
  void tell_stop(std::string text) { stopped_at_ = std::move(text); }
  /// From now on catalogue() shows none.
  void hide_progress() { catalogue().show_progress(hidden_); }

 private:
  log::NoProgress hidden_;
  std::shared_ptr<Console> console_;
  std::unique_ptr<log::Progress> progress_ = std::make_unique<log::NoProgress>();  // outlives the catalogue
  std::unique_ptr<catalogue::Catalogue> catalogue_;
  std::string stopped_at_;
};

/// Folder with topologies/ and models/: above the program's own, or share/linkcast of its prefix.
std::string default_data_dir();

void add_list(CLI::App& app, Context& context);
void add_show(CLI::App& app, Context& context);
void add_predict(CLI::App& app, Context& context);
void add_routes(CLI::App& app, Context& context);
void add_rings(CLI::App& app, Context& context);
void add_calibrate(CLI::App& app, Context& context);
void add_validate(CLI::App& app, Context& context);
void add_import(CLI::App& app, Context& context);
void add_init(CLI::App& app, Context& context);
void add_measure(CLI::App& app, Context& context);
void add_check(CLI::App& app, Context& context);
void add_diagnose(CLI::App& app, Context& context);
void add_whatif(CLI::App& app, Context& context);
void add_trace(CLI::App& app, Context& context);
void add_replay(CLI::App& app, Context& context);
void add_place(CLI::App& app, Context& context);
void add_schedule(CLI::App& app, Context& context);
void add_wiring(CLI::App& app, Context& context);
void add_record(CLI::App& app, Context& context);
void add_report(CLI::App& app, Context& context);
void add_schema(CLI::App& app, Context& context);
void add_help(CLI::App& app, Context& context);
void add_completion(CLI::App& app, Context& context);
void add_sweep(CLI::App& app, Context& context);
void add_serve(CLI::App& app, Context& context);
void add_ui(CLI::App& app, Context& context);
void add_emulate(CLI::App& app, Context& context);
void add_export(CLI::App& app, Context& context);
void add_explain(CLI::App& app, Context& context);
void add_fake(CLI::App& app, Context& context);

/// Adds -v, -vv and --quiet to the program and, where they can also be written, to each of its subcommands.
void add_log_options(CLI::App& app, Context& context);
/// Adds --max-memory and --max-time likewise.
void add_limit_options(CLI::App& app, Context& context);
/// Adds --platform, --json, --format, --solver and the edits. @param formats  as of add_format()
void add_common(CLI::App& command, Context& context, std::string& platform,
                const std::vector<std::string>& formats = {});
/// Adds --remove and the other what-if edits. @param fabric  --fabric too, where that is no option of the command
void add_edits(CLI::App& command, Context& context, bool fabric = true);
using query::parse_size;
/// An error of a query made from options, in their words.
InputError in_options(const InputError& error, const std::string& kind);
/// Answers one query made from options, with the edits; {"before", "after", "change"} under whatif, with the settings
/// of
/// --after. Errors name the command line.
Json run_query(Context& context, const Json& query);

/// Text to the file of --out, atomically; to standard output if `out` is empty or "-".
void write_out(const std::string& out, const std::string& text);

/// The same to a file alone. @param option  names it in errors
void write_file(const std::string& option, const std::string& path, const std::string& text);

/// table_text() to standard output.
void print_table(const std::vector<std::vector<std::string>>& rows);
/// Text of whatif_answer().
void print_whatif(const Json& result);
/// A table of terms for each answer that explains itself: of one, of both of a what-if, of each size of a curve.
void print_terms(const Json& result);
/// The same as rows: what tells answers apart (answer, size_B), then a term; empty: none explains itself.
Json term_rows(const Json& result);
/// The same of two replays.
void print_replays(const Json& result);
/// Text of a fabric_answer().
void print_fabric(const Json& fabric);
/// Notes of an import to the log.
void tell(const std::vector<pipelines::Note>& notes);
/// Warnings of a result to stderr, one a line: three, with -v all.
void print_warnings(const Json& result);

class Context;

/// Adds --json and --format table|json|csv. @param more  other values of --format, which the command prints itself
void add_format(CLI::App& command, Context& context, const std::vector<std::string>& more = {});

/// Prints the result as --json or --format csv say; with csv also its warnings to standard error.
/// @param rows  key of the list that has a row each; empty: the result is the one row
/// @returns  false: a table is wanted
bool print_as_data(const Context& context, const Json& result, const std::string& rows = "");

/// Rows of a list that each of several files has, with "file" in front.
Json rows_of_files(const Json& files, const std::string& key);

/// RFC 4180: a head with the keys of all rows, then the rows. Objects give a column a key ("before.time_s"), lists one
/// cell; lists of objects, and where an answer comes from, have no column.
std::string csv_of(const Json& rows);

}  // namespace linkcast::cli
