// Matrices of copies as CSV, such as people make of MGBench's GPU-to-GPU tests: the row sends to the column.
// The matrix holds nothing but rates: size, unit, duplex, transport and timing are options.
#include <fmt/format.h>

#include <map>

#include "calibrate/import/importer.hpp"
#include "calibrate/import/record_builder.hpp"
#include "calibrate/import/text_file.hpp"
#include "sim/base/parse.hpp"

namespace linkcast {
namespace {

struct CsvSettings {
  std::int64_t size_B = 0;
  std::string unit, transport, timing;
  bool full_duplex = false;
};

CsvSettings settings_of(const ImportRequest& request) {
  const std::string why = "the matrix does not say it";
  CsvSettings s;
  const auto size = option_bytes(request, "size");
  if (!size) throw InputError("option size: is needed, " + why + ": bytes of a copy in one direction, e.g. 100MB");
  s.size_B = *size;
  s.unit = required_choice(request, "unit", {"MB/s", "GB/s", "MiB/s", "GiB/s"}, why);
  s.full_duplex = required_choice(request, "duplex", {"half", "full"}, why) == "full";
  s.transport = required_choice(request, "transport", {"peer", "staged"}, why);
  s.timing = required_choice(request, "timing", {"single", "back_to_back"}, why);
  return s;
}

/// Decimal units by shifting the printed digits, binary ones by their factor.
std::optional<double> rate_of(const std::string& text, const std::string& unit) {
  static const std::map<std::string, int> decimal_units = {{"MB/s", 6}, {"GB/s", 9}};
  if (const auto known = decimal_units.find(unit); known != decimal_units.end()) return decimal(text, known->second);
  const auto value = decimal(text);
  return value ? std::optional<double>(*value * parse_bandwidth("1 " + unit).si) : std::nullopt;
}

bool not_measured(const std::string& cell) { return cell.empty() || is_not_available(cell) || cell == "-"; }

/// Rows and columns must both be 0, 1, 2, ...
void check_numbers(const TextFile& file, const std::vector<CsvRow>& rows) {
  const std::vector<std::string>& head = rows.front().cells;
  for (std::size_t i = 1; i < head.size(); ++i)
    if (whole_number(head[i]) != static_cast<int>(i) - 1)
      file.fail_at(rows.front().line, fmt::format("'{}' stands where column number {} is due", head[i], i - 1));
  if (head.size() < 3) file.fail_at(rows.front().line, "a matrix has at least two columns of GPUs");
  for (std::size_t i = 1; i < rows.size(); ++i)
    if (whole_number(rows[i].cells.front()) != static_cast<int>(i) - 1)
      file.fail_at(rows[i].line, fmt::format("'{}' stands where row number {} is due", rows[i].cells.front(), i - 1));
  if (rows.size() != head.size())
    file.fail_at(rows.back().line,
                 fmt::format("the matrix ends after {} of {} rows", rows.size() - 1, head.size() - 1));
}

void add_matrix(const TextFile& file, const CsvSettings& s, const DeviceNames& devices, RecordBuilder& record) {
  const auto rows = read_csv(file);
  check_numbers(file, rows);
  const int size = static_cast<int>(rows.size()) - 1;
  for (int row = 0; row < size; ++row)
    for (int column = 0; column < size; ++column) {
      const CsvRow& line = rows[static_cast<std::size_t>(row) + 1];
      const std::string& cell = line.cells[static_cast<std::size_t>(column) + 1];
      if (not_measured(cell)) continue;
      if (row == column)
        file.fail_at(
            line.line,
            fmt::format("'{}' for GPU {} and itself: leave it empty, N/A or -: how local copies count is not said",
                        cell, row));
      const auto rate = rate_of(cell, s.unit);
      if (!rate || !(*rate > 0))
        file.fail_at(line.line, fmt::format("'{}' in column {} is not a number above 0", cell, column));
      Json point{{"transport", s.transport}, {"source", devices.id(row)}, {"target", devices.id(column)}};
      if (s.full_duplex) point["bidirectional"] = true;
      point["size_B"] = s.size_B;
      if (s.full_duplex) point["payload_count"] = 2;
      record.add(point, "bandwidth_Bps", *rate);
    }
}

class MgbenchCsv final : public Importer {
 public:
  [[nodiscard]] std::vector<ImportOption> options() const override {
    return {{"size", "bytes of a copy in one direction, with a unit: 100MB; needed"},
            {"unit", "MB/s, GB/s, MiB/s or GiB/s; needed"},
            {"duplex", "half, or full where a cell is the sum of both directions; needed"},
            {"transport", "peer or staged; needed"},
            {"timing", "single or back_to_back; needed"},
            DeviceNames::option(),
            {"program", "what measured, with its version (default: MGBench)"},
            RecordBuilder::id_option()};
  }

  [[nodiscard]] Json run(const ImportRequest& request) const override {
    const CsvSettings settings = settings_of(request);
    const DeviceNames devices(request);
    RecordBuilder record(request, "mgbench", "mgbench", settings.timing);
    record.source(option_text(request, "program").value_or("MGBench, version not printed"));
    record.note(
        "Size, unit, duplex, transport and timing are those of the import's options; the matrix holds rates only.");
    record.note(devices.note());
    if (settings.full_duplex)
      record.note("bidirectional: cells are the sum of both directions, said by option duplex.");
    for (const std::string& path : request.files) add_matrix(TextFile(path), settings, devices, record);
    return record.json();
  }
};

const bool mgbench_csv_registered = importers().add(
    {"mgbench-csv",
     "a matrix of rates, first line ',0,1,2', then '0,,12.1,12.2': the row sends to the column; own copies empty",
     "tbennun/mgbench, GPU-to-GPU half and full duplex tests; the layout of the matrix is ours"},
    [] { return std::make_unique<MgbenchCsv>(); });

}  // namespace
}  // namespace linkcast
