#include "calibrate/import/topo_matrix.hpp"

#include <algorithm>
#include <array>
#include <map>

#include "calibrate/import/nvidia_smi.hpp"
#include "calibrate/import/topology_request.hpp"

namespace linkcast::topology_import {
namespace {

const std::array<std::string, 7> kClasses = {"X", "NV", "PIX", "PXB", "PHB", "NODE", "SYS"};
constexpr int kMostLinks = 999, kMostDevices = 256;  // far more than any machine has. source: ours
const std::string kAffinity = "CPU Affinity";

std::string trimmed(const std::string& text) {
  const auto first = text.find_first_not_of(' ');
  return first == std::string::npos ? "" : text.substr(first, text.find_last_not_of(' ') - first + 1);
}

/// Fields between tabs, or between two or more blanks where the table was copied from a terminal; empty ones are gone.
std::vector<std::string> fields_of(const std::string& line) {
  std::vector<std::string> fields;
  std::string field;
  const auto end_field = [&] {
    if (const std::string text = trimmed(field); !text.empty()) fields.push_back(text);
    field.clear();
  };
  for (std::size_t i = 0; i < line.size(); ++i)
    if (line[i] == '\t' || line.compare(i, 2, "  ") == 0)
      end_field();
    else
      field += line[i];
  end_field();
  return fields;
}

std::optional<int> gpu_number(const std::string& name) {
  return name.rfind("GPU", 0) == 0 ? whole_number(name.substr(3)) : std::nullopt;
}

class MatrixReader {
 public:
  explicit MatrixReader(const std::string& path) : lines_(plain_lines(read_text(path))) { matrix_.file = path; }

  TopoMatrix read() {
    read_header();
    for (MatrixRow& row : matrix_.rows) read_row(row);
    read_legend();
    check_symmetry();
    return std::move(matrix_);
  }

 private:
  [[noreturn]] void fail(const std::string& what) const { fail_at(matrix_.file, line_, what); }
  /// Next line that is not blank; nothing at the end.
  const std::string* next() {
    while (at_ < lines_.size()) {
      line_ = static_cast<int>(at_) + 1;
      if (const std::string& line = lines_[at_++]; line.find_first_not_of(" \t") != std::string::npos) return &line;
    }
    return nullptr;
  }
  void read_header();
  void read_row(MatrixRow& row);
  MatrixCell read_cell(const std::string& text) const;
  void read_affinity(MatrixRow& row, const std::vector<std::string>& fields) const;
  void read_legend();
  void check_symmetry() const;

