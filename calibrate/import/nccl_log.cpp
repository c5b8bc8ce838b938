// JSON of nccl-tests -J: "devices" and "results"; keys that are not needed are passed over.
#include "calibrate/import/nccl_log.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <deque>
#include <map>
#include <utility>

#include "calibrate/import/command_lines.hpp"
#include "calibrate/import/text_file.hpp"
#include "sim/base/input_error.hpp"
#include "sim/base/object_reader.hpp"
#include "sim/base/regex.hpp"
#include "sim/records/forecast_mark.hpp"
#include "sim/records/gpu_models.hpp"

namespace linkcast {
// Text of nccl-tests and rccl-tests, anywhere in a log: a table begins with its head "size count type ... time algbw
// busbw", with or without '#' and whatever launchers put in front; what stands above it says the rest as far as it is
// there. What is no row is passed over inside a table, and named.

namespace {

bool is_debug_line(const std::string& line) {
  return line.find(" NCCL INFO ") != std::string::npos || line.find(" NCCL WARN ") != std::string::npos;
}

/// Without indentation and '#'.
std::string_view said_in(std::string_view line) {
  const auto first = line.find_first_not_of("# \t");
  return first == std::string_view::npos ? std::string_view() : line.substr(first);
}

/// Lines of NCCL_DEBUG=INFO that tell multicast by NVSwitch (the variable, or channels that use it) and other settings.
void note_settings(const TextFile& file, NcclRun& run) {
  static const Regex set(R"(.*?(NCCL_[A-Z0-9_]+) set by environment to (\S+?)\.?\s*)");
  static const Regex channels(R"(.* (\d+) nvls channels.*)");
  if (const Match match = set.whole(file.line())) {
    const std::string name = match[1];
    if (name == "NCCL_NVLS_ENABLE") {
      if (match[2] == "0") run.nvls = false;
    } else if (!name.starts_with("NCCL_DEBUG")) {
      run.environment[name] = match[2];
    }
  }
  if (const Match match = channels.whole(file.line()); match && !run.nvls) run.nvls = match[1] != "0";
}

std::string place_of(const TextFile& file) { return fmt::format("{}:{}", file.path(), file.number()); }

/// The ranks before this one, where the log begins among the ranks of one node: their devices have the ranks' numbers.
std::vector<NcclRank> ranks_before(const NcclRank& first) {
  std::vector<NcclRank> ranks;
  for (int rank = 0; rank < first.rank; ++rank)  // each a process of its own, or none that is known
    ranks.push_back({rank, first.group, rank, first.host, "", first.gpu, fmt::format("before {}", rank)});
  return ranks;
}

void read_rank(const TextFile& file, NcclRun& run) {
  static const Regex rank(
      R"(Rank\s+(\d+)\s+(?:Group\s+(\d+)\s+)?(?:Pid\s+(\d+)\s+)?(?:on\s+(\S+)|uses)\s+device\s+(\d+)\s+\[([^\]]+)\]\s+(.*?)\s*)");
  const Match match = rank.whole(said_in(file.line()));
  if (!match) file.fail("is no line '# Rank 0 Pid 1 on HOST device 0 [0x07] NAME'");
  const auto number = whole_number(match[1]), device = whole_number(match[5]);
  const auto group = match.has(2) ? whole_number(match[2]) : 0;
  if (!number || !device || !group) file.fail("rank, device or group is no number");
  NcclRank read{*number, *group, *device, match[4], match[6], match[7], match[3]};
  constexpr int kMost = 64;  // GPUs of a node whose first ranks may be cut off. source: ours, more than a node has
  if (run.ranks.empty() && run.settings.empty() && read.rank == read.device && read.rank > 0 && read.rank < kMost) {
    run.ranks = ranks_before(read);
    run.notes.push_back(fmt::format("assumed: ranks 0 to {}, whose lines are cut off, ran on {} like rank {}.",
                                    read.rank - 1, read.host, read.rank));
  }
  if (read.rank != static_cast<int>(run.ranks.size()))
    file.fail(fmt::format("rank {} stands where rank {} is due", match[1], run.ranks.size()));
  run.ranks.push_back(std::move(read));
}

const std::string kSize = "size", kTime = "time", kWrong = "#wrong";  // columns
const std::string kMilli = "time(ms)";                                // of nccl-tests 1.x and of NCCL 1's own tests
using Columns = std::vector<std::string>;  ///< e.g. size count type redop root time algbw busbw #wrong ...

/// Columns of versions 1.x, "bytes N type op time algbw busbw res time algbw busbw res", by the names of today.
/// source: NVIDIA/nccl-tests before 2.0 and NVIDIA/nccl 1.x, test/single: times are milliseconds; recalled
void rename_old(Columns& columns) {
  static const std::map<std::string, std::string> kNames{
      {"bytes", kSize}, {"N", "count"}, {"op", "redop"}, {"res", "error"}, {kTime, kMilli}};
  if (columns.size() < 2 || columns[0] != "bytes" || columns[1] != "N") return;
  for (std::string& name : columns)
    if (const auto now = kNames.find(name); now != kNames.end()) name = now->second;
}

/// The columns of "#  size  count  type ... time algbw busbw #wrong time algbw busbw #wrong"; empty: no such line.
Columns head_of(const TextFile& file) {
  Columns columns = words_of(said_in(file.line()));
  rename_old(columns);
  const auto has = [&](const char* name) { return std::find(columns.begin(), columns.end(), name) != columns.end(); };
  if (columns.empty() || columns.front() != kSize || !has("count")) return {};
  if (has("cputime")) file.fail("times of the CPU (option C of nccl-tests) are not those of a collective: not read");
  if (!has("time") && !has(kMilli.c_str())) return {};
  return columns;
}

/// Leaves the file behind the line of units.
void read_head(TextFile& file, const Columns& columns) {
  static const std::vector<std::string> known = {"size",  "count", "type",   "redop", "root", "time",
                                                 "algbw", "busbw", "#wrong", "error", kMilli};
  for (const std::string& name : columns)
    if (std::find(known.begin(), known.end(), name) == known.end())
      file.fail("column '" + name +
                "' is not known: size, count, type, redop, root, time, algbw, busbw, #wrong, error");
  const bool old = std::count(columns.begin(), columns.end(), kMilli) > 0;
  if (std::count(columns.begin(), columns.end(), old ? kMilli : kTime) != 2)
    file.fail("a table starts with size and has two columns time");
  for (file.next(); !file.at_end() && is_debug_line(file.line());) file.next();
  if (old) return;  // no line of units
  file.expect_more("the line of units");
  if (file.line().find("(us)") == std::string::npos || file.line().find("(B)") == std::string::npos)
    file.fail("the line of units is due, with (B) and (us)");
  file.next();
}

/// The number of a row's last column, behind which the text of another process may be glued: "0node1:77:91 [0] NCCL".
std::string without_glue(const std::string& word, const std::string& column) {
  static const Regex count(R"((\d+|N/A)[^\d.].*)"), rate(R"((\d+\.\d\d)\D.*)");
  const Match match = (column == kWrong ? count : rate).whole(word);
  return match ? match[1] : word;
}

bool is_type(const std::string& word) {
  static const Regex type(R"(u?int(?:8|32|64)?|u?char|half|float(?:16|32|64)?|double|bfloat16|bf16|f(?:p|loat)?8\w*)");
  return bool{type.whole(word)};
}

/// Size and count, or a number and a type near it where a value is missing or written with commas.
bool is_row(const std::vector<std::string>& words) {
  if (words.size() > 1 && whole_size(words[0]) && whole_size(words[1])) return true;
  return words.size() > 2 && std::isdigit(static_cast<unsigned char>(words[0].front())) != 0 &&
         (is_type(words[1]) || is_type(words[2]));
}

/// The columns that a row fills: operations without reduction or root leave theirs empty in old versions.
Columns filled(const std::vector<std::string>& words, Columns columns) {
  static const Regex redop("[a-z]\\w*"), root(R"(-?\d+)");
  const auto types = static_cast<std::size_t>(std::find(columns.begin(), columns.end(), "type") - columns.begin());
  if (types >= words.size() || !is_type(words[types])) return columns;  // its own value is missing
  const auto drop = [&](const char* name, const Regex& fits, bool short_row) {
    const auto at = std::find(columns.begin(), columns.end(), name);
    const auto place = static_cast<std::size_t>(at - columns.begin());
    if (at == columns.end() || place >= words.size()) return;
    if (!fits.whole(words[place]) || (short_row && words.size() < columns.size())) columns.erase(at);
  };
  drop("redop", redop, false);
  drop("root", root, true);
  return columns;
}

/// The rate of a row is its size by its time, in old versions less the part of one rank: else columns are mixed up.
void check_rate(const TextFile& file, const NcclRow& row, const NcclTiming& timing, const std::string& rate) {
  constexpr double kLeast_GBps = 0.5, kLow = 0.45, kHigh = 1.1;  // digits that are printed; (n - 1) / n. source: ours
  constexpr double kMicro_GBps = 1e-3;                           // source: bytes a microsecond
  const auto size = decimal(row.size_B), time = decimal(timing.time), printed = decimal(rate);
  if (!size || !time || !printed || *printed < kLeast_GBps || !(*time > 0)) return;
  const double share = *printed / (*size / *time * kMicro_GBps);
  if (share < kLow || share > kHigh + open_share(timing.time))
    file.fail(
        fmt::format("time {} and algbw {} do not fit size {}: columns are mixed up, or times are the CPU's "
                    "(option C of nccl-tests)",
                    timing.time, rate, row.size_B));
}

/// A size is a count of elements times their bytes, and times the ranks for some operations.
bool is_multiple(const std::string& size, const std::string& count) {
  const auto bytes = whole_size(size), elements = whole_size(count);
  return !bytes || !elements || *elements == 0 || *bytes % *elements == 0;
}

/// "1.628" milliseconds are 1628.
std::string in_micro(const TextFile& file, const std::string& milliseconds) {
  if (is_not_available(milliseconds)) return milliseconds;
  const auto time = decimal(milliseconds, 3);
  if (!time) file.fail("time '" + milliseconds + "' is no number of milliseconds");
  return fmt::format("{}", *time);
}

std::string short_text(std::size_t values, std::size_t columns) {
  return fmt::format("has {} values for {} columns", values, columns);
}

/// Text behind the last column is another process's.
NcclRow read_row(const TextFile& file, const Columns& head) {
  auto words = words_of(file.line());
  const Columns columns = filled(words, head);
  if (words.size() < columns.size()) file.fail(short_text(words.size(), head.size()));
  std::string& last = words[columns.size() - 1];
  last = without_glue(last, columns.back());
  static const std::map<std::string, std::string NcclRow::*> kTexts{
      {kSize, &NcclRow::size_B}, {"type", &NcclRow::type}, {"redop", &NcclRow::redop}, {"root", &NcclRow::root}};
  NcclRow row;
  row.place = place_of(file);
  for (std::size_t i = 0; i < columns.size(); ++i) {
    const std::string& name = columns[i];
    if (const auto text = kTexts.find(name); text != kTexts.end()) row.*text->second = words[i];
    if (name == kTime || name == kMilli)
      (row.out_of_place ? row.in_place : row.out_of_place) =
          NcclTiming{name == kTime ? words[i] : in_micro(file, words[i]), std::nullopt, "", ""};
    if (name == "algbw") row.algbw = decimal(words[i]).value_or(0);
    if (name == "busbw") row.busbw = decimal(words[i]).value_or(0);
    if (name == "count" && words[i] == "0" && row.size_B != "0") file.fail("count 0 with size " + row.size_B);
    if (name == "count" && !is_multiple(row.size_B, words[i]))
      file.fail("size " + row.size_B + " is no multiple of count " + words[i] + ": a figure is damaged");
    if (name == "error" && !is_not_available(words[i]) && !(decimal(words[i]).value_or(-1) >= 0))
      file.fail("error '" + words[i] + "' is not a number of 0 or more");
    if (name == kWrong && !is_not_available(words[i]))
      (row.in_place ? row.in_place : row.out_of_place)->wrong = words[i];
    if (!row.out_of_place) continue;
    NcclTiming& timing = *(row.in_place ? row.in_place : row.out_of_place);
    if (name == "busbw") timing.bus_rate = words[i];
    if (name != "algbw") continue;
    timing.rate = words[i];
    check_rate(file, row, timing, words[i]);
  }
  return row;
}

/// A number of the first line, "nThread 1 nGpus 4 ... agg iters: 1 validation: 1 graph: 0".
std::optional<int> setting(const std::string& line, const std::string& name) {
  const auto at = line.find(name);
  if (at == std::string::npos) return std::nullopt;
  const auto words = words_of(line.substr(at + name.size()));
  return words.empty() ? std::nullopt : whole_number(words.front());
}

class TextReader {
 public:
  explicit TextReader(TextFile& file) : file_(file) {}

