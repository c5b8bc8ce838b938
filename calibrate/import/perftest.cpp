// Text (or JSON, perftest_json.cpp) of perftest's ib_write_bw, ib_read_bw, ib_send_bw and of their latency tests: verbs
// from one node to another.
#include <fmt/format.h>

#include <algorithm>

#include "calibrate/import/perftest_table.hpp"
#include "sim/base/regex.hpp"

namespace linkcast {
namespace {

using perftest::Table;

/// "BW average[MB/sec]" and the like hold blanks: names of columns by their place.
struct PerftestHead {
  std::size_t columns = 0, value = 0, messages = 0;  ///< messages: 0, not printed
};

/// Lines between the title and the table.
void read_setting(const std::string& line, Table& table) {
  static const Regex device(R"(.*\bDevice\s*:\s*(\S+).*)"), qps(R"(.*\bNumber of qps\s*:\s*(\d+).*)"),
      link(R"(.*\bLink type\s*:\s*(\S+).*)"), gpu(R"(.*device name = \[(.+)\].*)"),
      ends(
          R"(\s*(?:.*(Picking (?:device|GPU).*|PCI address.*)|(?:GID|local address|remote address): *((?:LID \w+|[\da-fA-F:]+)).*))"),
      cuda(R"((?i).*(GPU buffer|cuMemAlloc|initializing CUDA|hipMalloc|--use_(?:cuda|rocm)).*)");
  if (const Match match = device.whole(line)) table.device = match[1];
  if (const Match match = qps.whole(line)) table.qps = match[1];
  if (const Match match = link.whole(line)) table.link = match[1];
  if (const Match match = gpu.whole(line)) table.gpu = match[1];
  if (const Match match = ends.whole(line)) table.ends += match[1] + match[2] + ";";
  if (cuda.whole(line)) table.on_gpu = true;
}

PerftestHead read_head(const TextFile& file, Table& table) {
  static const Regex column(
      R"(\s*(#?bytes|#?iterations|BW peak ?\[(?:MB|Gb|MiB)/sec\]|BW average ?\[(MB|MiB|(Gb))/sec\]|MsgRate ?\[Mpps\])"
      R"(|t_\w+ ?\[usec\]|9[0-9.]+% percentile ?\[usec\]|tps average|CPU_Util ?\[%\])(.*))");
  PerftestHead head;
  std::string rest = file.line();
  for (Match match = column.whole(rest); match; match = column.whole(rest)) {
    if (!match[2].empty()) {
      head.value = head.columns;
      table.unit_B = match.has(3) ? perftest::kGigabit_B : perftest::kMiB_B;
    }
    if (match[1].starts_with("MsgRate")) head.messages = head.columns;
    if (table.latency && match[1].starts_with("t_typical")) head.value = head.columns;
    if (table.latency && match[1].starts_with("t_avg") && head.value == 0) {  // with a duration (-D) there is no median
      head.value = head.columns;
      table.mean = true;
    }
    table.mean = table.mean && !match[1].starts_with("t_typical");
    ++head.columns;
    rest = match[4];
  }
  if (rest.find_first_not_of(" \t") != std::string::npos || head.value == 0)
    file.fail(table.latency
                  ? "the head of the table is due: #bytes #iterations t_min[usec] ... t_typical[usec] ..."
                  : "the head of the table is due: #bytes #iterations BW peak[MB/sec] BW average[MB/sec] ...");
  return head;
}

/// Rows up to the line of dashes or another title; between them the program warns of clocks of CPUs.
void read_rows(TextFile& file, const PerftestHead& head, Table& table) {
  static const Regex row(R"(\s*\d+(?:\s.*|))"), end(R"(\s*-{20,}\s*|.*(?:BW|Latency)(?: Test)?\s*)");
  for (; !file.at_end() && !end.whole(file.line()); file.next()) {
    if (!row.whole(file.line())) continue;
    const auto words = words_of(file.line());
    if (words.size() != head.columns)
      file.fail(fmt::format("has {} values for {} columns", words.size(), head.columns));
    file.expect_line_end();
    const auto size = whole_size(words[0]);
    const auto rate = decimal(words[head.value]);
    const auto messages = head.messages > 0 ? decimal(words[head.messages]) : std::nullopt;
    if (size && rate.value_or(0) > 0 && messages &&
        !perftest::fits_messages(static_cast<double>(*size), *rate, table.unit_B, *messages))
      file.fail(fmt::format("{} messages of {} bytes and a rate of {} do not fit each other: a figure is damaged",
                            words[head.messages], words[0], words[head.value]));
    table.rows.push_back({fmt::format("{}:{}", file.path(), file.number()), words[0], words[head.value]});
  }
  if (table.rows.empty()) file.fail("the table has no row");
}

/// The next table; nothing where no title follows.
std::optional<Table> next_table(TextFile& file, SameProcesses& processes) {
  Table before;
  static const Regex title(R"(\s*(RDMA_Write|RDMA_Read|Send|Atomic_\w+)( Post List)?( Bidirectional)?)"
                           R"(( Post List)? (BW|Latency|BW Test|Latency Test)( Test)?\s*)");
  Match match;
  for (; !file.at_end() && !(match = title.whole(file.line())); file.next()) {
    read_setting(file.line(), before);
    processes.see(file.line(), "ib_");
  }
  if (file.at_end()) return std::nullopt;
  Table table;
  table.on_gpu = before.on_gpu;  // it says so before the title
  table.gpu = before.gpu;
  table.ends = before.ends;
  const int line = file.number();
  table.test = match[1];
  table.bidirectional = match.has(3);
  table.latency = match[5].starts_with("Latency");
  for (file.next();; file.next()) {
    file.expect_more("the head of the table, '#bytes ...'");
    if (title.whole(file.line())) file.fail("the program before this line has no table");
    if (file.line().find("#bytes") != std::string::npos) break;
    read_setting(file.line(), table);
  }
  processes.begin_run(file.path(), line, "src and dst", table.ends.empty() ? "" : table.device + ";" + table.ends);
  const PerftestHead head = read_head(file, table);
  file.next();
  read_rows(file, head, table);
  return table;
}

void add_rows(const Table& table, const Json& ends, RecordBuilder& record) {
  for (const Table::Row& row : table.rows) {
    const auto size = whole_size(row.size);
    const auto value = decimal(row.value);
    if (!size || *size < 1) throw InputError(row.place + ": size '" + row.size + "' is not a whole number above 0");
    if (!value || !(*value > 0)) throw InputError(row.place + ": '" + row.value + "' is not a number above 0");
    Json point = ends;
    if (table.bidirectional) point["bidirectional"] = true;
    point["size_B"] = *size;
    if (table.bidirectional) point["payload_count"] = 2;
    constexpr double kMicro = 1e-6;
    if (table.latency)
      record.add(point, "time_s", *value * kMicro);
    else
      record.add(point, "bandwidth_Bps", *value * table.unit_B);
  }
}

void add_table(const ImportRequest& request, const std::string& path, const Table& table, RecordBuilder& record) {
  const MessageEnds ends = message_ends(request, true);
  if (!ends.between_nodes)
    throw InputError("option between_nodes: verbs in a loop on one node are not what schema measurement/1 has");
  check_buffer("src", ends.source, table.on_gpu, path);
  check_buffer("dst", ends.target, table.on_gpu, path);
  const bool gpus = ends.source.starts_with("gpu") && ends.target.starts_with("gpu");
  add_rows(table,
           {{"transport", gpus ? "gpudirect_rdma" : "mpi"},
            {"source", ends.source},
            {"target", ends.target},
            {"between_nodes", true}},
           record);
  record.source("perftest, version not printed");
  if (!table.device.empty()) record.environment("nic", table.device, path);
  if (!table.link.empty()) record.environment("link_type", table.link, path);
  if (!table.qps.empty()) record.environment("queue_pairs", table.qps, path);
  if (!table.gpu.empty()) record.environment("gpu", table.gpu, path);
  const std::string name = table.test + (table.latency ? " latency" : " bandwidth");
  record.method(name, table.mean      ? "mean time of one message, one direction"
                      : table.latency ? "typical time of one message, one direction"
                                      : "average rate of a queue of messages, of all queue pairs together");
  if (!gpus) record.note("assumed: verbs between hosts are compared as messages of MPI, whose start-up is longer.");
  if (table.test == "RDMA_Read") record.note("RDMA_Read: source is the memory that is read.");
  if (!table.on_gpu)
    record.note(file_name(path) + " does not say that buffers were in GPU memory: options src and dst say where.");
  for (const std::string& note : table.notes) record.note(note);
  if (!table.latency) record.note("MB/sec of perftest are 2^20 bytes, Gb/sec 10^9 bits.");
}

class Perftest final : public Importer {
 public:
  [[nodiscard]] std::vector<ImportOption> options() const override {
    return {{"src", "device whose memory the bytes come from: gpu0, or cpu0 for host memory; needed"},
            {"dst", "device of the other node whose memory they go to; needed"},
            {"between_nodes", "true, the only value that is read"},
            {"test", "of JSON that does not say it: 'RDMA_Write BW', 'RDMA_Read Bidirectional BW', 'Send Latency'"},
            {"unit", "of JSON without message rates: Gb/sec or MB/sec (of 2^20 bytes)"},
            SameProcesses::option(),
            RecordBuilder::id_option()};
  }
  [[nodiscard]] Json run(const ImportRequest& request) const override {
    std::vector<std::pair<std::string, Table>> tables;
    std::vector<std::string> notes;
    SameProcesses processes(request);
    for (const std::string& path : request.files) {
      TextFile file(path);
      std::vector<Table> of_json = perftest::json_tables(request, file, processes);
      const std::size_t before = tables.size();
      for (Table& table : of_json) tables.emplace_back(path, std::move(table));
      file.strip_launchers();
      if (!file.other_processes().empty()) notes.push_back(file.other_processes());
      while (const auto table = next_table(file, processes)) {
        if (!of_json.empty())
          file.fail("a table of perftest's text and JSON of it in one file, of one run or of two: keep one of them");
        tables.emplace_back(path, *table);
      }
      if (tables.size() == before)
        throw InputError(path + ": is no output of perftest: no title 'RDMA_Write BW Test' or the like");
    }
    const bool latency = tables.front().second.latency;
    for (const auto& [path, table] : tables)
      if (table.latency != latency)
        throw InputError(path + ": bandwidths and latencies are timed differently: import them one by one");
    RecordBuilder record(request, latency ? "perftest-latency" : "perftest", "perftest",
                         latency ? "single" : "back_to_back");
    for (const std::string& note : notes) record.note(note);
    for (const auto& [path, table] : tables) add_table(request, path, table, record);
    return record.json();
  }
};

const bool perftest_registered = importers().add(
    {"perftest",
     "text or JSON of ib_write_bw, ib_read_bw, ib_send_bw, ib_write_lat and the like: verbs between two nodes",
     "linux-rdma/perftest src/perftest_parameters.c and .h, versions 4.x to 6.x; recalled"},
    [] { return std::make_unique<Perftest>(); });

}  // namespace
}  // namespace linkcast