  std::vector<std::string> lines_;
  std::size_t at_ = 0;
  int line_ = 0;
  std::vector<std::string> affinity_;  // columns behind the matrix
  TopoMatrix matrix_;
};

void MatrixReader::read_header() {
  const std::string* line = next();
  const auto columns = line ? fields_of(*line) : std::vector<std::string>{};
  const auto affinity = std::find(columns.begin(), columns.end(), kAffinity);
  if (columns.empty() || columns[0] != "GPU0" || affinity == columns.end())
    throw InputError(matrix_.file + ": not the output of nvidia-smi topo -m: the first line names GPU0 ... " +
                     kAffinity);
  if (affinity - columns.begin() > kMostDevices) fail("more than " + std::to_string(kMostDevices) + " devices");
  affinity_.assign(affinity, columns.end());
  for (auto column = columns.begin(); column != affinity; ++column) {
    const auto number = gpu_number(*column);
    if (number && number != static_cast<int>(matrix_.rows.size()))
      fail("'" + *column + "': GPUs stand first and count from 0 without gaps");
    if (number) ++matrix_.gpus;
    matrix_.rows.push_back({*column, *column, 0, {}, std::nullopt, ""});
  }
}

MatrixCell MatrixReader::read_cell(const std::string& text) const {
  if (text.rfind("NV", 0) == 0) {
    const auto links = whole_number(text.substr(2));
    if (!links || *links < 1 || *links > kMostLinks)
      fail("'" + text + "': NV is followed by the number of links, 1 to " + std::to_string(kMostLinks));
    return {PathClass::kNvlink, *links};
  }
  if (text == "SOC") return {PathClass::kSys, 0};  // its name in drivers before 2018
  const auto at = std::find(kClasses.begin(), kClasses.end(), text);
  if (at == kClasses.end()) fail("unknown entry '" + text + "': X, NV#, PIX, PXB, PHB, NODE and SYS are known");
  return {static_cast<PathClass>(at - kClasses.begin()), 0};
}

void MatrixReader::read_affinity(MatrixRow& row, const std::vector<std::string>& fields) const {
  if (fields.empty()) return;
  const bool nothing = std::all_of(fields.begin(), fields.end(), [](const auto& text) { return text == "N/A"; });
  if (nothing) return;
  // A tab more or less between the columns: they can be told apart only if none is empty.
  if (fields.size() != affinity_.size())
    fail("'" + row.name + "' has " + std::to_string(fields.size()) + " affinities, the first line names " +
         std::to_string(affinity_.size()));
  for (std::size_t i = 0; i < fields.size(); ++i) {
    if (fields[i] == "N/A") continue;
    if (affinity_[i] == kAffinity) row.cpu_affinity = fields[i];
    if (affinity_[i] == "NUMA Affinity") row.numa = whole_number(fields[i]);  // "0-1": not one node
  }
}

void MatrixReader::read_row(MatrixRow& row) {
  const std::string* line = next();
  const auto fields = line ? fields_of(*line) : std::vector<std::string>{};
  if (fields.empty() || fields[0] != row.name) fail("the row of '" + row.name + "' is expected here");
  row.line = line_;
  const std::size_t count = matrix_.rows.size();
  if (fields.size() < 1 + count)
    fail("'" + row.name + "' has " + std::to_string(fields.size() - 1) + " entries, not " + std::to_string(count));
  for (std::size_t i = 1; i <= count; ++i) row.cells.push_back(read_cell(fields[i]));
  const auto self = static_cast<std::size_t>(&row - matrix_.rows.data());
  for (std::size_t i = 0; i < count; ++i)
    if ((row.cells[i].path == PathClass::kSelf) != (i == self))
      fail("'" + row.name + "': X stands where row and column are the same, and only there");
  read_affinity(row, {fields.begin() + 1 + static_cast<std::ptrdiff_t>(count), fields.end()});
}

void MatrixReader::read_legend() {
  bool legend = false;
  while (const std::string* line = next()) {
    const std::string text = trimmed(*line);
    if (text == "Legend:" || text == "NIC Legend:") {
      legend = true;
      continue;
    }
    if (!legend) fail("neither a row of the table nor the legend: '" + text + "'");
    const auto colon = text.find(": ");
    for (MatrixRow& row : matrix_.rows)
      if (colon != std::string::npos && text.substr(0, colon) == row.name) row.model = text.substr(colon + 2);
  }
}

void MatrixReader::check_symmetry() const {
  const auto entry = [](const MatrixCell& cell) {
    return to_text(cell.path) + (cell.links > 0 ? std::to_string(cell.links) : "");
  };
  const auto& rows = matrix_.rows;
  for (std::size_t a = 0; a < rows.size(); ++a)
    for (std::size_t b = 0; b < a; ++b) {
      const std::string one = entry(rows[a].cells[b]), other = entry(rows[b].cells[a]);
      if (one != other)
        fail_at(matrix_.file, rows[a].line,
                rows[a].name + " to " + rows[b].name + " is " + one + ", back it is " + other);
      const bool both_gpus = static_cast<int>(a) < matrix_.gpus;
      if (rows[a].cells[b].path == PathClass::kNvlink && !both_gpus)
        fail_at(matrix_.file, rows[a].line, rows[a].name + " to " + rows[b].name + ": NVLink joins GPUs only");
    }
}

}  // namespace

const std::string& to_text(PathClass path) { return kClasses.at(static_cast<std::size_t>(path)); }

bool is_topo_matrix(const std::string& text) {
  for (const std::string& line : plain_lines(text))
    if (const auto fields = fields_of(line); !fields.empty())
      return fields[0] == "GPU0" && std::find(fields.begin(), fields.end(), kAffinity) != fields.end();
  return false;
}

TopoMatrix read_topo_matrix(const std::string& path) { return MatrixReader(path).read(); }

}  // namespace linkcast::topology_import