  std::vector<NcclRun> read() {
    file_.strip_launchers();
    while (!file_.at_end()) {
      if (const Columns columns = head_of(file_); !columns.empty()) {
        read_table(columns);
        continue;
      }
      read_line();
      file_.next();
    }
    if (runs_.empty())
      throw InputError(file_.path() +
                       ": is no output of nccl-tests: it has no table with the head '# size count type ... time algbw "
                       "busbw'");
    if (!run_.settings.empty())
      runs_.back().notes.push_back(file_name(run_.place) + ": this run has no table: left out");
    if (!file_.other_processes().empty()) runs_.back().notes.push_back(file_.other_processes());
    return std::move(runs_);
  }

 private:
  /// A line outside tables.
  void read_line();
  void read_settings(std::string_view said);
  /// The rows behind a head, up to the lines that end the run, another table or the end of the file.
  void read_table(const Columns& columns);
  [[nodiscard]] bool ends_table() const {
    const std::string_view said = said_in(file_.line());
    return said.starts_with("Out of bounds values") || said.starts_with("Avg bus bandwidth");
  }
  [[nodiscard]] bool begins_run() const {
    const std::string_view said = said_in(file_.line());
    return said.starts_with("nThread ") || said.starts_with("Collective test starting:") || !head_of(file_).empty();
  }
  void pass_over();
  /// A command begins the next run with its own variables.
  void note_command();
  void begin_run();

