#include "cli/data_output.hpp"

#include <algorithm>
#include <iostream>
#include <utility>

#include "cli/command.hpp"
#include "cli/stdin_file.hpp"

namespace linkcast::cli {
namespace {

using Cells = std::vector<std::pair<std::string, std::string>>;

std::string plain_text(const Json& value) {
  if (value.is_null()) return "";
  return value.is_string() ? value.get<std::string>() : value.dump();
}

bool holds_objects(const Json& list) {
  return std::any_of(list.begin(), list.end(), [](const Json& item) { return item.is_object(); });
}

/// "0 1 2"; of lists of lists "0 1 2;0 2 1".
std::string list_text(const Json& list) {
  std::string text;
  for (const Json& item : list)
    text += (text.empty() ? "" : item.is_array() ? ";" : " ") + (item.is_array() ? list_text(item) : plain_text(item));
  return text;
}

void add_cells(const Json& object, const std::string& before, Cells& cells) {
  for (const auto& [key, value] : object.items()) {
    if (key == "inputs" || key == "versions" || key == "warnings") continue;
    if (value.is_object())
      add_cells(value, before + key + ".", cells);
    else if (!value.is_array())
      cells.emplace_back(before + key, plain_text(value));
    else if (!holds_objects(value))
      cells.emplace_back(before + key, list_text(value));
  }
}

std::string csv_cell(const std::string& text) {
  if (text.find_first_of(",\"\r\n") == std::string::npos) return text;
  std::string quoted = "\"";
  for (const char c : text) quoted += c == '"' ? "\"\"" : std::string(1, c);
  return quoted + "\"";
}

Json rows_of_result(const Json& result, const std::string& rows) {
  if (rows.empty()) return Json::array({result});
  Json list = Json::array();
  if (!result[rows].is_object()) {
    for (const Json& row : result[rows]) list.push_back(row.is_object() ? row : Json{{rows, row}});
    return list;
  }
  for (const auto& [name, row] : result[rows].items()) {
    list.push_back({{"name", name}});
    list.back().update(row);
  }
  return list;
}

}  // namespace

void add_format(CLI::App& command, Context& context, const std::vector<std::string>& more) {
  std::vector<std::string> formats{"table", "json", "csv"};
  formats.insert(formats.end(), more.begin(), more.end());
  command.add_flag("--json", context.json, "one JSON object on stdout instead of a table");
  std::string others;
  for (const std::string& one : more) others += ", " + one;
  command.add_option("--format", context.format, "table, json, csv" + others + " (default: table)")
      ->check(CLI::IsMember(formats));
}

Json rows_of_files(const Json& files, const std::string& key) {
  Json rows = Json::array();
  for (const Json& file : files)
    for (const Json& row : file[key]) {
      rows.push_back({{"file", file["file"]}});
      rows.back().update(row);
    }
  return rows;
}

std::string csv_of(const Json& rows) {
  std::vector<std::string> columns;
  std::vector<Cells> lines;
  for (const Json& row : rows) {
    add_cells(row, "", lines.emplace_back());
    for (const auto& cell : lines.back())
      if (std::find(columns.begin(), columns.end(), cell.first) == columns.end()) columns.push_back(cell.first);
  }
  std::string text;
  for (const std::string& column : columns) text += (text.empty() ? "" : ",") + csv_cell(column);
  text += "\n";
  for (const Cells& line : lines) {
    for (std::size_t i = 0; i < columns.size(); ++i) {
      const auto cell =
          std::find_if(line.begin(), line.end(), [&](const auto& one) { return one.first == columns[i]; });
      text += (i == 0 ? "" : ",") + (cell == line.end() ? "" : csv_cell(cell->second));
    }
    text += "\n";
  }
  return text;
}

bool print_as_data(const Context& context, const Json& result, const std::string& rows) {
  if (context.json) {
    std::cout << naming_stdin(result.dump(2)) << '\n';
    return true;
  }
  if (context.format != "csv") return false;
  std::cout << naming_stdin(csv_of(rows_of_result(result, rows)));
  print_warnings(result);
  return true;
}

}  // namespace linkcast::cli
