// `amd-smi topology --csv` and `amd-smi static --csv`: a line a GPU, whose columns name table and other GPU.
// `rocm-smi --showtopo --csv`: the keys of its JSON, a line each.
// source: recalled of ROCm's amdsmi_logger.py (flatten_dict) and rocm_smi.py (formatCsv), ROCm 5 to 7
#include "calibrate/import/rocm_csv.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <map>

#include "calibrate/import/log_text.hpp"
#include "calibrate/import/rocm_json.hpp"
#include "calibrate/import/text_file.hpp"
#include "calibrate/import/topology_request.hpp"
#include "sim/base/regex.hpp"
#include "sim/base/text.hpp"

namespace linkcast::topology_import {
namespace {

/// The key of amd-smi's JSON for a table by the names that versions give it; empty: it is none.
std::string link_key_of(const std::string& name) {
  static const std::map<std::string, std::string> kKeys{{"link_accessibility", "link_status"},
                                                        {"link_status", "link_status"},
                                                        {"access", "link_status"},
                                                        {"link_type", "link_type"},
                                                        {"weight", "weight"},
                                                        {"num_hops", "num_hops"},
                                                        {"hops", "num_hops"},
                                                        {"numa_bandwidth", "bandwidth"},
                                                        {"numa_bw", "bandwidth"},
                                                        {"bandwidth", "bandwidth"}};
  const auto found = kKeys.find(name);
  return found == kKeys.end() ? "" : found->second;
}

/// A column of a table: weight_gpu_1, weight_1, links_1_weight, weight_0000:2f:00.0.
struct LinkColumn {
  std::string key, other;  ///< other: a GPU's number or bus
};

LinkColumn link_column(const std::string& column) {
  static const Regex behind(R"((?:links_)?([a-z_]+?)_(?:gpu_?)?(\d{1,3}|[0-9a-fA-F]{4,8}:[0-9a-fA-F:.]+))"),
      before(R"((?:links_)?(?:gpu_?)?(\d{1,3})_([a-z_]+))");
  if (const Match match = behind.whole(column); match && !link_key_of(match[1]).empty())
    return {link_key_of(match[1]), match[2]};
  if (const Match match = before.whole(column); match) return {link_key_of(match[2]), match[1]};
  return {};
}

/// A list as Python prints it, as JSON: [{'bdf': '0000:2f:00.0', 'bandwidth': None}].
std::string json_of_python(const std::string& text) {
  static const std::map<std::string, std::string> kWords{
      {"None", "null"}, {"True", "true"}, {"False", "false"}, {"nan", "null"}, {"inf", "null"}};
  std::string json;
  for (std::size_t i = 0; i < text.size();) {
    const char c = text[i];
    std::string part;
    if (c == '\'' || c == '"') {
      for (++i; i < text.size() && text[i] != c; ++i) {
        i += text[i] == '\\' && i + 1 < text.size() ? 1U : 0U;
        part += text[i];
      }
      ++i;
      json += Json(part).dump(-1, ' ', false, Json::error_handler_t::replace);
      continue;
    }
    for (; i < text.size() && std::isalpha(static_cast<unsigned char>(text[i])) != 0; ++i) part += text[i];
    const auto word = kWords.find(part);
    json += word != kWords.end() ? word->second : part.empty() ? std::string(1, text[i++]) : part;
  }
  return json;
}

class AmdCsv {
 public:
  AmdCsv(const std::string& path, std::vector<CsvRow> rows) : path_(path), head_(rows.front()), rows_(std::move(rows)) {
    rows_.erase(rows_.begin());
    for (std::size_t i = 0; i < rows_.size(); ++i)
      if (rows_[i].cells[0] != std::to_string(i))
        fail_at(path_, rows_[i].line,
                fmt::format("'{}' stands where GPU {} is due: GPUs count from 0 without gaps", rows_[i].cells[0], i));
  }
  [[nodiscard]] std::string text() const {
    Json gpus = Json::array();
    for (const CsvRow& row : rows_) gpus.push_back(gpu_of(row));
    return amd_smi_text(gpus, path_);
  }

 private:
  [[nodiscard]] std::string bus_of(const CsvRow& row, const std::string& other) const;
  [[nodiscard]] Json links_in(const CsvRow& row) const;
  [[nodiscard]] Json gpu_of(const CsvRow& row) const;

