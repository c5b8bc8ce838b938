// Matrices and tables of rocm-bandwidth-test: copies between AMD GPUs and with the host.
// The program prints no size with its matrices: option buffer says it.
#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "calibrate/import/importer.hpp"
#include "calibrate/import/record_builder.hpp"
#include "calibrate/import/text_file.hpp"
#include "sim/base/input_error.hpp"
#include "sim/base/regex.hpp"
#include "sim/records/measurement.hpp"

namespace linkcast {
namespace {

// source: ROCm/rocm_bandwidth_test rocm_bandwidth_test.cpp: -a and -A copy one size; recalled
constexpr std::int64_t kRocmCopy_B = 134217728;

struct RocmDevice {
  std::string name;
  int number = 0;  ///< among the GPUs, or among the CPUs
  bool gpu = false;
};

/// One matrix of rates, or one table of a pair.
struct RocmTable {
  std::string place;
  bool bidirectional = false;
  std::vector<std::vector<std::string>> cells;  ///< row: source
  std::vector<int> lines;
  int source = -1, target = -1;  ///< of a table
};

class RocmLog {
 public:
  explicit RocmLog(TextFile& file) : file_(file) {}
  void read();

  std::string version;
  std::vector<RocmDevice> devices;
  std::vector<RocmTable> matrices;
  struct Row {
    std::string place;
    int source = 0, target = 0;
    std::int64_t size_B = 0;
    std::string time_us;
  };
  std::vector<Row> rows;  ///< of tables
  bool left_out = false;  ///< tables of both directions

 private:
  void read_device(const Match& match);
  void read_matrix_below(bool bidirectional);
  void read_row(const Match& match);

  TextFile& file_;
  RocmTable pair_{};  ///< the table that is read
};

void RocmLog::read_device(const Match& match) {
  static const Regex gpu(R"(.*(?:,\s*GPU-\w+|,\s*[\da-fA-F]+:[\da-fA-F]+\.[\da-fA-F]).*)");
  if (whole_number(match[1]) != static_cast<int>(devices.size()))
    file_.fail(fmt::format("device {} stands where device {} is due", match[1], devices.size()));
  RocmDevice device{match[2].substr(0, match[2].find(',')), 0, static_cast<bool>(gpu.whole(", " + match[2]))};
  device.number = static_cast<int>(
      std::count_if(devices.begin(), devices.end(), [&](const RocmDevice& other) { return other.gpu == device.gpu; }));
  devices.push_back(device);
}

/// A head of device numbers, then a row a device, with blank lines between them.
void RocmLog::read_matrix_below(bool bidirectional) {
  const std::string title = file_.line().substr(file_.line().find_first_not_of(" \t"));
  RocmTable matrix{fmt::format("{}:{}", file_.path(), file_.number()), bidirectional, {}, {}};
  file_.next();
  file_.skip_blank();
  file_.expect_more("the matrix of '" + title + "'");
  auto head = words_of(file_.line());
  if (head.empty() || head.front() != "D/D") file_.fail(title + ": the line of device numbers is due: D/D 0 1 ...");
  const std::size_t count = head.size() - 1;
  if (!devices.empty() && count != devices.size())
    file_.fail(fmt::format("{}: has {} columns for {} devices", title, count, devices.size()));
  file_.next();
  while (matrix.cells.size() < count) {
    file_.skip_blank();
    file_.expect_more(fmt::format("row {} of '{}'", matrix.cells.size(), title));
    auto words = words_of(file_.line());
    if (whole_number(words.front()) != static_cast<int>(matrix.cells.size()) || words.size() != count + 1)
      file_.fail(fmt::format("{}: row {} with {} values is due", title, matrix.cells.size(), count));
    words.erase(words.begin());
    matrix.lines.push_back(file_.number());
    matrix.cells.push_back(words);
    file_.expect_line_end();
    file_.next();
  }
  matrices.push_back(matrix);
}

void RocmLog::read_row(const Match& match) {
  static const std::map<std::string, std::int64_t> units = {
      {"B", 1}, {"KB", 1024}, {"MB", 1048576}, {"GB", 1073741824}};
  const auto number = whole_size(match[1]);
  if (!number || *number < 1 || *number > (std::int64_t{1} << 20)) file_.fail("'" + match[1] + "' is no size");
  if (pair_.source < 0 || pair_.target < 0) file_.fail("a row of a table without its two devices above");
  if (pair_.bidirectional)
    left_out = true;
  else
    rows.push_back({fmt::format("{}:{}", file_.path(), file_.number()), pair_.source, pair_.target,
                    *number * units.at(match[2]), match[3]});
}

void RocmLog::read() {
  static const Regex version_line(R"(\s*RocmBandwidthTest Version:\s*(\S+).*)");
  static const Regex device(R"(\s*Device:\s+(\d+),\s+(.+?)\s*)");
  static const Regex title(R"(\s*(?:Unidirectional|(Bidirectional)) (?:copy )?(?:peak |average )?bandwidth GB/s\s*)");
  static const Regex table(R"([\s=]*(?:Unidirectional|(Bidirectional)) Benchmark Result[\s=]*)");
  static const Regex end(R"([\s=]*(?:(Src)|Dst) Device Id:\s*(\d+)\s.*)");
  static const Regex row(R"(\s*(\d+) (B|KB|MB|GB)\s+([\d.]+)\s+[\d.]+\s+[\d.]+\s+[\d.]+\s*)");
  file_.strip_launchers();
  while (!file_.at_end()) {
    Match match;
    if ((match = title.whole(file_.line()))) {
      read_matrix_below(match.has(1));
      continue;
    }
    if ((match = version_line.whole(file_.line()))) {
      if (!version.empty()) file_.fail("a second run of rocm-bandwidth-test: one a file");
      version = match[1];
    }
    if ((match = device.whole(file_.line()))) read_device(match);
    if ((match = table.whole(file_.line()))) pair_ = {"", match.has(1), {}, {}};
    if ((match = end.whole(file_.line())))
      (match.has(1) ? pair_.source : pair_.target) = whole_number(match[2]).value_or(-1);
    if ((match = row.whole(file_.line()))) read_row(match);
    file_.next();
  }
  if (matrices.empty() && rows.empty() && !left_out)
    throw InputError(file_.path() +
                     ": is no output of rocm-bandwidth-test: no 'Unidirectional copy peak bandwidth GB/s' or the like");
}

class RocmCopies {
 public:
  RocmCopies(const ImportRequest& request, RecordBuilder& record)
      : names_(request),
        buffer_B_(option_bytes(request, "buffer")),
        cpus_(option_count(request, "cpus")),
        record_(record) {}

