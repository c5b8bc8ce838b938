#include "calibrate/import/topo_matrix.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "calibrate/import/nvidia_smi.hpp"
#include "calibrate/import/text_file.hpp"
#include "calibrate/import/topology_request.hpp"
#include "sim/base/regex.hpp"
#include "sim/base/text.hpp"

namespace linkcast::topology_import {
namespace {

const std::array<std::string, 7> kClasses = {"X", "NV", "PIX", "PXB", "PHB", "NODE", "SYS"};
constexpr int kMostLinks = 999, kMostDevices = 256;  // far more than any machine has. source: ours
// source: nvidia-smi topo -p2p prints them: chipset, GPU, topology not supported, disabled, ...
const std::array<std::string, 6> kPeerWords = {"OK", "CNS", "GNS", "TNS", "NS", "DR"};

/// Names of the columns behind the matrix, in their order; empty: none.
std::vector<std::string> affinities_in(std::string& header) {
  static const Regex first(R"((?s)(.*?)((?:CPU|NUMA) Affinity|GPU NUMA ID)(.*))");
  std::vector<std::string> names;
  for (Match match = first.whole(header); match; match = first.whole(header)) {
    names.push_back(match[2]);
    header = names.size() == 1 ? match[1] + "\n" + match[3] : match[1] + match[3];
  }
  header = header.substr(0, header.find('\n'));
  return names;
}

/// Names of devices; those that a paste glued together (GPU0GPU1GPU2) come apart.
std::vector<std::string> device_names(const std::string& header) {
  static const Regex one(R"(((?:GPU|NIC)\d+|mlx\d+_\d+)(.*))");
  std::vector<std::string> names;
  for (std::string word : words_of(header)) {
    for (Match match = one.whole(word); match && !match[2].empty(); match = one.whole(word)) {
      if (!one.whole(match[2])) break;
      names.push_back(match[1]);
      word = match[2];
    }
    names.push_back(word);
  }
  return names;
}

std::optional<int> gpu_number(const std::string& name) {
  return name.starts_with("GPU") ? whole_number(name.substr(3)) : std::nullopt;
}

/// Where the table's head stands: a line that begins with GPU0, above one that begins with GPU0 and has an X.
std::optional<std::size_t> header_at(const std::vector<std::string>& lines) {
  static const Regex head(R"(\s*GPU0(?:\s.*|GPU1.*|))"), row(R"(\s*GPU0\s.*\S.*)");
  std::optional<std::size_t> above;
  for (std::size_t i = 0; i < lines.size(); ++i) {
    if (lines[i].find_first_not_of(" \t") == std::string::npos) continue;
    if (above && row.whole(lines[i])) return above;
    above = head.whole(lines[i]) ? std::optional(i) : std::nullopt;
  }
  return std::nullopt;
}

std::vector<std::string> lines_of(const std::string& text) {
  std::vector<std::string> lines = plain_lines(text);
  for (std::string& line : lines) line = plain_log_line(line);
  return lines;
}

class MatrixReader {
 public:
  explicit MatrixReader(const std::string& path) : lines_(lines_of(read_text(path))) { matrix_.file = path; }

