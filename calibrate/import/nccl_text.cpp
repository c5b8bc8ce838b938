// Text of nccl-tests. A run goes from its line "# nThread ..." to "# Out of bounds values"; a table's columns are those
// that its head names. Lines of NCCL_DEBUG, INFO or WARN, may stand between.
#include <algorithm>

#include "calibrate/import/decimal.hpp"
#include "calibrate/import/nccl_log.hpp"
#include "sim/records/input_error.hpp"
#include "sim/units/regex.hpp"

namespace linkcast {
namespace {

constexpr const char* kFirst = "# nThread ";

bool is_debug_line(const std::string& line) {
  return line.find(" NCCL INFO ") != std::string::npos || line.find(" NCCL WARN ") != std::string::npos;
}

/// Lines of NCCL_DEBUG=INFO that tell multicast by NVSwitch: the variable, or channels that use it.
void note_nvls(const TextFile& file, NcclRun& run) {
  static const Regex set(R"(.*NCCL_NVLS_ENABLE set by environment to (\d+).*)");
  static const Regex channels(R"(.* (\d+) nvls channels.*)");
  if (const Match match = set.whole(file.line()); match && match[1] == "0") run.nvls = false;
  if (const Match match = channels.whole(file.line()); match && !run.nvls) run.nvls = match[1] != "0";
}

bool ends_run(const TextFile& file) {
  return file.starts_with("# Out of bounds values") || file.starts_with("# Avg bus bandwidth");
}

std::string place_of(const TextFile& file) { return file.path() + ":" + std::to_string(file.number()); }

void read_rank(const TextFile& file, NcclRun& run) {
  static const Regex rank(
      R"(#\s+Rank\s+(\d+)\s+(?:Group\s+(\d+)\s+)?Pid\s+(\d+)\s+on\s+(\S+)\s+device\s+(\d+)\s+\[([^\]]+)\]\s+(.*?)\s*)");
  const Match match = rank.whole(file.line());
  if (!match) file.fail("is no line '# Rank 0 Pid 1 on HOST device 0 [0x07] NAME'");
  const auto number = whole_number(match[1]), device = whole_number(match[5]);
  const auto group = match.has(2) ? whole_number(match[2]) : 0;
  if (number != static_cast<int>(run.ranks.size()))
    file.fail("rank " + match[1] + " stands where rank " + std::to_string(run.ranks.size()) + " is due");
  if (!device || !group) file.fail("device or group is no number");
  run.ranks.push_back({*number, *group, *device, match[4], match[6], match[7], match[3]});
}

struct Columns {
  std::vector<std::string>
      names;  ///< as the head has them, e.g. size count type redop root time algbw busbw #wrong ...
};

/// "#  size  count  type ... time algbw busbw #wrong time algbw busbw #wrong" and the line of units below it.
Columns read_head(TextFile& file) {
  static const std::vector<std::string> known = {"size", "count", "type",  "redop",  "root",
                                                 "time", "algbw", "busbw", "#wrong", "error"};
  Columns columns{words_of(file.line().substr(1))};
  for (const std::string& name : columns.names)
    if (std::find(known.begin(), known.end(), name) == known.end())
      file.fail("column '" + name +
                "' is not known: size, count, type, redop, root, time, algbw, busbw, #wrong, error");
  const std::vector<std::string> half = {"time", "algbw", "busbw"};
  const auto times = std::count(columns.names.begin(), columns.names.end(), "time");
  if (columns.names.front() != "size" || times != 2) file.fail("a table starts with size and has two columns time");
  file.next();
  file.expect_more("the line of units");
  if (file.line().find("(us)") == std::string::npos || file.line().find("(B)") == std::string::npos)
    file.fail("the line of units is due, with (B) and (us)");
  file.next();
  return columns;
}

NcclRow read_row(const TextFile& file, const Columns& columns) {
  const auto words = words_of(file.line());
  if (words.size() != columns.names.size())
    file.fail("has " + std::to_string(words.size()) + " values for " + std::to_string(columns.names.size()) +
              " columns");
  NcclRow row;
  row.place = place_of(file);
  for (std::size_t i = 0; i < words.size(); ++i) {
    const std::string& name = columns.names[i];
    if (name == "size") row.size_B = words[i];
    if (name == "type") row.type = words[i];
    if (name == "redop") row.redop = words[i];
    if (name == "root") row.root = words[i];
    if (name == "time") (row.out_of_place ? row.in_place : row.out_of_place) = NcclTiming{words[i], std::nullopt};
    if (name != "#wrong" || words[i] == "N/A") continue;
    (row.in_place ? row.in_place : row.out_of_place)->wrong = words[i];
  }
  return row;
}

/// The rows behind a head, up to the lines that end the run.
void read_table(TextFile& file, NcclRun& run) {
  const Columns columns = read_head(file);
  for (; file.expect_more("'# Out of bounds values'"), !ends_run(file); file.next()) {
    if (is_debug_line(file.line())) {
      note_nvls(file, run);
      continue;
    }
    const auto words = words_of(file.line());
    if (words.empty() || words.front() == "#") continue;
    if (!decimal(words.front())) file.fail("not understood inside the table");
    run.rows.push_back(read_row(file, columns));
  }
  if (run.rows.empty()) file.fail("the table has no row");
}

void read_end(TextFile& file) {
  for (; !file.at_end() && file.starts_with("#"); file.next()) {
    if (ends_run(file) && file.line().find("FAILED") != std::string::npos)
      file.fail("the program found wrong data: not a measurement");
    if (file.starts_with("# Collective test starting") || file.starts_with("# nccl-tests version")) return;
    if (file.starts_with(kFirst)) return;
  }
}

/// A number of the first line, "nThread 1 nGpus 4 ... agg iters: 1 validation: 1 graph: 0".
std::optional<int> setting(const std::string& line, const std::string& name) {
  const auto at = line.find(name);
  if (at == std::string::npos) return std::nullopt;
  const auto words = words_of(line.substr(at + name.size()));
  return words.empty() ? std::nullopt : whole_number(words.front());
}

/// @param run  what stood before its first line: program, version
void read_run(TextFile& file, NcclRun& run) {
  run.place = place_of(file);
  run.settings = file.line().substr(2);
  run.issue = {setting(run.settings, "nThread "), setting(run.settings, "nGpus "), setting(run.settings, "graph: "),
               setting(run.settings, "agg iters: ")};
  file.next();
  static const Regex head(R"(#\s+size\s+count\s.*)");
  static const Regex library(R"((?:.*\s)?NCCL version (\d+\.\d+)\S*.*)");  // with NCCL_DEBUG=VERSION or INFO
  for (;; file.next()) {
    file.expect_more("the head of the table, '# size count type ...'");
    if (head.whole(file.line())) break;
    if (const Match match = library.whole(file.line()); match && run.version.empty()) run.version = "NCCL " + match[1];
    note_nvls(file, run);
    if (file.starts_with(kFirst)) file.fail("the run before this line has no table");
    if (words_of(file.line()).size() > 1 && words_of(file.line())[0] == "#" && words_of(file.line())[1] == "Rank")
      read_rank(file, run);
  }
  if (run.ranks.empty()) file.fail("no line '# Rank 0 ...' before the table");
  read_table(file, run);
  read_end(file);
}

}  // namespace

std::vector<NcclRun> read_nccl_text(TextFile& file) {
  static const Regex starting(R"(# Collective test starting: (\S+)\s*)");
  static const Regex version(R"(# nccl-tests (version .*?)\s*)");
  std::vector<NcclRun> runs;
  file.expect_short_lines();
  NcclRun next;
  while (!file.at_end()) {
    if (const Match match = starting.whole(file.line())) next.program = match[1];
    if (const Match match = version.whole(file.line())) next.version = match[1];
    if (file.starts_with(kFirst)) {
      read_run(file, next);
      runs.push_back(next);
      next = {};
    } else {
      file.next();
    }
  }
  if (runs.empty())
    throw InputError(file.path() + ": is no output of nccl-tests: it has no line '# nThread ... nGpus ...'");
  return runs;
}

}  // namespace linkcast
