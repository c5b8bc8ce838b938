#include "calibrate/import/p2p_log.hpp"

#include <algorithm>

#include "calibrate/import/decimal.hpp"
#include "sim/records/input_error.hpp"
#include "sim/units/regex.hpp"

namespace linkcast {
namespace {

constexpr const char* kHeader = "[P2P (Peer-to-Peer) GPU Bandwidth Latency Test]";
constexpr const char* kAccess = "P2P Connectivity Matrix";

/// The lines before the first matrix. Only the devices matter; who can reach whom comes again in the matrix.
std::vector<std::string> read_devices(TextFile& file) {
  static const Regex device(R"(Device: (\d+), (.+), pciBusID: \w+, pciDeviceID: \w+, pciDomainID: ?\w+\s*)");
  std::vector<std::string> gpus;
  for (;; file.next()) {
    file.expect_more(std::string("'") + kAccess + "'");
    if (file.starts_with(kAccess)) return gpus;
    if (file.starts_with(kHeader)) file.fail(std::string("the run before this line ends before '") + kAccess + "'");
    if (!file.starts_with("Device: ")) continue;
    const Match match = device.whole(file.line());
    if (!match) file.fail("is no line 'Device: 0, NAME, pciBusID: ...'");
    if (whole_number(match[1]) != static_cast<int>(gpus.size()))
      file.fail("device " + match[1] + " stands where device " + std::to_string(gpus.size()) + " is due");
    gpus.push_back(match[2]);
  }
}

void check_size(const TextFile& file, const P2pRun& run, const MatrixTable& table, const std::string& name) {
  const auto size = static_cast<int>(run.gpus.size());
  if (table.columns != size)
    file.fail_at(table.lines.front() - 1,
                 name + ": has " + std::to_string(table.columns) + " columns for " + std::to_string(size) + " devices");
  if (table.rows() != size)
    file.fail_at(table.lines.back(),
                 name + ": ends after " + std::to_string(table.rows()) + " of " + std::to_string(size) + " rows");
}

void read_access(TextFile& file, P2pRun& run) {
  file.next();
  const MatrixTable table = read_matrix(file, "D\\D", kAccess);
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
  const Match match = title.whole(file.line());
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
  check_size(file, run, matrix.table, name);
  if (by_processor) {
    file.skip_blank();
    check_size(file, run, read_matrix(file, "CPU", name + ", CPU"), name + ", CPU");
    run.cpu_times = true;
  }
  run.matrices.push_back(matrix);
}

/// The first kind of matrix that every run prints and this one lacks; empty if it is whole.
std::string missing(const P2pRun& run) {
  for (const bool latency : {false, true})
    for (const bool bidirectional : {false, true})
      for (const bool peer_on : {false, true}) {
        if (latency && bidirectional) continue;
        const bool there = std::any_of(run.matrices.begin(), run.matrices.end(), [&](const P2pMatrix& m) {
          return m.latency == latency && m.bidirectional == bidirectional && m.peer_on == peer_on;
        });
        if (!there)
          return std::string(latency         ? ""
                             : bidirectional ? "Bidirectional "
                                             : "Unidirectional ") +
                 "P2P=" + (peer_on ? "Enabled" : "Disabled") + (latency ? " Latency" : " Bandwidth") + " Matrix";
      }
  return "";
}

P2pRun read_run(TextFile& file) {
  P2pRun run;
  file.next();
  run.gpus = read_devices(file);
  if (run.gpus.empty()) file.fail("no line 'Device: 0, ...' before it");
  read_access(file, run);
  for (;;) {
    file.skip_blank();
    P2pMatrix matrix;
    if (!file.at_end() && read_title(file, matrix)) {
      read_figures(file, run, matrix);
      continue;
    }
    const std::string lacking = missing(run);
    if (lacking.empty()) return run;
    file.expect_more("'" + lacking + "'");
    file.fail("not understood: the title of a matrix is due, '" + lacking + "' is missing");
  }
}

}  // namespace

bool P2pRun::says_way() const {
  return std::any_of(matrices.begin(), matrices.end(), [](const P2pMatrix& m) { return !m.way.empty(); });
}

std::vector<P2pRun> read_p2p_runs(TextFile& file) {
  std::vector<P2pRun> runs;
  file.expect_short_lines();
  while (!file.at_end()) {
    if (file.starts_with(kHeader))
      runs.push_back(read_run(file));
    else
      file.next();
  }
  if (runs.empty())
    throw InputError(file.path() + ": is no output of p2pBandwidthLatencyTest: it has no line '" + kHeader + "'");
  return runs;
}

}  // namespace linkcast