  void add(const RocmLog& log, const std::string& path);

 private:
  [[nodiscard]] std::string id(const RocmDevice& device) const {
    return device.gpu ? names_.id(device.number) : fmt::format("cpu{}", device.number);
  }
  /// Empty: between CPUs.
  [[nodiscard]] Json ends(const RocmDevice& source, const RocmDevice& target) const {
    if (!source.gpu && !target.gpu) return {};
    const bool host = !source.gpu || !target.gpu;
    const bool local = source.gpu && target.gpu && source.number == target.number;
    return {{"transport", host    ? "host"
                          : local ? "local"
                                  : "peer"},
            {"source", id(source)},
            {"target", id(target)},
            {"engine", Spelled(CopyUnit::kCopyEngine)}};
  }
  [[nodiscard]] std::vector<RocmDevice> devices_of(const RocmLog& log, const std::string& path) const;
  void add_matrix(const RocmTable& matrix, const std::vector<RocmDevice>& devices, const std::string& path);

  DeviceNames names_;
  std::optional<std::int64_t> buffer_B_, cpus_;
  RecordBuilder& record_;
};

std::vector<RocmDevice> RocmCopies::devices_of(const RocmLog& log, const std::string& path) const {
  if (!log.devices.empty()) return log.devices;
  if (!cpus_)
    throw InputError("option cpus: is needed, " + path +
                     " lists no devices: how many of the first columns are CPUs, 2");
  std::vector<RocmDevice> devices;
  const std::size_t count = log.matrices.empty() ? 1024 : log.matrices.front().cells.size();
  const auto cpus = static_cast<std::size_t>(*cpus_);
  for (std::size_t i = 0; i < count; ++i) devices.push_back({"", static_cast<int>(i < cpus ? i : i - cpus), i >= cpus});
  return devices;
}

void RocmCopies::add_matrix(const RocmTable& matrix, const std::vector<RocmDevice>& devices, const std::string& path) {
  if (matrix.cells.size() != devices.size())
    throw InputError(
        fmt::format("{}: has {} columns for {} devices", matrix.place, matrix.cells.size(), devices.size()));
  for (std::size_t row = 0; row < devices.size(); ++row)
    for (std::size_t column = 0; column < devices.size(); ++column) {
      const std::string& text = matrix.cells[row][column];
      Json point = ends(devices[row], devices[column]);
      if (point.is_null()) continue;
      if (matrix.bidirectional) point["bidirectional"] = true;
      point["size_B"] = buffer_B_.value_or(kRocmCopy_B);
      if (is_not_available(text)) {
        if (row != column) record_.add_waived(point, "rocm-bandwidth-test: N/A");
        continue;
      }
      const auto value = decimal(text, 9);
      if (!value || !(*value > 0))
        throw InputError(
            fmt::format("{}:{}: '{}' in column {} is not a number above 0", path, matrix.lines[row], text, column));
      if (matrix.bidirectional) point["payload_count"] = 2;
      record_.add(point, "bandwidth_Bps", *value);
    }
  if (!buffer_B_)
    record_.note(
        fmt::format("assumed: copies of the matrices are {} bytes, recalled of rocm-bandwidth-test -a; the "
                    "program does not print it. Option buffer says otherwise.",
                    kRocmCopy_B));
  if (matrix.bidirectional) record_.note("bidirectional: the program prints the sum of both directions.");
}

void RocmCopies::add(const RocmLog& log, const std::string& path) {
  const std::vector<RocmDevice> devices = devices_of(log, path);
  std::vector<std::string> gpus;
  for (const RocmDevice& device : devices)
    if (device.gpu) gpus.push_back(device.name);
  if (!log.devices.empty()) record_.environment("gpus", gpus, path);
  if (!log.version.empty()) record_.environment("rocm_bandwidth_test", log.version, path);
  record_.source("rocm-bandwidth-test" + (log.version.empty() ? ", version not printed" : " " + log.version));
  for (const RocmTable& matrix : log.matrices) add_matrix(matrix, devices, path);
  for (const RocmLog::Row& row : log.rows) {
    const auto last = static_cast<int>(devices.size()) - 1;
    if (row.source > last || row.target > last) throw InputError(row.place + ": its devices are not in the list above");
    Json point = ends(devices[static_cast<std::size_t>(row.source)], devices[static_cast<std::size_t>(row.target)]);
    if (point.is_null()) continue;
    const auto time = decimal(row.time_us, -6);
    if (!time || !(*time > 0)) throw InputError(row.place + ": time '" + row.time_us + "' is not a number above 0");
    point["size_B"] = row.size_B;
    record_.add(point, "time_s", *time);
  }
  if (log.left_out) record_.note("Left out: tables of both directions of a pair, whose times are of one of them.");
  record_.note("assumed: device CPU n is cpu<n> of the topology. " + names_.note());
  record_.note("assumed: copy engines (SDMA) moved the data.");
  record_.note("Copies between CPUs are left out.");
}

class RocmBandwidthTest final : public Importer {
 public:
  [[nodiscard]] std::vector<ImportOption> options() const override {
    return {{"buffer", "size of the copies of the matrices with its unit (default: 128MiB)"},
            {"cpus", "how many of the devices are CPUs, the first ones, where the list of devices is not there"},
            DeviceNames::option(),
            RecordBuilder::id_option()};
  }
  [[nodiscard]] Json run(const ImportRequest& request) const override {
    RecordBuilder record(request, "rocm-bandwidth-test", "rocm_bandwidth_test", "back_to_back");
    record.method("statistic", "matrices: best of the program's repetitions; tables: their mean");
    RocmCopies copies(request, record);
    for (const std::string& path : request.files) {
      TextFile file(path);
      RocmLog log(file);
      log.read();
      copies.add(log, path);
      if (!file.other_processes().empty()) record.note(file.other_processes());
    }
    return record.json();
  }
};

const bool rocm_bandwidth_test_registered =
    importers().add({"rocm-bandwidth-test", "its text: copies between AMD GPUs and with the host",
                     "ROCm/rocm_bandwidth_test rocm_bandwidth_test_report.cpp, versions 2.x; recalled"},
                    [] { return std::make_unique<RocmBandwidthTest>(); });

}  // namespace
}  // namespace linkcast
