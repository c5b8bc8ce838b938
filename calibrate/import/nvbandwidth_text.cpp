// Text of nvbandwidth. Every line of a test is understood or an error; what stands before the first test is not looked
// at but for versions and devices.

#include <fmt/format.h>

#include "calibrate/import/decimal.hpp"
#include "calibrate/import/matrix_table.hpp"
#include "calibrate/import/nvbandwidth_log.hpp"
#include "sim/base/input_error.hpp"
#include "sim/base/regex.hpp"

namespace linkcast {
namespace {

std::string place_of(const TextFile& file, int line) { return fmt::format("{}:{}", file.path(), line); }

bool is_title(const std::string& line) {
  static const Regex title(R"(.*\((row|column)\).*\((GB/s|ns|us)\)\s*)");
  return bool{title.whole(line)};
}

void read_header(TextFile& file, NvbandwidthLog& log) {
  static const Regex version(R"(nvbandwidth Version: v?(\S+).*)");
  static const Regex fact(R"((CUDA Runtime Version|CUDA Driver Version|Driver Version): (\S+)\s*)");
  static const Regex device(R"(Device (\d+): (.+?)( \(\S+\))?\s*)");
  Match match;
  for (; !file.at_end() && !file.starts_with("Running ") && !is_title(file.line()); file.next()) {
    if ((match = version.whole(file.line()))) {
      if (!log.version.empty()) file.fail("a second run of nvbandwidth: one a file");
      log.version = match[1];
    } else if ((match = fact.whole(file.line()))) {
      log.facts.emplace_back(fact_key(match[1]), match[2]);
    } else if ((match = device.whole(file.line()))) {
      if (whole_number(match[1]) != static_cast<int>(log.gpus.size()))
        file.fail(fmt::format("device {} stands where device {} is due", match[1], log.gpus.size()));
      log.gpus.push_back(match[2]);
    }
  }
  if (file.at_end() && log.version.empty())
    throw InputError(file.path() +
                     ": is no output of nvbandwidth: it has neither 'nvbandwidth Version: ...' nor a test");
  file.expect_more("'Running TEST.'");
}

NvbandwidthMatrix read_titled_matrix(TextFile& file) {
  NvbandwidthMatrix matrix;
  matrix.title = file.line();
  matrix.place = place_of(file, file.number());
  file.next();
  const MatrixTable table = read_matrix(file, "", matrix.title);
  matrix.cells = table.cells;
  for (const int line : table.lines) matrix.places.push_back(place_of(file, line));
  return matrix;
}

/// The parts of a test come under one heading, or each under a heading of the same name.
NvbandwidthTest& test_named(NvbandwidthLog& log, const std::string& name, const std::string& place) {
  if (log.tests.empty() || log.tests.back().name != name) log.tests.push_back({name, place, false, {}});
  return log.tests.back();
}

/// One line of a test, or its whole matrix.
void read_part(TextFile& file, NvbandwidthLog& log, const std::string& name) {
  static const Regex waived(R"((?i)\s*waived\s*:?\s*(\w*)\s*)");
  static const Regex statistic(R"((SUM|MIN|MAX|AVG|AVERAGE|MEDIAN|STDDEV) .*)");
  static const Regex error(R"((?i)\s*\[?error\b.*)");
  Match match;
  const std::string place = place_of(file, file.number());
  if (is_title(file.line())) {
    test_named(log, name, place).matrices.push_back(read_titled_matrix(file));
    return;
  }
  if (error.whole(file.line())) file.fail("test " + name + " failed: " + file.line());
  if ((match = waived.whole(file.line())))
    test_named(log, match.has(1) && !match[1].empty() ? match[1] : name, place).waived = true;
  else if (!statistic.whole(file.line()))
    file.fail("not understood inside test " + name);
  file.next();
}

/// Whose matrix stands here, where the line "Running TEST." was cut off: the SUM below it says so.
std::string test_below(TextFile ahead) {
  static const Regex sum(R"((?:SUM|MIN|MAX|AVG|AVERAGE|MEDIAN) (\w+) [0-9.]+\s*)");
  const TextFile here = ahead;
  for (; !ahead.at_end() && !ahead.starts_with("Running "); ahead.next())
    if (const Match match = sum.whole(ahead.line())) return match[1];
  here.fail("neither 'Running TEST.' above nor 'SUM TEST ...' below says which test this is");
}

/// Behind a test newer versions print how much its figures vary, as a matrix.
void skip_variation(TextFile& file) {
  file.next();
  for (file.skip_blank(); !file.at_end() && is_title(file.line()); file.skip_blank()) file.next();
  for (; !file.at_end(); file.next()) {
    const auto words = words_of(file.line());
    if (words.empty() || !whole_number(words.front())) return;
  }
}

void read_test(TextFile& file, NvbandwidthLog& log) {
  static const Regex heading(R"(Running (\w+)\.?\s*)");
  const Match match = heading.whole(file.line());
  const bool cut = !match && is_title(file.line());
  if (!match && !cut) file.fail("not understood: 'Running TEST.' is due");
  const std::string name = cut ? test_below(file) : match[1];
  const int line = file.number();
  test_named(log, name, place_of(file, line));
  if (!cut) file.next();
  bool ends = false;
  for (file.skip_blank(); !ends && !file.at_end() && !file.starts_with("Running ") && !file.starts_with("NOTE:");
       file.skip_blank()) {
    if (file.starts_with("COEFFICIENT_OF_VARIATION")) {
      skip_variation(file);
      continue;
    }
    ends = cut && file.starts_with("SUM ");  // the next matrix may be another test's
    read_part(file, log, name);
  }
  for (const NvbandwidthTest& test : log.tests)
    if (test.name == name && test.matrices.empty() && !test.waived)
      file.fail_at(line, "test " + name + " has no result");
}

}  // namespace

NvbandwidthLog read_nvbandwidth_text(TextFile& file) {
  NvbandwidthLog log;
  file.strip_launchers();
  read_header(file, log);
  for (; !file.at_end(); file.skip_blank()) {
    if (file.starts_with("COEFFICIENT_OF_VARIATION"))
      skip_variation(file);
    else if (file.starts_with("Running ") || is_title(file.line()))
      read_test(file, log);
    else
      break;
  }
  log.complete = file.starts_with("NOTE:");
  for (; !file.at_end(); file.next())
    if (file.starts_with("Running ") || file.starts_with("nvbandwidth Version:"))
      file.fail("a second run of nvbandwidth: one a file");
  return log;
}

}  // namespace linkcast
