#include "calibrate/import/topo_matrix.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <map>
#include <set>
#include <utility>
#include <vector>

#include "calibrate/import/log_text.hpp"
#include "calibrate/import/text_file.hpp"
#include "calibrate/import/topology_request.hpp"
#include "calibrate/import/wrapped_table.hpp"
#include "sim/base/regex.hpp"

namespace linkcast::topology_import {
namespace {

const std::array<std::string, 7> kClasses = {"X", "NV", "PIX", "PXB", "PHB", "NODE", "SYS"};
constexpr int kMostLinks = 999, kMostDevices = 256;  // far more than any machine has. source: ours
constexpr std::size_t kLongestWord = 2048;           // source: ours, more than kMostDevices names glued together have
// source: nvidia-smi topo -p2p prints them: chipset, GPU, topology not supported, disabled, ...
const std::array<std::string, 7> kPeerWords = {"OK", "CNS", "GNS", "TNS", "NS", "DR", "U"};

bool is_peer_word(const std::string& word) {
  return std::find(kPeerWords.begin(), kPeerWords.end(), word) != kPeerWords.end();
}

/// Names of the columns behind the matrix, in their order, as often as they stand there; empty: none. The header loses
/// them and what is behind the first.
std::vector<std::string> affinities_in(std::string& header) {
  static const std::array<std::string, 3> kNames = {"CPU Affinity", "NUMA Affinity", "GPU NUMA ID"};
  std::map<std::size_t, std::string> found;
  for (const std::string& name : kNames)
    for (std::size_t at = header.find(name); at != std::string::npos; at = header.find(name, at + name.size()))
      found.emplace(at, name);
  if (!found.empty()) header.resize(found.begin()->first);
  std::vector<std::string> names;
  for (const auto& [at, name] : found) names.push_back(name);
  return names;
}

/// Names of devices; those that a paste glued together (GPU0GPU1GPU2) come apart. Ends behind kMostDevices.
std::vector<std::string> device_names(const std::string& header) {
  static const Regex one(R"(((?:GPU|NIC)\d+|mlx\d+_\d+)(.*))");
  std::vector<std::string> names;
  for (std::string word : words_of(header)) {
    if (names.size() > kMostDevices) break;
    word.resize(std::min(word.size(), kLongestWord));
    for (Match match = one.whole(word); match && !match[2].empty(); match = one.whole(word)) {
      if (!one.whole(match[2]) || names.size() > kMostDevices) break;
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

/// Where heads of tables stand: lines that begin with GPU0, above ones that begin with GPU0 and have an X.
struct Heads {
  std::vector<std::size_t> matrices, peers;  ///< of topo -m; of topo -p2p
};

Heads heads_in(const std::vector<std::string>& lines) {
  static const Regex head(R"(\s*GPU0(?:\s.*|GPU1.*|))"), row(R"(\s*GPU0\s.*\S.*)");
  Heads found;
  std::optional<std::size_t> above;
  for (std::size_t i = 0; i < lines.size(); ++i) {
    if (lines[i].find_first_not_of(" \t") == std::string::npos) continue;
    if (above && row.whole(lines[i])) {
      const auto words = words_of(lines[i]);
      const bool peers = std::any_of(words.begin(), words.end(), is_peer_word);
      (peers ? found.peers : found.matrices).push_back(*above);
      above.reset();
    } else {
      above = head.whole(lines[i]) ? std::optional(i) : std::nullopt;
    }
  }
  return found;
}

class MatrixReader {
 public:
  explicit MatrixReader(const std::string& path) : lines_(unwrapped_table(plain_log_lines(path, read_text(path)))) {
    matrix_.file = path;
  }

  TopoMatrix read() {
    read_header();
    for (MatrixRow& row : matrix_.rows) read_row(row);
    read_legend();
    check_symmetry();
    join_inside_nodes();
    for (const std::size_t head : heads_.peers) read_peers(head);
    return std::move(matrix_);
  }

  std::vector<PeerTable> peers_of(int gpus) {
    matrix_.gpus = gpus;
    for (const std::size_t head : heads_in(lines_).peers) read_peers(head);
    return std::move(matrix_.peers);
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
  void read_peers(std::size_t head);
  void read_row(MatrixRow& row);
  MatrixCell read_cell(const std::string& text) const;
  void read_affinity(MatrixRow& row, const std::vector<std::string>& fields) const;
  void read_legend();
  void expect_known(const std::vector<std::string>& words);
  void expect_same(const std::string& head) const;
  void check_symmetry() const;
  void join_inside_nodes();

  std::vector<std::string> lines_;
  std::size_t at_ = 0;
  int line_ = 0;
  Heads heads_;
  std::vector<std::string> affinity_;  // columns behind the matrix
  TopoMatrix matrix_;
};

void MatrixReader::read_header() {
  heads_ = heads_in(lines_);
  const auto& tables = heads_.matrices.empty() ? heads_.peers : heads_.matrices;
  if (tables.empty())
    throw InputError(matrix_.file + ": not the output of nvidia-smi topo -m: no line with GPU0 ... above its rows");
  for (std::size_t i = 0; i < tables.front(); ++i)
    if (lines_[i].find("topo -mp") != std::string::npos) matrix_.pcie_only = true;
  at_ = tables.front();
  std::string line = *next();
  affinity_ = affinities_in(line);
  for (const std::string& name : affinity_)
    if (std::count(affinity_.begin(), affinity_.end(), name) > 1) fail("'" + name + "' is there twice");
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
  if (is_peer_word(text))
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

/// Lines behind the table: the legend, which names adapters, a prompt, another command's output, another table.
void MatrixReader::read_legend() {
  static const Regex named(R"(\s*(\S+): (\S.*?)\s*)");
  bool legend = false, nvlinks = false;
  const std::set<std::size_t> peers(heads_.peers.begin(), heads_.peers.end());
  bool of_peers = false;  // rows of topo -p2p follow
  while (const std::string* line = next()) {
    const auto words = words_of(*line);
    if (words[0] == "Legend:") legend = true;
    if (words[0] == "NV#") nvlinks = true;
    if (peers.count(at_ - 1) > 0) {
      of_peers = true;
      continue;
    }
    if (std::find(heads_.matrices.begin(), heads_.matrices.end(), at_ - 1) != heads_.matrices.end()) expect_same(*line);
    of_peers = of_peers && gpu_number(words[0]);
    if (words.size() > matrix_.rows.size() && gpu_number(words[0]) && !of_peers) expect_known(words);
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

/// The head of a further table: of the same devices, or an error.
void MatrixReader::expect_same(const std::string& head) const {
  std::vector<std::string> names;
  for (const MatrixRow& row : matrix_.rows) names.push_back(row.name);
  std::string line = head;
  affinities_in(line);
  if (device_names(line) != names) fail("a second table, of other devices: give the table of one machine");
}

/// A row behind the table: the same table once more, or an error.
void MatrixReader::expect_known(const std::vector<std::string>& words) {
  static const Regex head(R"(GPU\d+|NIC\d+|mlx.*)");
  const bool is_head = std::none_of(words.begin(), words.end(), [](const auto& word) { return word == "X"; });
  if (is_head && head.whole(words[1])) return;
  const std::string name = words[0];
  const auto row =
      std::find_if(matrix_.rows.begin(), matrix_.rows.end(), [&](const MatrixRow& one) { return one.name == name; });
  if (row == matrix_.rows.end()) fail("'" + name + "' has a row, but no column");
  const auto first = words_of(lines_[static_cast<std::size_t>(row->line) - 1]);
  if (first != words)
    fail("a second table, in which '" + name + "' differs from line " + std::to_string(row->line) +
         ": give the table of one machine");
}

/// A table of topo -p2p; those of NVLinks, atomics and properties (n, a, p) say nothing of access over PCIe.
void MatrixReader::read_peers(std::size_t head) {
  static const Regex command(R"(.*-p2p\s+([a-z]+).*)");
  for (std::size_t i = head; i-- > 0;)
    if (const Match match = command.whole(lines_[i])) {
      if (match[1] != "r" && match[1] != "w") return;
      break;
    } else if (!words_of(lines_[i]).empty()) {
      break;
    }
  at_ = head;
  const auto columns = device_names(*next());
  if (static_cast<int>(columns.size()) != matrix_.gpus)
    fail(fmt::format("a table of topo -p2p with {} GPUs, and that of topo -m has {}", columns.size(), matrix_.gpus));
  PeerTable table;
  for (std::size_t i = 0; i < columns.size(); ++i) {
    const std::string* line = next();
    const auto words = line ? words_of(*line) : std::vector<std::string>{};
    if (words.size() != columns.size() + 1 || words[0] != fmt::format("GPU{}", i))
      fail(fmt::format("the row of GPU{} with {} entries is expected here", i, columns.size()));
    table.emplace_back();
    for (std::size_t j = 0; j < columns.size(); ++j) {
      if (words[j + 1] != "X" && !is_peer_word(words[j + 1])) fail("unknown entry '" + words[j + 1] + "' of topo -p2p");
      table.back().push_back(words[j + 1] == "X" || words[j + 1] == "OK");
    }
  }
  matrix_.peers.push_back(std::move(table));
}

/// The row whose affinities are a device's: its own, or of an adapter without any the first that it meets inside a
/// node.
const MatrixRow& affine_row(const TopoMatrix& matrix, const MatrixRow& row) {
  const auto known = [](const MatrixRow& one) { return one.numa || !one.cpu_affinity.empty(); };
  for (std::size_t i = 0; !known(row) && i < matrix.rows.size(); ++i)
    if (const PathClass path = row.cells[i].path;
        known(matrix.rows[i]) && path >= PathClass::kPix && path < PathClass::kSys)
      return matrix.rows[i];
  return row;
}

/// Virtual machines and boards with one CPU show SYS between devices of one NUMA node: host bridges of one CPU, then.
void MatrixReader::join_inside_nodes() {
  std::vector<const MatrixRow*> affine;
  for (const MatrixRow& row : matrix_.rows) affine.push_back(&affine_row(matrix_, row));
  std::vector<std::pair<std::size_t, std::size_t>> inside;
  for (std::size_t a = 0; a < affine.size(); ++a)
    for (std::size_t b = 0; b < affine.size(); ++b) {
      const MatrixRow &one = *affine[a], &other = *affine[b];
      const bool known = one.numa || !one.cpu_affinity.empty();
      if (matrix_.rows[a].cells[b].path == PathClass::kSys && known && one.numa == other.numa &&
          one.cpu_affinity == other.cpu_affinity)
        inside.emplace_back(a, b);
    }
  for (const auto& [a, b] : inside) matrix_.rows[a].cells[b].path = PathClass::kNode;
  matrix_.sys_inside_node = !inside.empty();
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
  const Heads heads = heads_in(unwrapped_table(plain_log_lines("", text)));
  return !heads.matrices.empty() || !heads.peers.empty();
}

bool is_peer_table(const std::string& text) {
  const Heads heads = heads_in(unwrapped_table(plain_log_lines("", text)));
  return heads.matrices.empty() && !heads.peers.empty();
}

std::vector<PeerTable> read_peer_tables(const std::string& path, int gpus) { return MatrixReader(path).peers_of(gpus); }

TopoMatrix read_topo_matrix(const std::string& path) { return MatrixReader(path).read(); }

}  // namespace linkcast::topology_import
