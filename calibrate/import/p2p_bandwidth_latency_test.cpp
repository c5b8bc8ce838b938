// Matrices of the CUDA sample p2pBandwidthLatencyTest become copies between GPUs.
// The program prints neither the size of a copy, nor who moves it, nor its own version: options say it, or a note of
// the record says what was assumed.
#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <string>
#include <vector>

#include "calibrate/import/command_lines.hpp"
#include "calibrate/import/importer.hpp"
#include "calibrate/import/record_builder.hpp"
#include "calibrate/import/text_file.hpp"
#include "sim/base/input_error.hpp"
#include "sim/base/regex.hpp"
#include "sim/records/measurement.hpp"

namespace linkcast {
namespace {

// Output of p2pBandwidthLatencyTest, text tables.

/// One matrix of figures.
struct P2pMatrix {
  bool latency = false, bidirectional = false, peer_on = false;
  std::string way;  ///< Writes or Reads, as the title says; empty: it does not say
  MatrixTable table;
};

/// One run of the program.
struct P2pRun {
  std::vector<std::string> gpus;          ///< names, by printed number; empty: not printed
  std::vector<std::string> buses{};       ///< of them
  std::string place{};                    ///< of the first device
  int devices = 0;                        ///< where no name is printed: as many as the first matrix has
  std::vector<std::vector<bool>> access;  ///< [row][column]: the program may enable peer access; empty: not printed
  std::vector<P2pMatrix> matrices;
  std::vector<std::string> missing{};  ///< kinds of matrices that the program prints and the file lacks
  [[nodiscard]] int size() const { return gpus.empty() ? devices : static_cast<int>(gpus.size()); }
  bool cpu_times = false;               ///< CPU matrices were there and are not kept
  [[nodiscard]] bool says_way() const;  ///< a program that offers writes and reads, since about CUDA 10
};

constexpr const char* kHeader = "[P2P (Peer-to-Peer) GPU Bandwidth Latency Test]";
constexpr const char* kAccess = "P2P Connectivity Matrix";

std::string_view unindented(std::string_view line) {
  return line.substr(std::min(line.find_first_not_of(" \t"), line.size()));
}

void read_device(const TextFile& file, P2pRun& run) {
  static const Regex device(R"(Device: (\d+), (.+), pciBusID: (\w+), pciDeviceID: (\w+), pciDomainID: ?(\w+)\s*)");
  const Match match = device.whole(unindented(file.line()));
  if (!match) file.fail("is no line 'Device: 0, NAME, pciBusID: ...'");
  if (whole_number(match[1]) != static_cast<int>(run.gpus.size()))
    file.fail(fmt::format("device {} stands where device {} is due", match[1], run.gpus.size()));
  if (run.gpus.empty()) run.place = fmt::format("{}:{}", file.path(), file.number());
  run.gpus.push_back(match[2]);
  run.buses.push_back(match[5] + ":" + match[3] + ":" + match[4]);
}

void check_size(const TextFile& file, const P2pRun& run, const MatrixTable& table, const std::string& name) {
  const int size = run.size();
  if (table.columns != size)
    file.fail_at(table.lines.front() - 1, fmt::format("{}: has {} columns for {} devices", name, table.columns, size));
  if (table.rows() != size)
    file.fail_at(table.lines.back(), fmt::format("{}: ends after {} of {} rows", name, table.rows(), size));
}

void read_access(TextFile& file, P2pRun& run) {
  file.next();
  const MatrixTable table = read_matrix(file, "D\\D", kAccess);
  run.devices = run.size() > 0 ? run.size() : table.columns;
  check_size(file, run, table, kAccess);
  for (std::size_t row = 0; row < table.cells.size(); ++row) {
    run.access.emplace_back();
    for (const std::string& cell : table.cells[row]) {
      static const std::map<std::string, bool> flags = {{"0", false}, {"1", true}};
      const auto flag = flags.find(cell);
      if (flag == flags.end()) file.fail_at(table.lines[row], "'" + cell + "' is not 0 or 1");
      run.access.back().push_back(flag->second);
    }
  }
}

/// A title, or nothing if the line is none.
bool read_title(const TextFile& file, P2pMatrix& matrix) {
  static const Regex title(
      R"((Unidirectional |(Bidirectional ))?P2P=(?:Disabled|(Enabled)) (?:Bandwidth|(Latency))( \(P2P (Writes|Reads)\))? Matrix \((?:GB/s|(us))\)\s*)");
  const Match match = title.whole(unindented(file.line()));
  if (!match) return false;
  matrix.latency = match.has(4);
  if (matrix.latency == match.has(1) || matrix.latency != match.has(7)) return false;
  matrix.bidirectional = match.has(2);
  matrix.peer_on = match.has(3);
  matrix.way = match[6];
  return true;
}

/// The matrix below a title; of latencies the GPU's, since the CPU's is the time to queue a copy.
void read_figures(TextFile& file, P2pRun& run, P2pMatrix& matrix) {
  const std::string name = file.line();
  file.next();
  file.skip_blank();
  file.expect_more("the matrix of '" + name + "'");
  const auto words = words_of(file.line());
  const bool by_processor = matrix.latency && !words.empty() && words.front() == "GPU";
  matrix.table = read_matrix(file, by_processor ? "GPU" : "D\\D", name);
  if (run.size() == 0) run.devices = matrix.table.columns;
  check_size(file, run, matrix.table, name);
  if (by_processor) {
    file.skip_blank();
    check_size(file, run, read_matrix(file, "CPU", name + ", CPU"), name + ", CPU");
    run.cpu_times = true;
  }
  run.matrices.push_back(matrix);
}

/// The kinds of matrices that every run prints.
std::vector<std::string> kinds_missing(const P2pRun& run) {
  std::vector<std::string> missing;
  for (const bool latency : {false, true})
    for (const bool bidirectional : {false, true})
      for (const bool peer_on : {false, true}) {
        if (latency && bidirectional) continue;
        const bool there = std::any_of(run.matrices.begin(), run.matrices.end(), [&](const P2pMatrix& m) {
          return m.latency == latency && m.bidirectional == bidirectional && m.peer_on == peer_on;
        });
        if (!there)
          missing.push_back(std::string(latency         ? ""
                                        : bidirectional ? "Bidirectional "
                                                        : "Unidirectional ") +
                            "P2P=" + (peer_on ? "Enabled" : "Disabled") + (latency ? " Latency" : " Bandwidth") +
                            " Matrix");
      }
  return missing;
}

class P2pReader {
 public:
  explicit P2pReader(TextFile& file) : file_(file) {}

