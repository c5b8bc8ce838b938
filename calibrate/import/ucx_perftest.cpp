// Text of ucx_perftest: messages of UCX, on which MPI libraries send theirs.
#include <fmt/format.h>

#include "calibrate/import/importer.hpp"
#include "calibrate/import/record_builder.hpp"
#include "calibrate/import/text_file.hpp"
#include "sim/base/regex.hpp"

namespace linkcast {
namespace {

// source: UCX src/tools/perf/lib/libperf.c: bandwidth.total_average / 2^20
constexpr double kUcxMiB_B = 1048576;
constexpr std::size_t kOverallTime = 4, kOverallRate = 6, kUcxColumns = 9;  // of the row Final:

struct UcxRun {
  std::string place, test, size, time, rate;
  std::optional<bool> send_gpu{}, recv_gpu{};
  bool latency = false;
};

bool in_gpu_memory(const std::string& memory) { return memory.starts_with("cuda") || memory.starts_with("rocm"); }

/// Settings of the boxes in front of the tables; they hold until another box says otherwise.
void read_box(const std::string& line, UcxRun& run) {
  static const Regex said(R"(\s*\|\s*(?:(Test)|(Message size)|(Send memory)|(Recv memory)):\s+(.*?)\s*\|\s*)");
  static const Regex what(R"(.*\|\s*(?:(latency)|overhead) \(usec\).*)");
  if (const Match match = said.whole(line)) {
    if (match.has(1)) run.test = match[5];
    if (match.has(2)) run.size = match[5];
    if (match.has(3)) run.send_gpu = in_gpu_memory(match[5]);
    if (match.has(4)) run.recv_gpu = in_gpu_memory(match[5]);
  }
  if (const Match match = what.whole(line)) run.latency = match.has(1);
}

std::vector<UcxRun> read_runs(TextFile& file, SameProcesses& processes) {
  std::vector<UcxRun> runs;
  UcxRun run;
  bool table = false;
  for (; !file.at_end(); file.next()) {
    processes.see(file.line(), "ucx_perftest");
    if (file.line().find("| API:") != std::string::npos) processes.begin_run(file.path(), file.number(), "src and dst");
    read_box(file.line(), run);
    table = table || file.line().find("message rate (msg/s)") != std::string::npos;
    const auto words = words_of(file.line());
    if (words.empty() || words.front() != "Final:") continue;
    if (!table) file.fail("the head of the table, with latency or overhead (usec), does not stand above");
    if (words.size() != kUcxColumns)
      file.fail(fmt::format("has {} values for {} columns", words.size() - 1, kUcxColumns - 1));
    file.expect_line_end();
    run.place = fmt::format("{}:{}", file.path(), file.number());
    run.time = words[kOverallTime];
    run.rate = words[kOverallRate];
    runs.push_back(run);
  }
  return runs;
}

void add_run(const ImportRequest& request, const UcxRun& run, const std::string& path, RecordBuilder& record) {
  const MessageEnds ends = message_ends(request, false);
  check_buffer("src", ends.source, run.send_gpu, path);
  check_buffer("dst", ends.target, run.recv_gpu, path);
  const auto said = option_bytes(request, "size");
  const auto printed = whole_size(run.size);
  if (printed == 0) throw InputError(run.place + ": messages of size 0 carry nothing: no schema has them");
  if (!said && !printed)
    throw InputError("option size: is needed, " + path + " does not print the message size of every run: size=8MiB");
  if (said && printed && *said != *printed)
    throw InputError(fmt::format("option size: is {}, {} is of {} bytes", *said, run.place, run.size));
  Json point{{"transport", "mpi"}, {"source", ends.source}, {"target", ends.target}};
  if (ends.between_nodes) point["between_nodes"] = true;
  point["size_B"] = said ? *said : *printed;
  constexpr double kMicro = 1e-6;
  const std::string& text = run.latency ? run.time : run.rate;
  const auto value = decimal(text);
  if (!value || !(*value > 0)) throw InputError(run.place + ": '" + text + "' is not a number above 0");
  if (run.latency)
    record.add(point, "time_s", *value * kMicro);
  else
    record.add(point, "bandwidth_Bps", *value * kUcxMiB_B);
  if (!run.test.empty())
    record.method(run.test, run.latency ? "one-way latency: half a round trip" : "rate of a window of messages");
  if (!run.send_gpu || !run.recv_gpu)
    record.note(file_name(path) + " does not print which memory held the buffers: options src and dst say it.");
}

class UcxPerftest final : public Importer {
 public:
  [[nodiscard]] std::vector<ImportOption> options() const override {
    return {{"src", "device of the process that sends: gpu0, or cpu0 for buffers in host memory; needed"},
            {"dst", "device of the other process; needed"},
            {"between_nodes", "true if the processes ran on two nodes (default: false)"},
            SameProcesses::option(),
            {"size", "of a message with its unit, 8MiB, where the box 'Message size' is not in the text"},
            RecordBuilder::id_option()};
  }
  [[nodiscard]] Json run(const ImportRequest& request) const override {
    std::vector<std::pair<std::string, UcxRun>> runs;
    std::vector<std::string> notes;
    SameProcesses processes(request);
    for (const std::string& path : request.files) {
      TextFile file(path);
      file.strip_launchers();
      if (!file.other_processes().empty()) notes.push_back(file.other_processes());
      const std::vector<UcxRun> found = read_runs(file, processes);
      if (found.empty()) throw InputError(path + ": is no output of ucx_perftest: no row 'Final:'");
      for (const UcxRun& run : found) runs.emplace_back(path, run);
    }
    const bool latency = runs.front().second.latency;
    for (const auto& [path, run] : runs)
      if (run.latency != latency)
        throw InputError(run.place + ": bandwidths and latencies are timed differently: import them one by one");
    RecordBuilder record(request, latency ? "ucx-latency" : "ucx-bandwidth", "ucx_perftest",
                         latency ? "single" : "back_to_back");
    record.source("ucx_perftest, version not printed");
    record.note("assumed: messages of UCX are compared as those of an MPI that sends by it.");
    if (!latency) record.note("MB/s of ucx_perftest are 2^20 bytes.");
    for (const std::string& note : notes) record.note(note);
    for (const auto& [path, run] : runs) add_run(request, run, path, record);
    return record.json();
  }
};

const bool ucx_perftest_registered =
    importers().add({"ucx_perftest", "text of ucx_perftest: latency or bandwidth of messages, by its row 'Final:'",
                     "openucx/ucx src/tools/perf/perftest.c and lib/libperf.c, versions 1.10 to 1.18; recalled"},
                    [] { return std::make_unique<UcxPerftest>(); });

}  // namespace
}  // namespace linkcast