  std::string path_;
  CsvRow head_;
  std::vector<CsvRow> rows_;
};

/// @param other  a number or a bus
std::string AmdCsv::bus_of(const CsvRow& row, const std::string& other) const {
  const auto number = linkcast::whole_number(other);
  if (!number) return other;
  const auto at = std::find(head_.cells.begin(), head_.cells.end(), "bdf");
  if (static_cast<std::size_t>(*number) >= rows_.size() || at == head_.cells.end())
    fail_at(path_, row.line, "has a column of GPU " + other + ", and no line with its bdf is there");
  return rows_[static_cast<std::size_t>(*number)].cells[static_cast<std::size_t>(at - head_.cells.begin())];
}

/// Null where no column is of links.
Json AmdCsv::links_in(const CsvRow& row) const {
  std::map<std::string, Json> links;
  for (std::size_t i = 0; i < row.cells.size(); ++i) {
    if (head_.cells[i] == "links") {
      Json list = parse_foreign_json(json_of_python(row.cells[i]), path_);
      if (!list.is_array()) fail_at(path_, row.line, "column links is no list of links: give the JSON instead");
      return list;
    }
    const LinkColumn column = link_column(head_.cells[i]);
    if (column.key.empty()) continue;
    const std::string bus = bus_of(row, column.other);
    links[bus]["bdf"] = bus;
    links[bus][column.key] = row.cells[i];
  }
  Json list;
  for (const auto& [bus, link] : links) list.push_back(link);
  return list;
}

Json AmdCsv::gpu_of(const CsvRow& row) const {
  Json gpu = Json::object();
  for (std::size_t i = 0; i < row.cells.size(); ++i) {
    const std::string& column = head_.cells[i];
    if (column == "gpu" || column == "bdf") gpu[column] = row.cells[i];
    for (const auto& [part, name] : {std::pair("asic", "market_name"), {"bus", "bdf"}, {"numa", "node"}})
      if (column == name) gpu[part][name] = row.cells[i];
  }
  if (Json links = links_in(row); !links.is_null()) gpu["links"] = std::move(links);
  return gpu;
}

/// Lines from the one whose first cell is gpu on, each where it stands; none: there is no such line.
std::string csv_lines(const std::vector<std::string>& lines) {
  static const Regex head(R"(\s*gpu\s*,\s*[a-z]\w*\s*,.*)"), row(R"(\s*\d+\s*,.*)");
  std::string text;
  bool inside = false;
  for (const std::string& line : lines) {
    if (inside && !row.whole(line)) break;
    inside = inside || head.whole(line);
    text += inside ? line + "\n" : "\n";
  }
  return inside || text.find(',') != std::string::npos ? text : "";
}

/// The object of rocm-smi's JSON.
Json rocm_smi_object(const std::vector<std::string>& lines) {
  static const Regex pair(R"re(\s*"?(\(Topology\) [^",]+?)"?\s*,\s*"?([^",]*?)"?\s*)re"), card(R"(\s*(card\d+)\s*,.*)");
  Json json = Json::object();
  std::vector<std::string> columns;
  for (const std::string& line : lines) {
    const auto cells = split(line, ',');
    if (line.find("(Topology)") != std::string::npos && cells.front() == "device") columns = cells;
    if (const Match match = pair.whole(line)) json["system"][match[1]] = match[2];
    if (const Match match = card.whole(line); match && cells.size() == columns.size())
      for (std::size_t i = 1; i < cells.size(); ++i) json[match[1]][columns[i]] = cells[i];
  }
  return json;
}

}  // namespace

std::string rocm_text_of_csv(const std::string& path, const std::vector<std::string>& lines) {
  const std::string csv = csv_lines(lines);
  return csv.empty() ? rocm_smi_text(rocm_smi_object(lines), path) : AmdCsv(path, read_csv(path, csv)).text();
}

bool has_rocm_csv(const std::string& text) {
  static const Regex columns(R"((?m)^\s*gpu,bdf,.*(?:link_type|links)|^\s*"?\(Topology\) Link type between[^,\n]*,)");
  return bool{columns.find(text)};
}

}  // namespace linkcast::topology_import
