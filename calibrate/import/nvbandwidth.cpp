// Tests of nvbandwidth become copies and loads; what schema measurement/1 cannot say is named in a note.
// The program prints no buffer size: option buffer says it, or a note says what was assumed.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "calibrate/import/command_lines.hpp"
#include "calibrate/import/importer.hpp"
#include "calibrate/import/record_builder.hpp"
#include "calibrate/import/text_file.hpp"
#include "sim/base/input_error.hpp"
#include "sim/base/object_reader.hpp"
#include "sim/base/regex.hpp"
#include "sim/records/measurement.hpp"

namespace linkcast {
namespace {

// JSON of nvbandwidth -j: {"nvbandwidth": {"version", "testcases": [{"name", "status", "bandwidth_description",
// "bandwidth_matrix", "sum"}], ...}}. Keys that are not needed are passed over.

/// One matrix of a test.
struct NvbandwidthMatrix {
  std::string title;  ///< "memcpy CE GPU(row) -> GPU(column) bandwidth (GB/s)"
  std::vector<std::vector<std::string>> cells;
  std::vector<std::string> places;  ///< where each row stands: "log.txt:12", "log.json:/nvbandwidth/..."
  std::string place;                ///< where the title stands
};

struct NvbandwidthTest {
  std::string name;  ///< device_to_device_memcpy_read_ce
  std::string place;
  bool waived = false;
  std::vector<NvbandwidthMatrix> matrices;
};

struct NvbandwidthLog {
  std::string version;
  std::optional<std::string> buffer_MiB{};                 ///< of -b in a command above
  std::vector<std::pair<std::string, std::string>> facts;  ///< driver, CUDA: key of the record, value as printed
  std::vector<std::string> gpus;                           ///< names, by printed number
  std::vector<std::string> buses{};                        ///< of them; empty: not printed
  bool processes = false;                                  ///< each GPU is that of a process, on one node or several
  std::string place{};                                     ///< where it begins
  std::vector<std::string> notes{};                        ///< what was passed over
  std::vector<NvbandwidthTest> tests;
  bool complete = false;  ///< ends as the program ends it: no test is missing
};

/// "CUDA Runtime Version" as the key cuda_runtime of a record's environment.
inline std::string fact_key(const std::string& printed) {
  static const std::map<std::string, std::string> kKeys{
      {"Driver Version", "driver"}, {"CUDA Driver Version", "cuda_driver"}, {"CUDA Runtime Version", "cuda_runtime"}};
  return kKeys.at(printed);
}

// Text of nvbandwidth. Every line of a test is understood or an error; what stands before the first test is not looked
// at but for versions and devices.

std::string place_of(const TextFile& file, int line) { return fmt::format("{}:{}", file.path(), line); }

bool is_title(const std::string& line) {
  static const Regex title(R"(.*\((row|column)\).*\((GB/s|ns|us)\)\s*)");
  return bool{title.whole(line)};
}

/// @returns  false: the line is none of a device
bool read_device(const TextFile& file, NvbandwidthLog& log) {
  static const Regex device(
      R"((?:Device (\d+)|Process (\d+) \([^()]*\): device \d+): (.+?)(?: \(([\da-fA-F:.]+)\))?\s*)");
  const Match match = device.whole(file.line());
  if (!match) return false;
  const std::string number = match[1] + match[2];
  if (whole_number(number) != static_cast<int>(log.gpus.size()))
    file.fail(fmt::format("{} {} stands where number {} is due", match.has(2) ? "process" : "device", number,
                          log.gpus.size()));
  log.processes = match.has(2);
  log.gpus.push_back(match[3]);
  log.buses.push_back(log.processes ? "" : match[4]);
  return true;
}

bool begins_run(const TextFile& file) { return file.starts_with("nvbandwidth Version:"); }
/// A line of both kinds begins a run, so that each is read past once.
bool begins_test(const TextFile& file) {
  return !begins_run(file) && (file.starts_with("Running ") || is_title(file.line()));
}

void read_header(TextFile& file, NvbandwidthLog& log) {
  static const Regex version(R"(nvbandwidth Version: v?(\S+).*)");
  static const Regex fact(R"((CUDA Runtime Version|CUDA Driver Version|Driver Version): (\S+)\s*)");
  log.place = place_of(file, file.number());
  Match match;
  for (; !file.at_end() && !begins_test(file); file.next()) {
    if ((match = version.whole(file.line()))) {
      if (!log.version.empty()) log = {};  // a run without tests: --list, or one that failed
      log.version = match[1];
    } else if ((match = fact.whole(file.line()))) {
      log.facts.emplace_back(fact_key(match[1]), match[2]);
    } else {
      read_device(file, log);
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

/// A line of another program inside the tests.
void pass_over(const TextFile& file, NvbandwidthLog& log) {
  constexpr std::size_t kShown = 60, kMostShown = 3;  // source: ours
  if (log.notes.size() < kMostShown)
    log.notes.push_back(
        fmt::format("Passed over between the tests, line {}: '{}'.", file.number(), file.line().substr(0, kShown)));
}

/// SUM below a matrix that is the only one of its test: what its cells add up to.
void check_sum(const TextFile& file, const NvbandwidthLog& log, const std::string& name) {
  static const Regex line(R"(SUM (\w+) ([0-9.]+)\s*)");
  const Match match = line.whole(file.line());
  if (!match || match[1] != name || log.tests.back().name != name || log.tests.back().matrices.size() != 1) return;
  double sum = 0, lost = 0;
  constexpr double kDigit = 0.005, kShare = 1e-3;  // source: cells have two decimals
  for (const auto& row : log.tests.back().matrices.front().cells)
    for (const std::string& cell : row) {
      const auto value = decimal(cell);
      if (!is_not_available(cell) && value.value_or(0) <= 0) return;  // said with its place
      sum += value.value_or(0);
      lost += kDigit;
    }
  const auto printed = decimal(match[2]);
  if (printed && std::abs(*printed - sum) > lost + kDigit + kShare * *printed)
    file.fail(fmt::format("SUM is {}, the cells of {} add up to {:.2f}: a figure is damaged", match[2], name, sum));
}

/// One line of a test, or its whole matrix.
void read_part(TextFile& file, NvbandwidthLog& log, const std::string& name) {
  static const Regex waived(R"((?i)\s*waived\b\s*:?\s*(?:(\w+_\w+)\b)?.*)");  // newer versions say why
  static const Regex statistic(R"((SUM|MIN|MAX|AVG|AVERAGE|MEDIAN|STDDEV) .*)");
  static const Regex error(R"((?i).*\berror\b.*)");
  Match match;
  const std::string place = place_of(file, file.number());
  if (is_title(file.line())) {
    test_named(log, name, place).matrices.push_back(read_titled_matrix(file));
    return;
  }
  if (error.whole(file.line())) file.fail("test " + name + " failed: " + file.line());
  if ((match = waived.whole(file.line())))
    test_named(log, match.has(1) && !match[1].empty() ? match[1] : name, place).waived = true;
  else if ((match = statistic.whole(file.line())))
    check_sum(file, log, name);
  else
    pass_over(file, log);
  file.next();
}

/// Whose matrix stands here, where the line "Running TEST." was cut off: the SUM below it says so.
std::string test_below(TextFile ahead) {
  static const Regex sum(R"((?:SUM|MIN|MAX|AVG|AVERAGE|MEDIAN) (\w+) [0-9.]+\s*)");
  const TextFile here = ahead;
  for (; !ahead.at_end() && !ahead.starts_with("Running ") && !begins_run(ahead); ahead.next())
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
  for (file.skip_blank();
       !ends && !file.at_end() && !file.starts_with("Running ") && !file.starts_with("NOTE:") && !begins_run(file);
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

/// The tests of one run.
void read_tests(TextFile& file, NvbandwidthLog& log) {
  for (file.skip_blank(); !file.at_end() && !begins_run(file); file.skip_blank()) {
    if (file.starts_with("COEFFICIENT_OF_VARIATION")) {
      skip_variation(file);
    } else if (begins_test(file)) {
      read_test(file, log);
    } else {
      log.complete = log.complete || file.starts_with("NOTE:");
      file.next();
    }
  }
}

/// source: NVIDIA/nvbandwidth README: -b, --bufferSize in MiB
std::optional<std::string> buffer_in(const TextFile& file) {
  static const Regex argument(R"(\s(?:-b|--bufferSize)[ =]?(\d{1,6})\b)");
  return said_by_commands(file, "nvbandwidth", argument);
}

/// Rows without numbers in front; a cell that was not run is "N/A".
/// @throws InputError  file and line
std::vector<NvbandwidthLog> read_nvbandwidth_text(TextFile& file) {
  file.strip_launchers();
  const auto buffer = buffer_in(file);
  std::vector<NvbandwidthLog> logs;
  do {
    NvbandwidthLog log;
    read_header(file, log);
    read_tests(file, log);
    if (!file.other_processes().empty()) log.notes.push_back(file.other_processes());
    log.buffer_MiB = buffer;
    logs.push_back(std::move(log));
  } while (!file.at_end());
  return logs;
}

bool ends_with(const std::string& text, const std::string& end) {
  return text.size() >= end.size() && text.compare(text.size() - end.size(), end.size(), end) == 0;
}

/// The first key with this ending: bandwidth_matrix, latency_matrix.
std::string key_ending(const Json& object, const std::string& end) {
  for (const auto& [key, value] : object.items())
    if (ends_with(key, end)) return key;
  return "";
}

std::string cell_text(const Json& cell, const ObjectReader& test, const std::string& key) {
  if (cell.is_string()) return cell.get<std::string>();
  if (cell.is_null()) return "N/A";
  if (!cell.is_number()) test.fail(key, "each cell must be a number, as such or as text, or N/A");
  return cell.dump();
}

NvbandwidthMatrix read_matrix_of(const Json& object, ObjectReader& test) {
  NvbandwidthMatrix matrix;
  const std::string title = key_ending(object, "_description"), key = key_ending(object, "_matrix");
  if (title.empty() || key.empty())
    test.fail("", "a test that passed needs bandwidth_description and bandwidth_matrix");
  matrix.title = test.required<std::string>(title);
  matrix.place = test.file() + ":" + test.pointer(title);
  const Json& rows = test.raw(key);
  if (!rows.is_array() || rows.empty()) test.fail(key, "must be a non-empty array of rows");
  for (std::size_t i = 0; i < rows.size(); ++i) {
    if (!rows[i].is_array() || rows[i].empty() || rows[i].size() != rows[0].size())
      test.fail(key + "/" + std::to_string(i), "must be an array as long as the first row");
    matrix.cells.emplace_back();
    matrix.places.push_back(test.file() + ":" + test.pointer(key) + "/" + std::to_string(i));
    for (const Json& cell : rows[i]) matrix.cells.back().push_back(cell_text(cell, test, key));
  }
  return matrix;
}

void read_testcase(const Json& object, ObjectReader& reader, NvbandwidthLog& log) {
  const auto name = reader.required<std::string>("name");
  const std::string status = reader.choice("status", {"Passed", "Waived", "Error", "Not Found", "Running"});
  static const std::map<std::string, bool> measured = {{"Passed", true}, {"Waived", false}};
  const auto end = measured.find(status);
  if (end == measured.end()) reader.fail("status", "test " + name + " did not pass: " + status);
  if (log.tests.empty() || log.tests.back().name != name)
    log.tests.push_back({name, reader.file() + ":" + reader.pointer(), false, {}});
  if (!end->second)
    log.tests.back().waived = true;
  else
    log.tests.back().matrices.push_back(read_matrix_of(object, reader));
}

/// "0: NVIDIA H100 80GB HBM3: 00000000:0f:00", or of several processes "Process 0 (host): device 0: NVIDIA GB200
/// (...)".
void add_gpu(const std::string& text, NvbandwidthLog& log) {
  static const Regex device(
      R"((?:(Process \d+ \(.*\): device )\d+: |\d+: )?(.+?)(?::? \(?[\da-fA-F]+:[\da-fA-F:.]+\)?)?\s*)");
  const Match match = device.whole(text);
  log.processes = log.processes || (match && match.has(1));
  log.gpus.push_back(match ? match[2] : text);
}

/// The object that holds "nvbandwidth", at any depth, as such or as text: DCGM's diagnosis passes on what it printed.
/// @returns  null if there is none
Json holder_of(const Json& json, int depth = 0) {
  constexpr int kDeepest = 12;  // of DCGM's results. source: ours
  if (json.is_object() && json.contains("nvbandwidth") && json["nvbandwidth"].is_object()) return json;
  if (json.is_string() && json.get_ref<const std::string&>().find("\"testcases\"") != std::string::npos) {
    const Json inside = parse_foreign_json(json.get_ref<const std::string&>(), "what nvbandwidth printed");
    return inside.is_object() && inside.contains("nvbandwidth") ? inside : Json();
  }
  if (depth > kDeepest || !json.is_structured()) return {};
  for (const Json& part : json)
    if (Json found = holder_of(part, depth + 1); !found.is_null()) return found;
  return {};
}

/// @throws InputError  file and JSON pointer
NvbandwidthLog read_nvbandwidth_json(const Json& all, const TextFile& file) {
  const Json json = all.is_object() && all.contains("nvbandwidth") ? all : holder_of(all);
  if (json.is_null()) throw InputError(file.path(), "/nvbandwidth", "missing key: no JSON of nvbandwidth");
  ObjectReader whole(json, file.path());
  ObjectReader r = whole.object("nvbandwidth");
  if (r.has("error")) r.fail("error", "the run failed: " + r.raw("error").dump());
  NvbandwidthLog log;
  log.complete = true;
  log.place = file.path();
  log.version = r.has("version") ? r.required<std::string>("version") : r.required<std::string>("git_version");
  if (!log.version.empty() && log.version.front() == 'v') log.version.erase(0, 1);
  for (const char* key : {"CUDA Runtime Version", "CUDA Driver Version", "Driver Version"})
    if (r.has(key)) {
      const Json& value = r.raw(key);
      log.facts.emplace_back(fact_key(key), value.is_string() ? value.get<std::string>() : value.dump());
    }
  if (const auto names = r.optional<std::vector<std::string>>("GPU Device list"))
    for (const std::string& name : *names) add_gpu(name, log);
  const Json& tests = r.raw("testcases");
  auto readers = r.objects("testcases");
  if (readers.empty()) r.fail("testcases", "holds no test");
  for (std::size_t i = 0; i < readers.size(); ++i) read_testcase(tests[i], readers[i], log);
  return log;
}

// source: NVIDIA/nvbandwidth README: --bufferSize is 512 MiB by default (64 MiB before 0.4); latency tests ignore it
// and follow pointers of 8 bytes through 2 MiB.
constexpr std::int64_t kMiB = 1048576, kBuffer_B = 512 * kMiB, kChain_B = 2 * kMiB, kPointer_B = 8;
constexpr int kMinorOfBuffer = 4;

/// Quantity that a test measures.
struct TestKind {
  bool known = false, host = false, to_gpu = false, bidirectional = false, latency = false;
  Spelled<CopyDirection> direction{};
  Spelled<CopyUnit> engine{};
};

TestKind kind_of(const std::string& name) {
  static const Regex host(R"((?:(host_to_device)|device_to_host)_memcpy_(ce|sm))");
  static const Regex pair(R"((?:multinode_)?device_to_device_(bidirectional_)?memcpy_(read|write)_(ce|sm))");
  static const Regex load(R"((?:(host_device)|device_to_device)_latency_sm)");
  Match match;
  TestKind kind;
  if ((match = host.whole(name))) {
    kind = {true, true, match.has(1), false, false, CopyDirection::kUnknown, match[2]};
  } else if ((match = pair.whole(name))) {
    kind = {true, false, false, match.has(1), false, match[2], match[3]};
  } else if ((match = load.whole(name))) {
    kind = {true, match.has(1), true, false, true, CopyDirection::kRead, CopyUnit::kSm};
  }
  return kind;
}

/// The sides of "... GPU(row) -> GPU(column) ..." of a title.
struct Sides {
  bool host_row = false, host_column = false;
  bool from_row = false;  ///< or both ways
  std::string arrow{};
};

Sides sides_of(const NvbandwidthMatrix& matrix) {
  static const Regex sides(R"(.*\b(?:(CPU)|GPU)\(row\) *(<->|->|(<-)) *(?:(CPU)|GPU)\(column\).*)");
  const Match match = sides.whole(matrix.title);
  if (!match) throw InputError(matrix.place + ": '" + matrix.title + "' does not say which way rows and columns go");
  return {match.has(1), match.has(4), !match.has(3), match[2]};
}

class Tests {
 public:
  Tests(const ImportRequest& request, std::int64_t buffer_B, RecordBuilder& record)
      : buffer_B_(buffer_B), devices_(request), record_(record) {}

  void add(const NvbandwidthTest& test);
  [[nodiscard]] std::string device_note() const { return devices_.note(); }

 private:
  void add_matrix(const NvbandwidthTest& test, const TestKind& kind, const NvbandwidthMatrix& matrix);
  void add_cell(const NvbandwidthTest& test, const TestKind& kind, const NvbandwidthMatrix& matrix, std::size_t row,
                std::size_t column);
  [[nodiscard]] Json point(const TestKind& kind, bool row_is_source, int row, int column) const;

  std::int64_t buffer_B_;
  DeviceNames devices_;
  RecordBuilder& record_;
};

void check_title(const TestKind& kind, const NvbandwidthMatrix& matrix) {
  const Sides sides = sides_of(matrix);
  const std::string unit = kind.latency ? "(ns)" : "(GB/s)";
  const std::string arrow = kind.latency || kind.bidirectional ? "<->" : !kind.host ? "" : kind.to_gpu ? "->" : "<-";
  const bool fits = sides.host_row == kind.host && !sides.host_column &&
                    (arrow.empty() ? sides.arrow != "<->" : sides.arrow == arrow) &&
                    matrix.title.find(unit) != std::string::npos;
  if (!fits)
    throw InputError(matrix.place + ": '" + matrix.title + "' does not fit this test: " + (kind.host ? "CPU" : "GPU") +
                     "(row) " + (arrow.empty() ? "-> or <-" : arrow) + " GPU(column) and " + unit + " are due");
}

Json Tests::point(const TestKind& kind, bool row_is_source, int row, int column) const {
  const std::string of_row = kind.host ? "host" : devices_.id(row), of_column = devices_.id(column);
  Json point{{"transport", kind.host ? "host" : "peer"},
             {"source", row_is_source ? of_row : of_column},
             {"target", row_is_source ? of_column : of_row},
             {"engine", kind.engine}};
  if (!kind.direction.empty()) point["direction"] = kind.direction;
  if (kind.bidirectional) point["bidirectional"] = true;
  point["size_B"] = kind.latency ? kPointer_B : buffer_B_;
  if (kind.latency) point["working_set_B"] = kChain_B;
  return point;
}

void Tests::add_cell(const NvbandwidthTest& test, const TestKind& kind, const NvbandwidthMatrix& matrix,
                     std::size_t row, std::size_t column) {
  const std::string& text = matrix.cells[row][column];
  const auto value = decimal(text, kind.latency ? -9 : 9);
  const bool not_run = is_not_available(text);
  if (!kind.host && row == column) {  // versions before N/A print 0.00
    if (!not_run && value != 0.0)
      throw InputError(fmt::format("{}: '{}' for GPU {} and itself", matrix.places[row], text, row));
    return;
  }
  const bool row_is_source = sides_of(matrix).from_row;
  Json p = point(kind, row_is_source, static_cast<int>(row), static_cast<int>(column));
  if (not_run) {
    record_.add_waived(p, "nvbandwidth " + test.name + ": N/A");
    return;
  }
  if (!value || !(*value > 0))
    throw InputError(fmt::format("{}: '{}' in column {} is not a number above 0", matrix.places[row], text, column));
  if (kind.bidirectional) p["payload_count"] = 2;
  record_.add(p, kind.latency ? "time_s" : "bandwidth_Bps", *value);
}

void Tests::add_matrix(const NvbandwidthTest& test, const TestKind& kind, const NvbandwidthMatrix& matrix) {
  check_title(kind, matrix);
  const std::size_t columns = matrix.cells.front().size(), due = kind.host ? 1 : columns;
  if (matrix.cells.size() != due)
    throw InputError(fmt::format("{}: the matrix of test {} ends after {} rows, {} are due", matrix.places.back(),
                                 test.name, matrix.cells.size(), due));
  for (std::size_t row = 0; row < due; ++row)
    for (std::size_t column = 0; column < columns; ++column) add_cell(test, kind, matrix, row, column);
}

void Tests::add(const NvbandwidthTest& test) {
  if (test.waived && !test.matrices.empty())
    throw InputError(test.place + ": test " + test.name + " is waived and has results");
  if (test.waived) {
    record_.add_waived(Json::object(), "nvbandwidth waived " + test.name);
    return;
  }
  const TestKind kind = kind_of(test.name);
  bool used = false;
  for (const NvbandwidthMatrix& matrix : test.matrices) {
    if (!kind.known || (kind.bidirectional && matrix.title.find("Total") == std::string::npos)) continue;
    add_matrix(test, kind, matrix);
    used = true;
  }
  if (!used) {
    record_.note("Left out, schema measurement/1 cannot say it truthfully: test " + test.name + ".");
    return;
  }
  if (kind.latency)
    record_.note(
        fmt::format("assumed: latency tests load {} bytes at a time from a chain of {} bytes, whatever the buffer; "
                    "between GPUs the row owns the memory and the column loads, which the program does not print.",
                    kPointer_B, kChain_B));
  if (kind.bidirectional)
    record_.note("bidirectional: the Total matrices, which add up both directions.");
  else if (!kind.latency && !kind.host)
    record_.note("test " + test.name + ": source and target follow the printed '" + test.matrices.front().title + "'.");
}

/// The size of a copy, or an error where the default of that version is not certain.
std::int64_t buffer_of(const ImportRequest& request, const NvbandwidthLog& log, RecordBuilder& record) {
  if (const auto said = option_bytes(request, "buffer")) return *said;
  if (const auto said = whole_number(log.buffer_MiB.value_or("")); said && *said > 0) {
    constexpr std::int64_t kMiB_B = 1048576;
    record.note(fmt::format("Copies are {} MiB, as the command line says (-b).", *said));
    return *said * kMiB_B;
  }
  int major = 0, minor = 0;
  const bool read = std::sscanf(log.version.c_str(), "%d.%d", &major, &minor) == 2;
  if (!log.version.empty() && (!read || (major == 0 && minor < kMinorOfBuffer)))
    throw InputError("option buffer: is needed, version '" + log.version +
                     "' of nvbandwidth has another default than 512MiB: say the size of -b, e.g. 64MiB");
  record.note(
      fmt::format("assumed: copies are {} bytes, the default buffer of nvbandwidth; the program does not print -b. "
                  "Option buffer says otherwise.",
                  kBuffer_B));
  return kBuffer_B;
}

bool holds_copies(const std::vector<NvbandwidthLog>& logs) {
  return std::any_of(logs.begin(), logs.end(), [](const NvbandwidthLog& log) {
    return std::any_of(log.tests.begin(), log.tests.end(), [](const NvbandwidthTest& test) {
      return !test.waived && kind_of(test.name).known && !kind_of(test.name).latency;
    });
  });
}

class Nvbandwidth final : public Importer {
 public:
  [[nodiscard]] std::vector<ImportOption> options() const override {
    return {{"buffer", "size of -b with its unit, 64MiB (default: 512MiB; needed for versions before 0.4)"},
            DeviceNames::option(),
            RecordBuilder::id_option()};
  }
  [[nodiscard]] Json run(const ImportRequest& request) const override;
};

void add_log(const ImportRequest& request, const NvbandwidthLog& log, const std::string& path, PrintedBuses& buses,
             RecordBuilder& record) {
  record.source("nvbandwidth" + (log.version.empty() ? ", version not printed" : " " + log.version));
  if (!log.version.empty()) record.environment("nvbandwidth", log.version, path);
  if (!log.gpus.empty()) record.environment("gpus", log.gpus, path);
  for (std::size_t i = 0; i < log.buses.size(); ++i) buses.add("", static_cast<int>(i), log.buses[i], log.place);
  for (const std::string& note : log.notes) record.note(note);
  const bool multinode = std::any_of(log.tests.begin(), log.tests.end(),
                                     [](const NvbandwidthTest& test) { return test.name.starts_with("multinode_"); });
  if (multinode)
    record.note(
        "assumed: process p of the multinode tests runs on gpu<p> of the topology; option gpus says otherwise.");
  for (const auto& [name, value] : log.facts) record.environment(name, value, path);
  Tests tests(request, buffer_of(request, log, record), record);
  record.note(tests.device_note());
  if (!log.complete)
    record.note(file_name(path) + " does not end with the program's closing NOTE: tests may be missing.");
  for (const NvbandwidthTest& test : log.tests) tests.add(test);
}

Json Nvbandwidth::run(const ImportRequest& request) const {
  std::vector<NvbandwidthLog> logs;
  std::vector<std::string> paths;  ///< of the logs
  for (const std::string& path : request.files) {
    TextFile file(path);
    const auto jsons = json_of_log(file, "nvbandwidth");
    if (jsons.empty())
      for (NvbandwidthLog& log : read_nvbandwidth_text(file)) logs.push_back(std::move(log));
    for (const Json& json : jsons) {
      logs.push_back(read_nvbandwidth_json(json, file));
      logs.back().buffer_MiB = buffer_in(file);
    }
    paths.resize(logs.size(), path);
  }
  RecordBuilder record(request, "nvbandwidth", "nvbandwidth", holds_copies(logs) ? "back_to_back" : "single");
  record.method("statistic", "printed figures: medians, or means with --useMean, of the program's own samples");
  record.method("clock", "GPU events around a queue of copies held by a spinning kernel; loads: one after the other");
  record.method("host_memory", "pinned");
  PrintedBuses buses;
  for (std::size_t i = 0; i < logs.size(); ++i) add_log(request, logs[i], paths[i], buses, record);
  return record.json();
}

const bool nvbandwidth_registered =
    importers().add({"nvbandwidth", "its text or JSON (-j): copies between GPUs and with the host, load latencies",
                     "NVIDIA/nvbandwidth README.md and Output.cpp"},
                    [] { return std::make_unique<Nvbandwidth>(); });

}  // namespace

}  // namespace linkcast