  TopoMatrix read() {
    read_header();
    for (MatrixRow& row : matrix_.rows) read_row(row);
    read_legend();
    check_symmetry();
    join_inside_nodes();
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
  void join_inside_nodes();

  std::vector<std::string> lines_;
  std::size_t at_ = 0;
  int line_ = 0;
  std::vector<std::string> affinity_;  // columns behind the matrix
  TopoMatrix matrix_;
};

void MatrixReader::read_header() {
  const auto header = header_at(lines_);
  if (!header)
    throw InputError(matrix_.file + ": not the output of nvidia-smi topo -m: no line with GPU0 ... above its rows");
  for (std::size_t i = 0; i < *header; ++i)
    if (lines_[i].find("topo -mp") != std::string::npos) matrix_.pcie_only = true;
  at_ = *header;
  std::string line = *next();
  affinity_ = affinities_in(line);
  const auto columns = device_names(line);
  if (columns.size() > kMostDevices) fail(fmt::format("more than {} devices", kMostDevices));
  for (const std::string& column : columns) {
    const auto number = gpu_number(column);
    if (number && number != static_cast<int>(matrix_.rows.size()))
      fail("'" + column + "': GPUs stand first and count from 0 without gaps");
    if (number) ++matrix_.gpus;
    matrix_.rows.push_back({column, column, 0, {}, std::nullopt, ""});
  }
}

MatrixCell MatrixReader::read_cell(const std::string& text) const {
  if (text.starts_with("NV")) {
    const auto links = whole_number(text.substr(2));
    if (!links || *links < 1 || *links > kMostLinks)
      fail(fmt::format("'{}': NV is followed by the number of links, 1 to {}", text, kMostLinks));
    return {PathClass::kNvlink, *links};
  }
  if (text == "SOC") return {PathClass::kSys, 0};  // its name in drivers before 2018
  if (std::find(kPeerWords.begin(), kPeerWords.end(), text) != kPeerWords.end())
    fail("'" + text +
         "': a table of nvidia-smi topo -p2p says who may access whom, not how they are wired: give that "
         "of nvidia-smi topo -m");
  const auto at = std::find(kClasses.begin(), kClasses.end(), text);
  if (at == kClasses.end()) fail("unknown entry '" + text + "': X, NV#, PIX, PXB, PHB, NODE and SYS are known");
  return {static_cast<PathClass>(at - kClasses.begin()), 0};
}

/// @param fields  words behind the matrix; in containers they may be missing
void MatrixReader::read_affinity(MatrixRow& row, const std::vector<std::string>& fields) const {
  const bool nothing =
      std::all_of(fields.begin(), fields.end(), [](const auto& text) { return is_not_available(text); });
  if (nothing) return;
  if (!affinity_.empty() && fields.size() > affinity_.size())
    fail(fmt::format("'{}' has {} affinities, the first line names {}", row.name, fields.size(), affinity_.size()));
  if (fields.size() < affinity_.size() || affinity_.empty()) {  // which are missing cannot be told, but cores can
    if (fields.front().find_first_of("-,") != std::string::npos) row.cpu_affinity = fields.front();
    return;
  }
  for (std::size_t i = 0; i < fields.size(); ++i) {
    if (is_not_available(fields[i])) continue;
    if (affinity_[i] == "CPU Affinity") row.cpu_affinity = fields[i];
    if (affinity_[i] == "NUMA Affinity") row.numa = whole_number(fields[i]);  // "0-1": not one node
  }
}

void MatrixReader::read_row(MatrixRow& row) {
  const std::string* line = next();
  const auto fields = line ? words_of(*line) : std::vector<std::string>{};
  if (fields.empty() || fields[0] != row.name) fail("the row of '" + row.name + "' is expected here");
  row.line = line_;
  const std::size_t count = matrix_.rows.size();
  if (fields.size() < 1 + count) fail(fmt::format("'{}' has {} entries, not {}", row.name, fields.size() - 1, count));
  for (std::size_t i = 1; i <= count; ++i) row.cells.push_back(read_cell(fields[i]));
  const auto self = static_cast<std::size_t>(&row - matrix_.rows.data());
  for (std::size_t i = 0; i < count; ++i)
    if ((row.cells[i].path == PathClass::kSelf) != (i == self))
      fail("'" + row.name + "': X stands where row and column are the same, and only there");
  read_affinity(row, {fields.begin() + 1 + static_cast<std::ptrdiff_t>(count), fields.end()});
}

/// Lines behind the table: the legend, which names adapters, a prompt, another command's output.
void MatrixReader::read_legend() {
  static const Regex named(R"(\s*(\S+): (\S.*?)\s*)");
  bool legend = false, nvlinks = false;
  while (const std::string* line = next()) {
    const auto words = words_of(*line);
    if (words[0] == "Legend:") legend = true;
    if (words[0] == "NV#") nvlinks = true;
    if (words.size() > matrix_.rows.size() && gpu_number(words[0])) fail("'" + words[0] + "' has a row, but no column");
    const Match match = named.whole(*line);
    for (MatrixRow& row : matrix_.rows)
      if (match && match[1] == row.name) row.model = match[2];
  }
  const bool shown = std::any_of(matrix_.rows.begin(), matrix_.rows.end(), [](const MatrixRow& row) {
    return std::any_of(row.cells.begin(), row.cells.end(), [](const MatrixCell& cell) { return cell.links > 0; });
  });
  // The legend of topo -m explains NV#, that of topo -mp does not.
  if (legend && !nvlinks) matrix_.pcie_only = true;
  if (shown) matrix_.pcie_only = false;
}

/// Virtual machines and boards with one CPU show SYS between devices of one NUMA node: host bridges of one CPU, then.
void MatrixReader::join_inside_nodes() {
  for (MatrixRow& row : matrix_.rows)
    for (std::size_t i = 0; i < matrix_.rows.size(); ++i) {
      const MatrixRow& other = matrix_.rows[i];
      const bool known = row.numa || !row.cpu_affinity.empty();
      if (row.cells[i].path != PathClass::kSys || !known || row.numa != other.numa ||
          row.cpu_affinity != other.cpu_affinity)
        continue;
      row.cells[i].path = PathClass::kNode;
      matrix_.sys_inside_node = true;
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

bool is_topo_matrix(const std::string& text) { return header_at(lines_of(text)).has_value(); }

TopoMatrix read_topo_matrix(const std::string& path) { return MatrixReader(path).read(); }

}  // namespace linkcast::topology_import
