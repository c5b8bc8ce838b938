#include "calibrate/import/matrix_table.hpp"

#include <fmt/format.h>

#include "calibrate/import/text_file.hpp"

namespace linkcast {
namespace {

/// @returns the number of columns
int read_header(TextFile& file, const std::string& corner, const std::string& name) {
  file.expect_more("the line of column numbers of " + name);
  auto words = words_of(file.line());
  if (!corner.empty()) {
    if (words.empty() || words.front() != corner)
      file.fail(name + ": the line of column numbers is due, it starts with " + corner);
    words.erase(words.begin());
  }
  for (std::size_t i = 0; i < words.size(); ++i)
    if (whole_number(words[i]) != static_cast<int>(i))
      file.fail(fmt::format("{}: '{}' stands where column number {} is due", name, words[i], i));
  if (words.empty()) file.fail(name + ": the line of column numbers is due");
  file.next();
  return static_cast<int>(words.size());
}

}  // namespace

MatrixTable read_matrix(TextFile& file, const std::string& corner, const std::string& name) {
  MatrixTable table;
  table.columns = read_header(file, corner, name);
  while (!file.at_end()) {
    auto words = words_of(file.line());
    if (words.empty() || !whole_number(words.front())) break;
    if (whole_number(words.front()) != table.rows())
      file.fail(fmt::format("{}: row {} stands where row {} is due", name, words.front(), table.rows()));
    if (static_cast<int>(words.size()) - 1 != table.columns)
      file.fail(
          fmt::format("{}: row {} has {} values for {} columns", name, words.front(), words.size() - 1, table.columns));
    file.expect_line_end();
    words.erase(words.begin());
    table.cells.push_back(words);
    table.lines.push_back(file.number());
    file.next();
  }
  if (table.cells.empty()) file.fail(name + ": has no row");
  return table;
}

double positive_cell(const TextFile& file, const MatrixTable& table, int row, int column, int exponent) {
  const auto r = static_cast<std::size_t>(row), c = static_cast<std::size_t>(column);
  const auto value = decimal(table.cells[r][c], exponent);
  if (!value || !(*value > 0))
    file.fail_at(table.lines[r], fmt::format("'{}' in column {} is not a number above 0", table.cells[r][c], column));
  return *value;
}

}  // namespace linkcast