  TextFile& file_;
  NcclCommands commands_;
  std::deque<NcclVariables> due_;  ///< of runs that the last command still has to print
  std::vector<NcclRun> runs_;
  NcclRun run_;  ///< what has been said above the next table
  int passed_over_ = 0;
};

void TextReader::read_settings(std::string_view said) {
  if (!run_.settings.empty()) file_.fail("the run before this line has no table");
  run_.place = place_of(file_);
  run_.settings = said;
  run_.issue = {setting(run_.settings, "nThread "), setting(run_.settings, "nGpus "), setting(run_.settings, "graph: "),
                setting(run_.settings, "agg iters: ")};
}

void TextReader::begin_run() {
  if (due_.empty()) return;
  run_.environment = std::move(due_.front());
  run_.nvls.reset();
  run_.typed = true;
  due_.pop_front();
}

void TextReader::note_command() {
  auto runs = commands_.read(file_.line());
  if (runs.empty()) return;
  due_.assign(runs.begin(), runs.end());
  begin_run();
}

void TextReader::read_line() {
  static const Regex starting(R"(Collective test starting: (\S+)\s*)"), version(R"(nccl-tests (version .*?)\s*)");
  static const Regex command(R"((?:.*[\s/'"])?(\w+_(?:perf|test))(?:_mpi)?(?:['"]?\s.*|$))");
  static const Regex compiled(R"(NCCL Tests compiled with NCCL (\d+\.\d+).*)");
  static const Regex rccl_tests(R"(rccl-tests:? [Vv]ersion:? (\S+).*)");
  static const Regex library(
      R"((?:.*\s)?(N|(R))CCL version\s*:?\s*(\d+\.\d+)\S*.*)");  // with NCCL_DEBUG=VERSION or INFO
  const std::string_view said = said_in(file_.line());
  if (said.empty()) return;
  note_settings(file_, run_);
  if (const Match match = library.whole(said)) {
    const bool rccl = match.has(2);
    run_.rccl = run_.rccl || rccl;
    if (run_.version.empty() || rccl) run_.version = match[1] + "CCL " + match[3];
  }
  if (is_debug_line(file_.line())) return;
  note_command();
  if (const Match match = starting.whole(said))
    run_.program = match[1];
  else if (const Match typed = command.whole(said);
           typed && run_.settings.empty() && !operation_of_program(typed[1]).empty())
    run_.program = typed[1];
  if (const Match match = version.whole(said)) run_.version = match[1];
  if (const Match match = compiled.whole(said); match && run_.version.empty()) run_.version = "NCCL " + match[1];
  if (const Match match = rccl_tests.whole(said)) run_.rccl = true;
  if (said.starts_with("nThread ")) read_settings(said);
  if (said.starts_with("Rank ") && said.find(" device ") != std::string_view::npos) read_rank(file_, run_);
  if (said.starts_with("Out of bounds values") && said.find("FAILED") != std::string_view::npos)
    file_.fail("the program found wrong data: not a measurement");
}

void TextReader::pass_over() {
  constexpr std::size_t kShown = 60;
  constexpr int kMostShown = 3;  // the rest is counted. source: ours
  if (++passed_over_ > kMostShown) return;
  std::string text;
  for (const char c : said_in(file_.line()).substr(0, kShown)) text += c >= ' ' && c <= '~' ? c : '?';
  run_.notes.push_back(fmt::format("Passed over in the table, line {}: '{}'.", file_.number(), text));
}

void TextReader::read_table(const Columns& columns) {
  if (run_.place.empty()) run_.place = place_of(file_);
  read_head(file_, columns);
  passed_over_ = 0;
  std::optional<std::pair<int, std::string>>
      cut;  // the last row, where the log ends inside it: line, and what is wrong
  for (; !file_.at_end() && !ends_table() && !begins_run(); file_.next()) {
    const auto words = words_of(file_.line());
    const bool row = is_row(words);
    if (row && cut) file_.fail_at(cut->first, cut->second);
    if (row && words.size() < filled(words, columns).size()) {
      cut.emplace(file_.number(), short_text(words.size(), columns.size()));
      continue;
    }
    if (row) {
      run_.rows.push_back(read_row(file_, columns));
      continue;
    }
    note_settings(file_, run_);
    if (!words.empty() && words.front() != "#" && !is_debug_line(file_.line())) pass_over();
  }
  if (cut && (!file_.at_end() || run_.rows.empty())) file_.fail_at(cut->first, cut->second);
  if (cut) run_.notes.push_back(fmt::format("Left out: line {}, which is cut off.", cut->first));
  if (run_.rows.empty()) file_.fail("the table has no row");
  if (passed_over_ > 3) run_.notes.push_back(fmt::format("{} lines of the table were passed over.", passed_over_));
  if (file_.at_end() || !ends_table())
    run_.notes.push_back("The table of " + file_name(run_.place) +
                         " has no '# Out of bounds values' below it: more rows may be " + "missing.");
  if (!run_.typed) run_.environment.insert(commands_.exported().begin(), commands_.exported().end());
  if (const auto nvls = run_.environment.extract("NCCL_NVLS_ENABLE"); nvls && nvls.mapped() == "0") run_.nvls = false;
  runs_.push_back(std::exchange(run_, {}));
  begin_run();
}

}  // namespace

double open_share(const std::string& printed) {
  constexpr double kHalf = 0.5;
  const std::size_t point = printed.find('.');
  const auto digits = point == std::string::npos ? 0 : static_cast<int>(printed.size() - point - 1);
  const auto units = decimal(printed, digits);
  return units && *units > 0 ? kHalf / *units : 0;
}

std::vector<NcclRun> read_nccl_text(TextFile& file) { return TextReader(file).read(); }

namespace {

/// A number or text as text, blanks around it dropped.
std::string scalar(ObjectReader& r, const std::string& key) {
  const Json& value = r.raw(key);
  if (value.is_number()) return value.dump();
  if (!value.is_string()) r.fail(key, "must be a number or a string");
  const auto words = words_of(value.get<std::string>());
  if (words.size() != 1) r.fail(key, "must be a number or one word");
  return words.front();
}

NcclRank read_rank(ObjectReader& r, int due) {
  NcclRank rank;
  rank.rank = r.required<int>("rank");
  if (rank.rank != due) r.fail("rank", fmt::format("is {} where {} is due", rank.rank, due));
  rank.group = r.optional<int>("group").value_or(0);
  rank.host = r.required<std::string>("hostname");
  rank.device = r.required<int>("device");
  if (rank.device < 0) r.fail("device", "must be at least 0");
  if (r.has("pid")) rank.process = scalar(r, "pid");
  rank.bus = r.optional<std::string>("device_hex").value_or("");
  rank.gpu = r.optional<std::string>("device_name").value_or("");
  return rank;
}

std::optional<NcclTiming> read_timing(ObjectReader& row, const std::string& key) {
  auto r = row.optional_object(key);
  if (!r) return std::nullopt;
  NcclTiming timing;
  timing.time = scalar(*r, "time");
  if (r->has("alg_bw")) timing.rate = scalar(*r, "alg_bw");
  if (r->has("bus_bw")) timing.bus_rate = scalar(*r, "bus_bw");
  if (r->has("nwrong") && !r->raw("nwrong").is_null() && r->raw("nwrong") != "N/A") timing.wrong = scalar(*r, "nwrong");
  return timing;
}

NcclRow read_row(ObjectReader& r) {
  NcclRow row;
  row.place = r.file() + ":" + r.pointer();
  row.size_B = scalar(r, "size");
  row.type = scalar(r, "type");
  if (r.has("redop")) row.redop = scalar(r, "redop");
  if (r.has("root")) row.root = scalar(r, "root");
  row.out_of_place = read_timing(r, "out_of_place");
  row.in_place = read_timing(r, "in_place");
  if (!row.out_of_place && !row.in_place) r.fail("", "holds neither out_of_place nor in_place");
  return row;
}

/// The program is the first of "args".
std::string program_of(ObjectReader& r) {
  const auto args = r.optional<std::vector<std::string>>("args");
  return args && !args->empty() ? file_name(args->front()) : "";
}

}  // namespace

namespace {

NcclRun read_json(const Json& json, const TextFile& file) {
  ObjectReader r(json, file.path());
  if (!r.has("results") || !r.has("devices"))
    throw InputError(file.path(), "", "is no JSON of nccl-tests: it needs devices and results");
  NcclRun run;
  run.place = file.path();
  run.program = program_of(r);
  if (r.has("nccl_version")) run.version = "NCCL " + scalar(r, "nccl_version");
  if (auto config = r.optional_object("config")) {
    run.settings = r.raw("config").dump();
    run.issue = {config->optional<int>("nthreads"), config->optional<int>("ngpus"), config->optional<int>("graph"),
                 config->optional<int>("aggregated_iterations")};
  }
  for (ObjectReader& device : r.objects("devices"))
    run.ranks.push_back(read_rank(device, static_cast<int>(run.ranks.size())));
  for (ObjectReader& row : r.objects("results")) run.rows.push_back(read_row(row));
  if (run.ranks.empty()) r.fail("devices", "holds no device");
  if (run.rows.empty()) r.fail("results", "holds no result");
  if (auto bounds = r.optional_object("out_of_bounds"))
    if (!bounds->optional<bool>("okay").value_or(true))
      bounds->fail("okay", "the program found wrong data: not a measurement");
  return run;
}

}  // namespace

std::vector<NcclRun> read_nccl_json(TextFile& file) {
  std::vector<NcclRun> runs;
  for (const Json& json : json_of_log(file, "devices")) runs.push_back(read_json(json, file));
  return runs;
}

std::vector<NcclRun> read_nccl_runs(const std::string& path) {
  TextFile file(path);
  const bool forecast = file.text().find(kForecastMark) != std::string::npos;
  std::vector<NcclRun> runs = read_nccl_json(file);
  if (runs.empty()) runs = read_nccl_text(file);
  for (NcclRun& run : runs) {
    run.forecast = forecast;
    const auto model = run.ranks.empty() ? std::nullopt : find_gpu_model(run.ranks.front().gpu);
    run.rccl = run.rccl || (model && is_amd_model(*model));  // rccl-tests may print as nccl-tests do
  }
  return runs;
}

}  // namespace linkcast