  std::vector<P2pRun> read() {
    file_.strip_launchers();
    while (!file_.at_end()) read_line();
    end_run();
    if (runs_.empty())
      throw InputError(file_.path() + ": is no output of p2pBandwidthLatencyTest: it has no title 'Unidirectional " +
                       "P2P=Disabled Bandwidth Matrix (GB/s)' or the like");
    return std::move(runs_);
  }

 private:
  void end_run() {
    if (!run_.matrices.empty()) {
      run_.missing = kinds_missing(run_);
      runs_.push_back(run_);
    }
    run_ = {};
  }

  void read_line() {
    const std::string_view line = unindented(file_.line());
    P2pMatrix matrix;
    if (line.starts_with(kHeader)) end_run();
    if (line.starts_with("Device: ")) read_device(file_, run_);
    if (line.starts_with(kAccess)) {
      if (!run_.matrices.empty()) end_run();  // a run whose first lines were cut off
      read_access(file_, run_);
    } else if (read_title(file_, matrix)) {
      read_figures(file_, run_, matrix);
    } else {
      if (line.starts_with("D\\D")) file_.fail("a matrix without a title that says what it is");
      file_.next();
    }
  }

  TextFile& file_;
  std::vector<P2pRun> runs_;
  P2pRun run_;
};

bool P2pRun::says_way() const {
  return std::any_of(matrices.begin(), matrices.end(), [](const P2pMatrix& m) { return !m.way.empty(); });
}

/// The runs in a file; what stands around them is passed over.
/// @throws InputError  no matrix, or one that is not whole
std::vector<P2pRun> read_p2p_runs(TextFile& file) { return P2pReader(file).read(); }

constexpr std::int64_t kInt_B = 4;
// source: NVIDIA/cuda-samples p2pBandwidthLatencyTest.cu: numElems 40000000 since about CUDA 11; 10000000 in the CUDA
// toolkits whose titles do not say writes or reads. Latency: 4 ints; 1 byte in those older ones.
constexpr std::int64_t kElements = 40000000, kOldElements = 10000000;
constexpr std::int64_t kLatency_B = 16, kOldLatency_B = 1;

struct PrintedRun {
  std::optional<std::int64_t> elements, latency_B;
  std::optional<Spelled<CopyUnit>> engine;
  std::optional<bool> no_access;
};

class Matrices {
 public:
  Matrices(const ImportRequest& request, const PrintedRun& settings, RecordBuilder& record)
      : settings_(settings), devices_(request), record_(record) {}

