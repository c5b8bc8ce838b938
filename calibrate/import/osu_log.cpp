#include "calibrate/import/osu_log.hpp"

#include <fmt/format.h>

#include "calibrate/import/decimal.hpp"
#include "sim/base/regex.hpp"

namespace linkcast {
namespace {

// source: OSU micro-benchmarks 5.7 and 7.x, the first line that each program prints; whose size is that of one rank's
// part: c/mpi/collective of 7.x, recalled
const std::vector<OsuProgram> kPrograms = {
    {"Latency Test", "osu_latency", true},
    {"Bandwidth Test", "osu_bw"},
    {"Bi-Directional Bandwidth Test", "osu_bibw", false, true},
    {"Multi Latency Test", "osu_multi_lat", true, false, true},
    {"Multi-pair Latency Test", "osu_multi_lat", true, false, true},
    {"Multiple Bandwidth / Message Rate Test", "osu_mbw_mr", false, false, true},
    {"Allreduce Latency Test", "osu_allreduce", true, false, false, "all_reduce"},
    {"Reduce Latency Test", "osu_reduce", true, false, false, "reduce"},
    {"Broadcast Latency Test", "osu_bcast", true, false, false, "broadcast"},
    {"Reduce_scatter Latency Test", "osu_reduce_scatter", true, false, false, "reduce_scatter"},
    {"Allgather Latency Test", "osu_allgather", true, false, false, "all_gather", true},
    {"Gather Latency Test", "osu_gather", true, false, false, "gather", true},
    {"Scatter Latency Test", "osu_scatter", true, false, false, "scatter", true},
    {"All-to-All Personalized Exchange Latency Test", "osu_alltoall", true, false, false, "alltoall", true},
    {"Alltoall Latency Test", "osu_alltoall", true, false, false, "alltoall", true},
};

const Regex& title_pattern() {
  static const Regex title(R"(\s*# OSU MPI(-\w+)? (.+ Test) v(\S+)\s*)");
  return title;
}

OsuTable table_of(const TextFile& file, const Match& title) {
  std::string known;
  for (const OsuProgram& program : kPrograms) {
    if (program.title == title[2]) {
      OsuTable table;
      table.program = &program;
      table.version = title[3];
      if (!title.has(1)) table.device_memory = false;
      return table;
    }
    known += (known.empty() ? "" : ", ") + program.title;
  }
  file.fail("'" + title[2] + "' is not read: one of " + known);
}

void read_buffers(const TextFile& file, const Match& match, OsuTable& table) {
  if (match[1] != match[2] || (match[1] != "DEVICE" && match[1] != "HOST"))
    file.fail("buffers must be both on DEVICE or both on HOST: schema measurement/1 has nothing for others");
  table.device_memory = match[1] == "DEVICE";
}

/// Finds the head of the table.
void read_preamble(TextFile& file, OsuTable& table) {
  static const Regex pairs(R"(# \[ pairs: (\d+) \] \[ window size: (\d+) \]\s*)");
  static const Regex buffers(R"(# Send Buffer on (\w+) \(\w+\) and Receive Buffer on (\w+) \(\w+\)\s*)");
  for (;; file.next()) {
    file.expect_more("the head of the table, '# Size ...'");
    if (title_pattern().whole(file.line())) file.fail("the program before this line has no table");
    if (file.starts_with("# Size")) return;
    if (const Match memory = buffers.whole(file.line())) read_buffers(file, memory, table);
    if (const Match many = pairs.whole(file.line())) {
      table.pairs = whole_number(many[1]).value_or(0);
      table.window = whole_number(many[2]).value_or(0);
    }
  }
}

struct OsuColumns {
  std::size_t count = 1, value = 0, validation = 0;  ///< 0: there is none
};

OsuColumns read_head(TextFile& file, const OsuTable& table) {
  static const Regex column(
      R"(\s*(Size|(?:Avg |Min |Max )?Lat(?:ency)? ?\(us\)|P\d+ Tail Lat ?\(us\)|Bandwidth \(MB/s\)|MB/s|Messages/s)"
      R"(|Iterations|Validation)(\s.*|))");
  const bool rates = table.program->name == "osu_mbw_mr";
  const std::string due = rates ? "MB/s" : table.program->latency ? "Latency (us)" : "Bandwidth (MB/s)";
  OsuColumns columns{0, 0, 0};
  std::string rest = file.line().substr(1);
  for (Match match = column.whole(rest); match; match = column.whole(rest)) {
    std::string name = match[1];
    if (name == "Latency(us)" || name == "Avg Latency(us)" || name == "Avg Latency (us)") name = "Latency (us)";
    if (name == due && columns.value == 0) columns.value = columns.count;
    if (name == "Validation") columns.validation = columns.count;
    ++columns.count;
    rest = match[2];
  }
  const bool whole = rest.find_first_not_of(" \t") == std::string::npos;
  if (!whole || columns.value == 0)
    file.fail("the head of the table is due: # Size " + due + (rates ? " Messages/s" : ""));
  file.next();
  return columns;
}

/// Up to the first line that is no row: a prompt, a blank, another table.
void read_rows(TextFile& file, const OsuColumns& columns, OsuTable& table) {
  static const Regex row(R"(\s*\d\w*\s+\S.*)");
  for (; !file.at_end(); file.next()) {
    if (file.starts_with("# Datatype:")) continue;
    if (!row.whole(file.line())) break;
    const auto words = words_of(file.line());
    if (words.size() != columns.count)
      file.fail(fmt::format("has {} values for {} columns", words.size(), columns.count));
    file.expect_line_end();
    if (columns.validation > 0 && words[columns.validation] != "Pass")
      file.fail("the received data were wrong: not a measurement");
    table.rows.push_back({fmt::format("{}:{}", file.path(), file.number()), words[0], words[columns.value]});
  }
  if (table.rows.empty()) file.fail("the table has no row");
}

}  // namespace

std::optional<OsuTable> next_osu_table(TextFile& file) {
  Match title;
  while (!file.at_end() && !(title = title_pattern().whole(file.line()))) file.next();
  if (file.at_end()) return std::nullopt;
  OsuTable table = table_of(file, title);
  file.next();
  read_preamble(file, table);
  const OsuColumns columns = read_head(file, table);
  read_rows(file, columns, table);
  return table;
}

}  // namespace linkcast
