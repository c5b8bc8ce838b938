#include "calibrate/import/p2p_log.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "calibrate/import/decimal.hpp"
#include "sim/base/input_error.hpp"
#include "sim/base/regex.hpp"

namespace linkcast {
namespace {

constexpr const char* kHeader = "[P2P (Peer-to-Peer) GPU Bandwidth Latency Test]";
constexpr const char* kAccess = "P2P Connectivity Matrix";

std::string_view unindented(std::string_view line) {
  return line.substr(std::min(line.find_first_not_of(" \t"), line.size()));
}

void read_device(const TextFile& file, P2pRun& run) {
  static const Regex device(R"(Device: (\d+), (.+), pciBusID: \w+, pciDeviceID: \w+, pciDomainID: ?\w+\s*)");
  const Match match = device.whole(unindented(file.line()));
  if (!match) file.fail("is no line 'Device: 0, NAME, pciBusID: ...'");
  if (whole_number(match[1]) != static_cast<int>(run.gpus.size()))
    file.fail(fmt::format("device {} stands where device {} is due", match[1], run.gpus.size()));
  run.gpus.push_back(match[2]);
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
      if (cell != "0" && cell != "1") file.fail_at(table.lines[row], "'" + cell + "' is not 0 or 1");
      run.access.back().push_back(cell == "1");
    }
  }
}

/// A title, or nothing if the line is none.
bool read_title(const TextFile& file, P2pMatrix& matrix) {
  static const Regex title(
      R"((Unidirectional |Bidirectional )?P2P=(Disabled|Enabled) (Bandwidth|Latency)( \(P2P (Writes|Reads)\))? Matrix \((GB/s|us)\)\s*)");
  const Match match = title.whole(unindented(file.line()));
  if (!match) return false;
  matrix.latency = match[3] == "Latency";
  if (matrix.latency == match.has(1) || matrix.latency != (match[6] == "us")) return false;
  matrix.bidirectional = match[1] == "Bidirectional ";
  matrix.peer_on = match[2] == "Enabled";
  matrix.way = match[5];
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

}  // namespace

bool P2pRun::says_way() const {
  return std::any_of(matrices.begin(), matrices.end(), [](const P2pMatrix& m) { return !m.way.empty(); });
}

std::vector<P2pRun> read_p2p_runs(TextFile& file) { return P2pReader(file).read(); }

}  // namespace linkcast