  void add(const TextFile& file, const P2pRun& run);

 private:
  void add(const TextFile& file, const P2pRun& run, const P2pMatrix& matrix);
  [[nodiscard]] Json point(const P2pRun& run, const P2pMatrix& matrix, int row, int column) const;
  void note_sizes(const P2pRun& run);
  void note_meaning(const P2pRun& run);

  const PrintedRun& settings_;
  DeviceNames devices_;
  RecordBuilder& record_;
  PrintedBuses buses_{};
};

std::int64_t size_of(const PrintedRun& settings, const P2pRun& run, bool latency) {
  if (latency) return settings.latency_B.value_or(run.says_way() ? kLatency_B : kOldLatency_B);
  return kInt_B * settings.elements.value_or(run.says_way() ? kElements : kOldElements);
}

void Matrices::note_sizes(const P2pRun& run) {
  const auto size = [&](bool latency) { return std::to_string(size_of(settings_, run, latency)); };
  if (!settings_.elements)
    record_.note(run.says_way()
                     ? "assumed: bandwidth copies are " + size(false) +
                           " bytes, as in the CUDA samples since about CUDA 11; 40000000 in older ones, and the "
                           "program does not print it. Option elements says otherwise."
                     : "assumed: bandwidth copies are " + size(false) +
                           " bytes, as in the CUDA samples whose titles do not say writes or reads; the program does "
                           "not print it. Option elements says otherwise.");
  if (!settings_.latency_B)
    record_.note("assumed: latency copies are " + size(true) +
                 " bytes, as in the CUDA samples with these titles; the program does not print it. Option "
                 "latency_bytes says otherwise.");
}

void Matrices::note_meaning(const P2pRun& run) {
  if (!settings_.engine)
    record_.note("assumed: copy engines moved the data, not kernels (--sm_copy). Option engine says otherwise.");
  if (!run.says_way())
    record_.note(
        "assumed: the printed row is the target, which pulls: these titles are those of CUDA samples before writes and "
        "reads were told apart.");
  record_.note("staged: peer access off or impossible, the driver copies through host memory.");
  record_.note("local bandwidth counts the payload twice, read and write.");
  record_.note("bidirectional: the program prints the sum of both directions, not who moves them.");
  if (run.cpu_times) record_.note("Left out: the CPU matrices, which are the time to queue a copy.");
  record_.note(devices_.note());
}

Json Matrices::point(const P2pRun& run, const P2pMatrix& matrix, int row, int column) const {
  const bool pulled = run.says_way() ? matrix.way == "Reads" : true;  // the GPU of the row runs the copy
  const bool access = run.access.empty() ? !settings_.no_access.value_or(false)
                                         : run.access[static_cast<std::size_t>(row)][static_cast<std::size_t>(column)];
  const bool peer = row != column && matrix.peer_on && access;
  Json point{{"transport", row == column ? "local"
                           : peer        ? "peer"
                                         : "staged"},
             {"source", devices_.id(pulled ? column : row)},
             {"target", devices_.id(pulled ? row : column)}};
  if (peer && !matrix.bidirectional) point["direction"] = pulled ? "read" : "write";
  if (matrix.bidirectional) point["bidirectional"] = true;
  point["engine"] = peer ? settings_.engine.value_or(CopyUnit::kCopyEngine) : Spelled(CopyUnit::kCopyEngine);
  point["size_B"] = size_of(settings_, run, matrix.latency);
  const int payloads = (row == column ? 2 : 1) * (matrix.bidirectional ? 2 : 1);
  if (!matrix.latency && payloads > 1) point["payload_count"] = payloads;
  return point;
}

void Matrices::add(const TextFile& file, const P2pRun& run, const P2pMatrix& matrix) {
  for (int row = 0; row < matrix.table.rows(); ++row)
    for (int column = 0; column < matrix.table.columns; ++column) {
      const double value = positive_cell(file, matrix.table, row, column, matrix.latency ? -6 : 9);
      record_.add(point(run, matrix, row, column), matrix.latency ? "time_s" : "bandwidth_Bps", value);
    }
}

void Matrices::add(const TextFile& file, const P2pRun& run) {
  if (!run.gpus.empty()) record_.environment("gpus", run.gpus, file.path());
  for (std::size_t i = 0; i < run.buses.size(); ++i) buses_.add("", static_cast<int>(i), run.buses[i], run.place);
  if (run.access.empty() && !settings_.no_access)
    record_.note(
        "assumed: peer access between all GPUs, since 'P2P Connectivity Matrix' is not there; option access=none "
        "says otherwise.");
  for (const std::string& kind : run.missing) record_.note("Not in " + file_name(file.path()) + ": " + kind + ".");
  note_sizes(run);
  note_meaning(run);
  for (const P2pMatrix& matrix : run.matrices) add(file, run, matrix);
}

/// source: NVIDIA/cuda-samples p2pBandwidthLatencyTest.cu: --sm_copy, --numElems=
void read_command(const TextFile& file, PrintedRun& settings, RecordBuilder& record) {
  static const Regex kernels(R"(\s-{1,2}(sm_copy)\b)"), elements(R"(\s-{1,2}numElems[ =](\d{1,9})\b)");
  const auto note = [&](const std::string& what) { record.note(what + ", as the command line says."); };
  if (!settings.engine && said_by_commands(file, "p2pBandwidthLatencyTest", kernels)) {
    settings.engine = CopyUnit::kSm;
    note("Kernels moved the data");
  }
  if (const auto said = said_by_commands(file, "p2pBandwidthLatencyTest", elements); said && !settings.elements) {
    settings.elements = whole_size(*said);
    note("Copies of bandwidths are " + *said + " ints");
  }
}

class P2pBandwidthLatencyTest final : public Importer {
 public:
  [[nodiscard]] std::vector<ImportOption> options() const override {
    return {{"elements", "--numElems of the run (default: 40000000; 10000000 if no title says writes or reads)"},
            {"latency_bytes", "size of a latency copy (default: 16; 1 if no title says writes or reads)"},
            {"access", "all or none: peer access between GPUs, where no connectivity matrix is there (default: all)"},
            {"engine", "sm if the run had --sm_copy (default: copy_engine)"},
            DeviceNames::option(),
            RecordBuilder::id_option()};
  }

