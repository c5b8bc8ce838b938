// Text of the OSU micro-benchmarks: messages of MPI between one pair of processes, and collectives of MPI.
// The programs do not print where their processes ran: options say it.
#include <fmt/format.h>

#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "calibrate/import/command_lines.hpp"
#include "calibrate/import/importer.hpp"
#include "calibrate/import/record_builder.hpp"
#include "calibrate/import/text_file.hpp"
#include "sim/base/regex.hpp"
#include "sim/machine/library.hpp"

namespace linkcast {
namespace {

// Tables that the OSU micro-benchmarks print, anywhere in a log.

/// One of the programs.
struct OsuProgram {
  std::string title, name;
  bool latency = false, bidirectional = false, many_pairs = false;
  std::string op = {};    ///< collective: as the schema has it
  bool per_rank = false;  ///< collective: the printed size is that of one rank's part
};

struct OsuRow {
  std::string place;  ///< file and line
  std::string size, value;
};

struct OsuTable {
  const OsuProgram* program = nullptr;
  std::string version;
  std::optional<bool> device_memory;  ///< nothing: not printed
  int pairs = 0, window = 0;          ///< 0: not printed
  int interrupted = 0;                ///< line between its rows that is none; 0: there is none
  std::vector<OsuRow> rows;
};

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
  static const std::map<std::string, bool> kOnDevice{{"DEVICE", true}, {"HOST", false}};
  const auto where = kOnDevice.find(match[1]);
  if (match[1] != match[2] || where == kOnDevice.end())
    file.fail("buffers must be both on DEVICE or both on HOST: schema measurement/1 has nothing for others");
  table.device_memory = where->second;
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
    static const std::set<std::string> latencies = {"Latency(us)", "Avg Latency(us)", "Avg Latency (us)"};
    const std::string name = latencies.count(match[1]) != 0 ? "Latency (us)" : match[1];
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

/// Rows up to another table; other lines between them, as warnings of a transport, are passed over.
void read_rows(TextFile& file, const OsuColumns& columns, SameProcesses& processes, OsuTable& table) {
  static const Regex row(R"(\s*\d\w*\s+\S.*)"), later(R"(\s*\d+(?:\s+[\d.]+)+(?:\s+Pass|\s+Fail)?\s*)");
  int gap = 0;
  for (; !file.at_end() && !title_pattern().whole(file.line()); file.next()) {
    if (file.starts_with("# Datatype:")) continue;
    const auto words = words_of(file.line());
    const bool cut = gap == 0 && words.size() == 1 && whole_size(words[0]);  // the text ends inside a row
    if (words.empty() || (!cut && !(gap > 0 ? later : row).whole(file.line())) ||
        (gap > 0 && (words.size() != columns.count || table.rows.empty()))) {
      processes.see(file.line(), "osu_");
      if (gap == 0) gap = file.number();
      continue;
    }
    if (words.size() != columns.count)
      file.fail(fmt::format("has {} values for {} columns", words.size(), columns.count));
    if (gap > 0 && whole_size(words[0]).value_or(0) <= whole_size(table.rows.back().size).value_or(0))
      file.fail(fmt::format("a row that does not go on with the table above, which line {} interrupts", gap));
    if (gap > 0) table.interrupted = gap;
    gap = 0;
    file.expect_line_end();
    if (columns.validation > 0 && words[columns.validation] != "Pass")
      file.fail("the received data were wrong: not a measurement");
    table.rows.push_back({fmt::format("{}:{}", file.path(), file.number()), words[0], words[columns.value]});
  }
  if (table.rows.empty()) file.fail("the table has no row");
}

/// The next table behind the place where the file stands. @returns nothing where no title follows
/// @throws InputError  a program that is not read, a table that is not whole, data that were wrong
std::optional<OsuTable> next_osu_table(TextFile& file, SameProcesses& processes) {
  Match title;
  for (; !file.at_end() && !(title = title_pattern().whole(file.line())); file.next())
    processes.see(file.line(), "osu_");
  if (file.at_end()) return std::nullopt;
  OsuTable table = table_of(file, title);
  processes.begin_run(file.path(), file.number(), table.program->op.empty() ? "src and dst" : "gpus and nodes");
  file.next();
  read_preamble(file, table);
  const OsuColumns columns = read_head(file, table);
  read_rows(file, columns, processes, table);
  return table;
}

void check_pairs(const ImportRequest& request, const std::string& path, const OsuTable& log) {
  if (!log.program->many_pairs) return;
  const auto said = option_count(request, "pairs");
  if (log.pairs > 0 && said && *said != log.pairs)
    throw InputError(fmt::format("option pairs: is {}, {} prints {}", *said, path, log.pairs));
  if (log.pairs == 0 && !said)
    throw InputError("option pairs: is needed, " + log.program->name + " does not print how many pairs ran: pairs=1");
  if ((log.pairs > 0 ? log.pairs : *said) != 1)
    throw InputError(path + ": several pairs at once: schema measurement/1 has one pair a point");
}

/// Source, target and whether they lie on two nodes.
Json ends_of(const ImportRequest& request, const std::string& path, const OsuTable& log) {
  const MessageEnds said = message_ends(request, false);
  check_buffer("src", said.source, log.device_memory, path);
  check_buffer("dst", said.target, log.device_memory, path);
  Json ends{{"transport", "mpi"}, {"source", said.source}, {"target", said.target}};
  if (said.between_nodes) ends["between_nodes"] = true;
  return ends;
}

/// @param exponent  of the printed unit
std::pair<std::int64_t, double> size_and_value(const OsuRow& row, int exponent) {
  const auto size = whole_size(row.size);
  const auto value = decimal(row.value, exponent);
  if (!size) throw InputError(row.place + ": size '" + row.size + "' is not a whole number");
  if (!value || !(*value > 0)) throw InputError(row.place + ": '" + row.value + "' is not a number above 0");
  return {*size, *value};
}

void add_messages(const OsuTable& log, const Json& ends, RecordBuilder& record) {
  for (const OsuRow& row : log.rows) {
    const auto [size, value] = size_and_value(row, log.program->latency ? -6 : 6);
    if (size == 0) {
      record.note("Left out: messages of 0 bytes, which schema measurement/1 does not have.");
      continue;
    }
    Json point = ends;
    if (log.program->bidirectional) point["bidirectional"] = true;
    point["size_B"] = size;
    if (log.program->bidirectional) point["payload_count"] = 2;
    record.add(point, log.program->latency ? "time_s" : "bandwidth_Bps", value);
  }
}

/// GPUs in rank order, of each node; gpus=8 is their number.
std::vector<int> gpus_of(const ImportRequest& request, const OsuTable& log) {
  const auto text = option_text(request, "gpus");
  if (!text)
    throw InputError("option gpus: is needed, " + log.program->name +
                     " does not print who took part: gpus=8, their number on a node, or gpus=0,1,3,2 in rank order");
  if (text->find(',') != std::string::npos) return *option_gpus(request, "gpus");
  constexpr int kMost = 1024;  // far more than a node has. source: ours
  const auto count = option_count(request, "gpus").value_or(0);
  if (count > kMost) throw InputError(fmt::format("option gpus: at most {} on a node", kMost));
  std::vector<int> all;
  for (int gpu = 0; gpu < static_cast<int>(count); ++gpu) all.push_back(gpu);
  return all;
}

void add_collectives(const ImportRequest& request, const std::string& path, const OsuTable& log,
                     RecordBuilder& record) {
  const std::string memory = option_choice(request, "memory", {"device", "host"}).value_or("");
  if (memory == "host" || (memory.empty() && log.device_memory == false))
    throw InputError(path + ": " + log.program->name +
                     " had its buffers in host memory, and schema measurement/1 has collectives of GPUs: option "
                     "memory=device where they were in GPU memory after all");
  const std::vector<int> gpus = gpus_of(request, log);
  const std::int64_t nodes = option_count(request, "nodes").value_or(1);
  if (static_cast<std::int64_t>(gpus.size()) * nodes < 2)
    throw InputError("option gpus: one rank: a collective has at least two");
  Json common{{"op", log.program->op}, {"gpus", gpus}};
  if (nodes > 1) common["nodes"] = nodes;
  if (log.program->per_rank)
    record.note(log.program->name +
                ": the printed size is that of one rank's part; the record has that of all, as "
                "nccl-tests says it.");
  for (const OsuRow& row : log.rows) {
    const auto [size, value] = size_and_value(row, -6);
    if (size == 0) continue;
    const std::int64_t parts = log.program->per_rank ? static_cast<std::int64_t>(gpus.size()) * nodes : 1;
    constexpr std::int64_t kMostBytes = std::int64_t{1} << 53;  // of schema measurement/1
    if (size > kMostBytes / parts) throw InputError(row.place + ": more than 2^53 bytes over all ranks");
    Json point = common;
    point["size_B"] = size * parts;
    record.add(point, "time_s", value);
  }
  if (const auto library = option_choice(request, "library", libraries().names()))
    record.library(*library);
  else
    record.note("Which MPI this is does not stand in the file (option library).");
}

class Osu final : public Importer {
 public:
  [[nodiscard]] std::vector<ImportOption> options() const override {
    return {{"src", "device of the first process: gpu0, or cpu0 for buffers in host memory; needed of pairs"},
            {"dst", "device of the second process; needed of pairs"},
            {"between_nodes", "true if the processes ran on two nodes (default: false)"},
            {"gpus", "of collectives: their number on a node, 8, or their numbers in rank order, 0,1,3,2; needed"},
            {"nodes", "of collectives: number of nodes (default: 1)"},
            {"memory", "of collectives: device, where the title does not say CUDA or ROCm and buffers were on GPUs"},
            {"library", "of collectives: the MPI as `linkcast list libraries` names it"},
            {"pairs", "number of pairs, needed for osu_multi_lat; only 1 is read"},
            SameProcesses::option(),
            RecordBuilder::id_option()};
  }
  [[nodiscard]] Json run(const ImportRequest& request) const override;
};

void add_table(const ImportRequest& request, const std::string& path, const OsuTable& log, RecordBuilder& record) {
  record.source("OSU micro-benchmarks " + log.version);
  record.environment("osu_micro_benchmarks", log.version, path);
  if (log.interrupted > 0)
    record.note(fmt::format("Passed over in the table of {}: line {} and others between its rows.", file_name(path),
                            log.interrupted));
  if (!log.program->op.empty()) {
    record.method(log.program->name, "mean over the ranks of the time of one call, each after a barrier");
    add_collectives(request, path, log, record);
    return;
  }
  check_pairs(request, path, log);
  const Json ends = ends_of(request, path, log);
  add_messages(log, ends, record);
  record.method(log.program->name, log.program->latency ? "one-way latency: half a round trip, one message at a time"
                                                        : "time per message in a window of messages");
  if (!log.device_memory)
    record.note(file_name(path) + " does not print which memory held the buffers: options src and dst say it.");
  if (!log.program->latency)
    record.note(log.window > 0
                    ? fmt::format("{}: window of {} messages.", log.program->name, log.window)
                    : "assumed: " + log.program->name + " had its default window of 64 messages; it is not printed.");
}

/// Ranks that commands give their launcher, as such or as those of a node of srun's; nothing: they do not say.
std::optional<std::int64_t> launched_ranks(const TextFile& file) {
  static const std::string kEnd = R"([ =]?(\d{1,6})\s.*osu_)", kSrun = R"((?:^|[\s/])srun\s(?:.*?\s)??)";
  static const Regex ranks(
      R"((?:^|[\s/])(?:mpirun(?:_rsh)?|mpiexec(?:\.\w+)?|orterun|prterun|srun|aprun|ibrun|flux)\s(?:.*?\s)??)"
      R"((?:-np|-n|--np|--ntasks))" +
      kEnd);
  static const Regex nodes(kSrun + "(?:-N|-{2}nodes)" + kEnd), on_node(kSrun + "--ntasks-per-node" + kEnd);
  const auto said = [&](const Regex& argument) -> std::optional<std::int64_t> {
    const auto text = said_by_commands(file, "osu_\\w+", argument);
    return text ? whole_size(*text) : std::nullopt;
  };
  if (const auto all = said(ranks)) return all;
  const auto of_node = said(on_node), count = said(nodes);
  return of_node && count ? std::optional(*of_node * *count) : std::nullopt;
}

/// The number of ranks that a command line gives its launcher is that of the options.
void check_ranks(const ImportRequest& request, const TextFile& file, const OsuTable& log) {
  const auto said = launched_ranks(file);
  const auto due = static_cast<std::int64_t>(gpus_of(request, log).size()) * option_count(request, "nodes").value_or(1);
  if (said && said != due)
    throw InputError(
        fmt::format("option gpus: {} ranks with nodes, {} says {} in the command line", due, file.path(), *said));
}

/// Latencies, bandwidths and collectives are timed differently.
std::string kind_of(const OsuProgram& program) {
  return !program.op.empty() ? "osu-collectives" : program.latency ? "osu-latency" : "osu-bandwidth";
}

Json Osu::run(const ImportRequest& request) const {
  std::string kind;
  std::vector<std::pair<std::string, OsuTable>> tables;  ///< with their files
  std::vector<std::string> notes;
  SameProcesses processes(request);
  for (const std::string& path : request.files) {
    TextFile file(path);
    file.strip_launchers();
    if (!file.other_processes().empty()) notes.push_back(file.other_processes());
    bool any = false;
    while (const std::optional<OsuTable> log = next_osu_table(file, processes)) {
      const std::string its = kind_of(*log->program);
      if (!kind.empty() && kind != its)
        throw InputError(path + ": " + log->program->name +
                         " with tables of other timing: latencies time one message, bandwidths a queue, collectives "
                         "one call: import them one by one");
      kind = its;
      any = true;
      if (!log->program->op.empty()) check_ranks(request, file, *log);
      tables.emplace_back(path, *log);
    }
    if (!any) throw InputError(path + ": is no output of OSU micro-benchmarks: no line '# OSU MPI ... Test v...'");
  }
  RecordBuilder record(request, kind, "osu", kind == "osu-bandwidth" ? "back_to_back" : "single");
  for (const std::string& note : notes) record.note(note);
  for (const auto& [path, log] : tables) add_table(request, path, log, record);
  return record.json();
}

const bool osu_registered = importers().add(
    {"osu",
     "text of osu_latency, osu_bw, osu_bibw, osu_multi_lat or osu_mbw_mr with one pair, or of osu_allreduce and other "
     "collectives: MPI",
     "OSU micro-benchmarks, README, c/mpi/pt2pt and c/mpi/collective of versions 5.7 and 7.x"},
    [] { return std::make_unique<Osu>(); });

}  // namespace

}  // namespace linkcast
