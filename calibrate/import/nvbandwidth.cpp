// Tests of nvbandwidth become copies and loads; what schema measurement/1 cannot say is named in a note.
// The program prints no buffer size: option buffer says it, or a note says what was assumed.
#include <fmt/format.h>

#include <algorithm>
#include <cstdio>

#include "calibrate/import/decimal.hpp"
#include "calibrate/import/device_names.hpp"
#include "calibrate/import/nvbandwidth_log.hpp"
#include "calibrate/import/option_values.hpp"
#include "calibrate/import/record_builder.hpp"
#include "sim/base/regex.hpp"

namespace linkcast {
namespace {

// source: NVIDIA/nvbandwidth README: --bufferSize is 512 MiB by default (64 MiB before 0.4); latency tests ignore it
// and follow pointers of 8 bytes through 2 MiB.
constexpr std::int64_t kMiB = 1048576, kBuffer_B = 512 * kMiB, kChain_B = 2 * kMiB, kPointer_B = 8;
constexpr int kMinorOfBuffer = 4;

/// Quantity that a test measures.
struct TestKind {
  bool known = false, host = false, to_gpu = false, bidirectional = false, latency = false;
  std::string direction, engine;
};

TestKind kind_of(const std::string& name) {
  static const Regex host(R"((host_to_device|device_to_host)_memcpy_(ce|sm))");
  static const Regex pair(R"(device_to_device_(bidirectional_)?memcpy_(read|write)_(ce|sm))");
  static const Regex load(R"((host_device|device_to_device)_latency_sm)");
  Match match;
  TestKind kind;
  if ((match = host.whole(name))) {
    kind = {true, true, match[1] == "host_to_device", false, false, "", match[2]};
  } else if ((match = pair.whole(name))) {
    kind = {true, false, false, match.has(1), false, match[2], match[3]};
  } else if ((match = load.whole(name))) {
    kind = {true, match[1] == "host_device", true, false, true, "read", "sm"};
  }
  return kind;
}

/// The sides of "... GPU(row) -> GPU(column) ..." of a title.
struct Sides {
  std::string row, arrow, column;
};

Sides sides_of(const NvbandwidthMatrix& matrix) {
  static const Regex sides(R"(.*\b(CPU|GPU)\(row\) *(->|<-|<->) *(CPU|GPU)\(column\).*)");
  const Match match = sides.whole(matrix.title);
  if (!match) throw InputError(matrix.place + ": '" + matrix.title + "' does not say which way rows and columns go");
  return {match[1], match[2], match[3]};
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
  const bool fits = sides.row == (kind.host ? "CPU" : "GPU") && sides.column == "GPU" &&
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
  const bool not_run = text == "N/A";
  if (!kind.host && row == column) {  // versions before N/A print 0.00
    if (!not_run && value != 0.0)
      throw InputError(fmt::format("{}: '{}' for GPU {} and itself", matrix.places[row], text, row));
    return;
  }
  const bool row_is_source = sides_of(matrix).arrow != "<-";
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

void add_log(const ImportRequest& request, const NvbandwidthLog& log, const std::string& path, RecordBuilder& record) {
  record.source("nvbandwidth" + (log.version.empty() ? ", version not printed" : " " + log.version));
  if (!log.version.empty()) record.environment("nvbandwidth", log.version, path);
  if (!log.gpus.empty()) record.environment("gpus", log.gpus, path);
  for (const auto& [name, value] : log.facts) record.environment(name, value, path);
  Tests tests(request, buffer_of(request, log, record), record);
  record.note(tests.device_note());
  if (!log.complete)
    record.note(file_name(path) + " does not end with the program's closing NOTE: tests may be missing.");
  for (const NvbandwidthTest& test : log.tests) tests.add(test);
}

Json Nvbandwidth::run(const ImportRequest& request) const {
  std::vector<NvbandwidthLog> logs;
  for (const std::string& path : request.files) {
    TextFile file(path);
    const bool json = file.text()[file.text().find_first_not_of(" \t\r\n")] == '{';
    logs.push_back(json ? read_nvbandwidth_json(file) : read_nvbandwidth_text(file));
  }
  RecordBuilder record(request, "nvbandwidth", "nvbandwidth", holds_copies(logs) ? "back_to_back" : "single");
  record.method("statistic", "printed figures: medians, or means with --useMean, of the program's own samples");
  record.method("clock", "GPU events around a queue of copies held by a spinning kernel; loads: one after the other");
  record.method("host_memory", "pinned");
  for (std::size_t i = 0; i < logs.size(); ++i) add_log(request, logs[i], request.files[i], record);
  return record.json();
}

const bool nvbandwidth_registered =
    importers().add({"nvbandwidth", "its text or JSON (-j): copies between GPUs and with the host, load latencies",
                     "NVIDIA/nvbandwidth README.md and Output.cpp"},
                    [] { return std::make_unique<Nvbandwidth>(); });

}  // namespace
}  // namespace linkcast
