// Matrices of the CUDA sample p2pBandwidthLatencyTest become copies between GPUs.
// The program prints neither the size of a copy, nor who moves it, nor its own version: options say it, or a note of
// the record says what was assumed.
#include "calibrate/import/device_names.hpp"
#include "calibrate/import/option_values.hpp"
#include "calibrate/import/p2p_log.hpp"
#include "calibrate/import/record_builder.hpp"

namespace linkcast {
namespace {

constexpr std::int64_t kInt_B = 4;
// source: NVIDIA/cuda-samples p2pBandwidthLatencyTest.cu: numElems 40000000 since about CUDA 11; 10000000 in the CUDA
// toolkits whose titles do not say writes or reads. Latency: 4 ints; 1 byte in those older ones.
constexpr std::int64_t kElements = 40000000, kOldElements = 10000000;
constexpr std::int64_t kLatency_B = 16, kOldLatency_B = 1;

struct PrintedRun {
  std::optional<std::int64_t> elements, latency_B;
  std::optional<std::string> engine, access;
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
  const bool access = run.access.empty() ? settings_.access.value_or("all") == "all"
                                         : run.access[static_cast<std::size_t>(row)][static_cast<std::size_t>(column)];
  const bool peer = row != column && matrix.peer_on && access;
  Json point{{"transport", row == column ? "local"
                           : peer        ? "peer"
                                         : "staged"},
             {"source", devices_.id(pulled ? column : row)},
             {"target", devices_.id(pulled ? row : column)}};
  if (peer && !matrix.bidirectional) point["direction"] = pulled ? "read" : "write";
  if (matrix.bidirectional) point["bidirectional"] = true;
  point["engine"] = peer ? settings_.engine.value_or("ce") : "ce";
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
  if (run.access.empty() && !settings_.access)
    record_.note(
        "assumed: peer access between all GPUs, since 'P2P Connectivity Matrix' is not there; option access=none "
        "says otherwise.");
  for (const std::string& kind : run.missing) record_.note("Not in " + file_name(file.path()) + ": " + kind + ".");
  note_sizes(run);
  note_meaning(run);
  for (const P2pMatrix& matrix : run.matrices) add(file, run, matrix);
}

class P2pBandwidthLatencyTest final : public Importer {
 public:
  [[nodiscard]] std::vector<ImportOption> options() const override {
    return {{"elements", "--numElems of the run (default: 40000000; 10000000 if no title says writes or reads)"},
            {"latency_bytes", "size of a latency copy (default: 16; 1 if no title says writes or reads)"},
            {"access", "all or none: peer access between GPUs, where no connectivity matrix is there (default: all)"},
            {"engine", "sm if the run had --sm_copy (default: ce)"},
            DeviceNames::option(),
            RecordBuilder::id_option()};
  }

  [[nodiscard]] Json run(const ImportRequest& request) const override {
    RecordBuilder record(request, "p2p-bandwidth-latency-test", "p2p_copy", "back_to_back");
    const PrintedRun settings{option_count(request, "elements"), option_count(request, "latency_bytes"),
                              option_choice(request, "engine", {"ce", "sm"}),
                              option_choice(request, "access", {"all", "none"})};
    record.source("p2pBandwidthLatencyTest of the CUDA samples, version not printed");
    record.method("statistic", "printed means of one queue of copies");
    record.method("clock", "GPU events around a queue of copies: time per copy, not a one-way latency");
    Matrices matrices(request, settings, record);
    for (const std::string& path : request.files) {
      TextFile file(path);
      for (const P2pRun& run : read_p2p_runs(file)) matrices.add(file, run);
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
