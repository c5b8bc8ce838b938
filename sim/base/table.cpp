#include "sim/base/table.hpp"

#include <algorithm>
#include <atomic>
#include <cctype>

#include "sim/base/text_width.hpp"

namespace linkcast {
namespace {

using Rows = std::vector<std::vector<std::string>>;

std::atomic<std::size_t> columns_of_process = kColumns;

constexpr std::size_t kBetween = 2;
constexpr std::size_t kNarrowest = 20;  // ours: a column of text is not made narrower
constexpr std::size_t kHanging = 4;     // where a last column gets lines of its own

/// A quantity begins with a digit and is no expression like 2(n-1), no sentence that begins with a number.
bool is_quantity(const std::string& cell) {
  constexpr int most_words = 3;  // "2 x nvlink2"
  if (cell.empty() || std::isdigit(static_cast<unsigned char>(cell[0])) == 0) return false;
  if (cell.find(':') != std::string::npos || std::count(cell.begin(), cell.end(), ' ') >= most_words) return false;
  const std::size_t end = cell.find_first_not_of("0123456789.");
  return end == std::string::npos || cell[end] != '(';
}

struct Layout {
  std::vector<std::size_t> width;
  bool hangs = false;  ///< the last column stands below the others
};

std::size_t whole_width(const std::vector<std::size_t>& width) {
  std::size_t sum = 0;
  for (const std::size_t one : width) sum += one + kBetween;
  return sum < kBetween ? 0 : sum - kBetween;
}

bool holds_text(const Rows& rows, std::size_t column) {
  return std::any_of(rows.begin(), rows.end(), [&](const auto& row) {
    return row.size() > column && row[column].size() > kNarrowest && !is_quantity(row[column]);
  });
}

std::vector<std::size_t> natural_width(const Rows& rows) {
  std::vector<std::size_t> width;
  for (const auto& row : rows)
    for (std::size_t i = 0; i < row.size(); ++i) {
      if (i == width.size()) width.push_back(0);
      width[i] = std::max(width[i], row[i].size());
    }
  return width;
}

/// Columns of text share what is left of text_columns(); figures and names keep theirs, and a matrix stays as wide as
/// it is.
Layout layout_of(const Rows& rows) {
  const std::vector<std::size_t> natural = natural_width(rows);
  Layout layout{natural};
  std::vector<std::size_t> texts;
  for (std::size_t i = 1; i < natural.size(); ++i)
    if (holds_text(rows, i)) texts.push_back(i);
  while (whole_width(layout.width) > text_columns() && !texts.empty()) {
    const auto widest =
        std::max_element(texts.begin(), texts.end(), [&](auto a, auto b) { return layout.width[a] < layout.width[b]; });
    if (layout.width[*widest] <= kNarrowest) break;
    --layout.width[*widest];
  }
  if (whole_width(layout.width) <= text_columns() || texts.empty()) return layout;
  layout.width = natural;
  layout.hangs = texts.back() + 1 == natural.size();
  return layout;
}

/// A cell's lines; a space in front of it stays in front of each.
std::vector<std::string> cell_lines(const std::string& cell, std::size_t width) {
  if (cell.size() <= width) return {cell};
  const std::string before = cell.rfind(' ', 0) == 0 ? " " : "";
  std::vector<std::string> lines = wrapped(cell, width - before.size());
  for (std::string& line : lines) line = before + line;
  return lines;
}

void add_row(const std::vector<std::string>& row, const Layout& layout, std::string& text) {
  const bool hangs = layout.hangs && row.size() == layout.width.size() && whole_width(layout.width) > text_columns();
  std::vector<std::vector<std::string>> cells;
  std::size_t height = 1;
  for (std::size_t i = 0; i + (hangs ? 1 : 0) < row.size(); ++i) {
    cells.push_back(cell_lines(row[i], layout.width[i]));
    height = std::max(height, cells.back().size());
  }
  for (std::size_t k = 0; k < height; ++k) {
    std::string line;
    for (std::size_t i = 0; i < cells.size(); ++i) {
      const std::string cell = k < cells[i].size() ? cells[i][k] : "";
      const std::string pad(layout.width[i] - std::min(layout.width[i], cell.size()), ' ');
      line += std::string(i == 0 ? 0 : kBetween, ' ') + (is_quantity(row[i]) ? pad + cell : cell + pad);
    }
    line.erase(line.find_last_not_of(' ') + 1);
    text += line + '\n';
  }
  if (!hangs) return;
  for (const std::string& line : wrapped(row.back(), std::max(text_columns(), kNarrowest + kHanging) - kHanging))
    text += std::string(kHanging, ' ') + line + '\n';
}

}  // namespace

std::size_t text_columns() { return columns_of_process; }

void set_text_columns(std::size_t columns) { columns_of_process = columns; }

std::vector<std::string> wrapped(const std::string& text, std::size_t width) {
  std::vector<std::string> lines;
  std::size_t end = 0;
  for (std::size_t begin = text.find_first_not_of(" \n"); begin != std::string::npos;
       begin = text.find_first_not_of(" \n", end)) {
    const std::size_t gap = begin - end;  // two spaces stay two
    end = std::min(text.find_first_of(" \n", begin), text.size());
    if (lines.empty() || lines.back().size() + gap + (end - begin) > width)
      lines.push_back(text.substr(begin, end - begin));
    else
      lines.back() += std::string(gap, ' ') + text.substr(begin, end - begin);
  }
  return lines;
}

std::string shortened(std::string text, std::size_t most_B) {
  if (text.size() <= most_B) return text;
  while ((static_cast<unsigned char>(text[most_B]) & 0xc0U) == 0x80U) --most_B;  // source: RFC 3629, inside a character
  text.resize(most_B);
  return text + "...";
}

std::string one_line(const std::string& text) {
  constexpr char hex[] = "0123456789abcdef";
  std::string out;
  for (const char c : text) {
    const auto byte = static_cast<unsigned char>(c);
    if (byte >= 0x20 && byte != 0x7f)
      out += c;
    else
      out += std::string("\\x") + hex[byte >> 4U] + hex[byte & 15U];
  }
  return out;
}

std::string table_text(const Rows& rows) {
  const Layout layout = layout_of(rows);
  std::string text;
  for (const auto& row : rows) add_row(row, layout, text);
  return text;
}

}  // namespace linkcast