  [[nodiscard]] Json run(const ImportRequest& request) const override {
    RecordBuilder record(request, "p2p-bandwidth-latency-test", "p2p_copy", "back_to_back");
    PrintedRun settings{option_count(request, "elements"), option_count(request, "latency_bytes"),
                        option_spelled<CopyUnit>(request, "engine"), option_second(request, "access", "all", "none")};
    record.source("p2pBandwidthLatencyTest of the CUDA samples, version not printed");
    record.method("statistic", "printed means of one queue of copies");
    record.method("clock", "GPU events around a queue of copies: time per copy, not a one-way latency");
    Matrices matrices(request, settings, record);
    for (const std::string& path : request.files) {
      TextFile file(path);
      const auto runs = read_p2p_runs(file);
      const PrintedRun before = settings;
      read_command(file, settings, record);
      for (const P2pRun& run : runs) matrices.add(file, run);
      settings = before;
      if (!file.other_processes().empty()) record.note(file.other_processes());
    }
    return record.json();
  }
};

const bool p2p_bandwidth_latency_test_registered = importers().add(
    {"p2pBandwidthLatencyTest", "text of the CUDA sample: bandwidths and latencies between GPUs to copies",
     "NVIDIA/cuda-samples, p2pBandwidthLatencyTest.cu"},
    [] { return std::make_unique<P2pBandwidthLatencyTest>(); });

}  // namespace

}  // namespace linkcast
