// Text of the OSU micro-benchmarks, one pair of processes: messages of MPI.
// The program does not print where its processes ran: options say it.

#include "calibrate/import/decimal.hpp"
#include "calibrate/import/device_names.hpp"
#include "calibrate/import/option_values.hpp"
#include "calibrate/import/record_builder.hpp"
#include "calibrate/import/text_file.hpp"
#include "sim/units/regex.hpp"

namespace linkcast {
namespace {

/// One of the programs.
struct Program {
  std::string title, name;
  bool latency = false, bidirectional = false, many_pairs = false;
};

// source: OSU micro-benchmarks 5.7 and 7.x, the first line that each program prints
const std::vector<Program> kPrograms = {
    {"Latency Test", "osu_latency", true, false, false},
    {"Bandwidth Test", "osu_bw", false, false, false},
    {"Bi-Directional Bandwidth Test", "osu_bibw", false, true, false},
    {"Multi Latency Test", "osu_multi_lat", true, false, true},
    {"Multi-pair Latency Test", "osu_multi_lat", true, false, true},
    {"Multiple Bandwidth / Message Rate Test", "osu_mbw_mr", false, false, true},
};

struct Log {
  const Program* program = nullptr;
  std::string version;
  std::optional<bool> device_memory;  ///< nothing: not printed
  int pairs = 0, window = 0;          ///< 0: not printed
};

/// Finds "# OSU MPI-CUDA Latency Test v5.7" and leaves the file behind it.
Log read_title(TextFile& file) {
  static const Regex title(R"(# OSU MPI(-\w+)? (.+ Test) v(\S+)\s*)");
  Match match;
  file.expect_short_lines();
  while (!file.at_end() && !(match = title.whole(file.line()))) file.next();
  if (file.at_end())
    throw InputError(file.path() +
                     ": is no output of an OSU point-to-point program: it has no line '# OSU MPI ... Test v...'");
  std::string known;
  for (const Program& program : kPrograms) {
    if (program.title == match[2]) {
      Log log;
      log.program = &program;
      log.version = match[3];
      if (!match.has(1)) log.device_memory = false;
      file.next();
      return log;
    }
    known += (known.empty() ? "" : ", ") + program.title;
  }
  file.fail("'" + match[2] + "' is not read: one of " + known);
}

void read_buffers(const TextFile& file, Log& log) {
  static const Regex buffers(R"(# Send Buffer on (\w+) \(\w+\) and Receive Buffer on (\w+) \(\w+\)\s*)");
  const Match match = buffers.whole(file.line());
  if (!match) file.fail("not understood: '# Send Buffer on ...' is due");
  if (match[1] != match[2] || (match[1] != "DEVICE" && match[1] != "HOST"))
    file.fail("buffers must be both on DEVICE or both on HOST: schema measurement/1 has nothing for others");
  log.device_memory = match[1] == "DEVICE";
}

/// The lines between title and table. Leaves the file at the head of the table.
void read_preamble(TextFile& file, Log& log) {
  static const Regex pairs(R"(# \[ pairs: (\d+) \] \[ window size: (\d+) \]\s*)");
  Match match;
  for (;; file.next()) {
    file.expect_more("the head of the table, '# Size ...'");
    if (file.starts_with("# Size")) return;
    if (file.starts_with("# Send Buffer")) {
      read_buffers(file, log);
    } else if ((match = pairs.whole(file.line()))) {
      log.pairs = whole_number(match[1]).value_or(0);
      log.window = whole_number(match[2]).value_or(0);
    } else if (!words_of(file.line()).empty() && !file.starts_with("# Datatype:")) {
      file.fail("not understood between title and table");
    }
  }
}

/// The unit must be the one expected; a column Validation may follow. @returns the number of columns
std::size_t read_head(TextFile& file, const Log& log) {
  static const Regex latency(R"(# Size\s+(?:Avg )?Latency ?\(us\)(\s+Validation)?\s*)");
  static const Regex bandwidth(R"(# Size\s+Bandwidth \(MB/s\)(\s+Validation)?\s*)");
  static const Regex rate(R"(# Size\s+MB/s\s+Messages/s(\s+Validation)?\s*)");
  const bool rates = log.program->name == "osu_mbw_mr";
  const Match match = (rates ? rate : log.program->latency ? latency : bandwidth).whole(file.line());
  if (!match)
    file.fail(std::string("the head of the table is due: # Size ") + (rates                  ? "MB/s Messages/s"
                                                                      : log.program->latency ? "Latency (us)"
                                                                                             : "Bandwidth (MB/s)"));
  file.next();
  return (rates ? 3U : 2U) + (match.has(1) ? 1U : 0U);
}

void check_pairs(const ImportRequest& request, const TextFile& file, const Log& log) {
  if (!log.program->many_pairs) return;
  const auto said = option_count(request, "pairs");
  if (log.pairs > 0 && said && *said != log.pairs)
    throw InputError("--option pairs: is " + std::to_string(*said) + ", " + file.path() + " prints " +
                     std::to_string(log.pairs));
  if (log.pairs == 0 && !said)
    throw InputError("--option pairs: is needed, " + log.program->name + " does not print how many pairs ran: pairs=1");
  if ((log.pairs > 0 ? log.pairs : *said) != 1)
    throw InputError(file.path() + ": several pairs at once: schema measurement/1 has one pair a point");
}

/// Source, target and whether they lie on two nodes.
Json ends_of(const ImportRequest& request) {
  const auto src = option_text(request, "src"), dst = option_text(request, "dst");
  if (!src || !dst)
    throw InputError(
        "--option src and --option dst: are needed, the program does not print where it ran: src=gpu0 "
        "dst=gpu1");
  const bool nodes = option_choice(request, "between_nodes", {"true", "false"}).value_or("false") == "true";
  if (!nodes && *src == *dst)
    throw InputError("--option dst: is '" + *dst +
                     "' as src: add --option between_nodes=true if they are on two nodes");
  Json ends{{"transport", "mpi"}, {"source", *src}, {"target", *dst}};
  if (nodes) ends["between_nodes"] = true;
  return ends;
}

void check_memory(const ImportRequest& request, const TextFile& file, const Log& log) {
  for (const char* key : {"src", "dst"}) {
    const std::string& device = request.options.at(key);
    const bool gpu = is_device(device, "gpu");
    if (!gpu && !is_device(device, "cpu"))
      throw InputError(std::string("--option ") + key + ": '" + device + "' is no device: gpu<n> or cpu<n>");
    if (log.device_memory && *log.device_memory != gpu)
      throw InputError(std::string("--option ") + key + ": '" + device + "' does not fit " + file.path() +
                       ", whose buffers are in " + (*log.device_memory ? "GPU memory: gpu<n>" : "host memory: cpu<n>"));
  }
}

/// @returns the number of messages that were timed
int read_rows(TextFile& file, const Log& log, std::size_t columns, const Json& ends, RecordBuilder& record) {
  int rows = 0;
  for (; !file.at_end(); file.next()) {
    const auto words = words_of(file.line());
    if (words.empty()) break;
    if (words.size() != columns)
      file.fail("has " + std::to_string(words.size()) + " values for " + std::to_string(columns) + " columns");
    file.expect_line_end();
    const auto size = whole_size(words[0]);
    const auto value = decimal(words[1], log.program->latency ? -6 : 6);
    if (!size) file.fail("size '" + words[0] + "' is not a whole number");
    if (!value || !(*value > 0)) file.fail("'" + words[1] + "' is not a number above 0");
    if (columns > (log.program->name == "osu_mbw_mr" ? 3U : 2U) && words.back() != "Pass")
      file.fail("the received data were wrong: not a measurement");
    ++rows;
    if (*size == 0) {
      record.note("Left out: messages of 0 bytes, which schema measurement/1 does not have.");
      continue;
    }
    Json point = ends;
    if (log.program->bidirectional) point["bidirectional"] = true;
    point["size_B"] = *size;
    if (log.program->bidirectional) point["payload_count"] = 2;
    record.add(point, log.program->latency ? "time_s" : "bandwidth_Bps", *value);
  }
  return rows;
}

class Osu final : public Importer {
 public:
  [[nodiscard]] std::vector<ImportOption> options() const override {
    return {{"src", "device of the first process: gpu0, or cpu0 for buffers in host memory; needed"},
            {"dst", "device of the second process; needed"},
            {"between_nodes", "true if the processes ran on two nodes (default: false)"},
            {"pairs", "number of pairs, needed for osu_multi_lat; only 1 is read"},
            RecordBuilder::id_option()};
  }
  [[nodiscard]] Json run(const ImportRequest& request) const override;
};

void add_table(const ImportRequest& request, TextFile& file, Log& log, RecordBuilder& record) {
  read_preamble(file, log);
  check_pairs(request, file, log);
  const Json ends = ends_of(request);
  check_memory(request, file, log);
  const std::size_t columns = read_head(file, log);
  if (read_rows(file, log, columns, ends, record) == 0) file.fail("the table has no row");
  record.source("OSU micro-benchmarks " + log.version);
  record.environment("osu_micro_benchmarks", log.version, file.path());
  record.method(log.program->name, log.program->latency ? "one-way latency: half a round trip, one message at a time"
                                                        : "time per message in a window of messages");
  if (!log.device_memory)
    record.note(file_name(file.path()) + " does not print which memory held the buffers: options src and dst say it.");
  if (!log.program->latency)
    record.note(log.window > 0
                    ? log.program->name + ": window of " + std::to_string(log.window) + " messages."
                    : "assumed: " + log.program->name + " had its default window of 64 messages; it is not printed.");
}

Json Osu::run(const ImportRequest& request) const {
  std::optional<bool> latency;
  std::vector<std::pair<TextFile, Log>> logs;
  for (const std::string& path : request.files) {
    TextFile file(path);
    Log log = read_title(file);
    if (latency && *latency != log.program->latency)
      throw InputError(path + ": " + log.program->name +
                       " with files of the other timing: latencies time one message, bandwidths a queue: import them "
                       "one by one");
    latency = log.program->latency;
    logs.emplace_back(std::move(file), log);
  }
  const bool single = latency.value_or(false);
  RecordBuilder record(request, single ? "osu-latency" : "osu-bandwidth", "osu", single ? "single" : "back_to_back");
  for (auto& [file, log] : logs) add_table(request, file, log, record);
  return record.json();
}

const bool osu_registered = importers().add(
    {"osu", "text of osu_latency, osu_bw, osu_bibw, osu_multi_lat or osu_mbw_mr, one pair: MPI messages",
     "OSU micro-benchmarks, README and c/mpi/pt2pt of versions 5.7 and 7.x"},
    [] { return std::make_unique<Osu>(); });

}  // namespace
}  // namespace linkcast
