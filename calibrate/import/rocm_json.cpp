// `rocm-smi --showtopo --json`: an object "system" with a key a pair, and one object a card. `amd-smi topology --json`:
// a list of GPUs with their links; `amd-smi static --json`: the same with names, buses and NUMA nodes.
// source: recalled of ROCm's rocm_smi.py and amdsmi_commands.py, ROCm 5 to 7; no file of AMD's own was at hand
#include "calibrate/import/rocm_json.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>
#include <vector>

#include "calibrate/import/text_file.hpp"
#include "sim/base/object_reader.hpp"
#include "sim/base/regex.hpp"

namespace linkcast::topology_import {
namespace {

using Table = std::map<std::pair<std::string, std::string>, std::string>;  ///< by names of row and column

std::string text_of(const Json& value) {
  return value.is_string() ? value.get<std::string>() : value.is_null() ? "N/A" : value.dump();
}

/// Nothing where a type of link is due is no type, and is refused as such.
std::string cell_of(const std::string& title, const Json& value) {
  static const std::set<std::string> kTypes{"Link Type between two GPUs", "LINK TYPE TABLE:"};
  return value.is_null() && kTypes.contains(title) ? "null" : text_of(value);
}

/// @throws InputError  two GPUs of which it says nothing
std::string table_text(const std::string& path, const std::string& title, const std::vector<std::string>& names,
                       const Table& cells, const std::string& own) {
  if (cells.empty()) return "";
  std::string text = title + "\n";
  for (const std::string& name : names) text += " " + name;
  for (const std::string& row : names) {
    text += "\n" + row;
    for (const std::string& column : names) {
      const auto cell = cells.find({row, column});
      if (cell == cells.end() && row != column)
        throw InputError(
            fmt::format("{}: says nothing of {} to {} in '{}': a part of it is lost", path, row, column, title));
      text += " " + (cell != cells.end() ? cell->second : own);
    }
  }
  return text + "\n\n";
}

}  // namespace

/// "card0": {"(Topology) Numa Node": "0", "Card series": ...} as "GPU[0] : (Topology) Numa Node: 0".
std::string rocm_smi_text(const Json& json, const std::string& path) {
  static const Regex pair(R"(\(Topology\) (Weight|Hops|Link type) between DRM devices (\d+) and (\d+))"),
      card(R"(card(\d+))");
  static const std::map<std::string, std::string> kTitles{{"Weight", "Weight between two GPUs"},
                                                          {"Hops", "Hops between two GPUs"},
                                                          {"Link type", "Link Type between two GPUs"}};
  std::map<std::string, Table> tables;
  std::map<int, std::string> cards;
  int gpus = 0;
  for (const auto& [name, object] : json.items()) {
    if (!object.is_object()) continue;
    const Match number = card.whole(name);
    for (const auto& [key, value] : object.items()) {
      if (number)
        cards[whole_number(number[1]).value_or(0)] += fmt::format("GPU[{}] : {}: {}\n", number[1], key, text_of(value));
      const Match match = pair.whole(key);
      if (!match) continue;
      const std::string a = "GPU" + match[2], b = "GPU" + match[3];
      const std::string& title = kTitles.at(match[1]);
      for (const auto& ends : {std::pair(a, b), std::pair(b, a)}) tables[title][ends] = cell_of(title, value);
      gpus = std::max({gpus, whole_number(match[2]).value_or(0) + 1, whole_number(match[3]).value_or(0) + 1});
    }
  }
  constexpr int kMost = 256;  // far more than a machine has. source: ours
  std::vector<std::string> names;
  for (int gpu = 0; gpu < std::min(gpus, kMost); ++gpu) names.push_back(fmt::format("GPU{}", gpu));
  std::string text;
  for (const auto& [title, cells] : tables) text += table_text(path, title, names, cells, "0");
  for (const auto& [gpu, lines] : cards) text += lines;
  return text;
}

namespace {

/// "asic": {"market_name": ...}, "bus": {"bdf": ...}, "numa": {"node": 0} as the blocks of amd-smi static.
std::string static_text(const Json& gpu) {
  std::string text = fmt::format("GPU: {}\n", text_of(gpu.value("gpu", Json(0))));
  for (const auto& [part, key, title] :
       {std::tuple("asic", "market_name", "MARKET_NAME"), {"bus", "bdf", "BDF"}, {"numa", "node", "NODE"}})
    if (gpu.contains(part) && gpu[part].is_object() && gpu[part].contains(key))
      text += fmt::format("    {}: {}\n", title, text_of(gpu[part][key]));
  return text;
}

}  // namespace

std::string amd_smi_text(const Json& gpus, const std::string& path) {
  static const std::vector<std::tuple<const char*, const char*, const char*>> kTables{
      {"link_status", "ACCESS TABLE:", "ENABLED"},
      {"weight", "WEIGHT TABLE:", "0"},
      {"num_hops", "HOPS TABLE:", "0"},
      {"link_type", "LINK TYPE TABLE:", "SELF"},
      {"bandwidth", "NUMA BW TABLE:", "N/A"}};
  std::map<std::string, Table> tables;
  std::vector<std::string> names;
  std::string text;
  for (const Json& gpu : gpus) {
    if (!gpu.is_object()) continue;
    if (!gpu.contains("links")) text += static_text(gpu);
    if (!gpu.contains("links") || !gpu["links"].is_array()) continue;
    const std::string own = text_of(gpu.value("bdf", Json("")));
    const std::string pointer = fmt::format("/{}/links", names.size());
    names.push_back(own);
    for (const Json& link : gpu["links"]) {
      if (!link.is_object() || !link.contains("bdf")) throw InputError(path, pointer, "holds a link without bdf");
      for (const auto& [key, title, self] : kTables)
        if (const std::string far = text_of(link["bdf"]); link.contains(key) && far != own)
          tables[title][{own, far}] = cell_of(title, link[key]);
    }
  }
  for (const auto& [key, title, self] : kTables) text += table_text(path, title, names, tables[title], self);
  return text;
}

std::string rocm_text_of_json(const std::string& path, const std::string& text) {
  static const Regex begins(R"(\A\s*(?:\{|\[\s*\{))");  // "[0] " in front of lines is no list
  if (!begins.find(text)) return "";
  Json json = read_json_file(path);
  if (json.is_object() && json.contains("gpu_data")) json = Json(json["gpu_data"]);
  return json.is_array() ? amd_smi_text(json, path) : rocm_smi_text(json, path);
}

}  // namespace linkcast::topology_import
