#include "calibrate/import/csv_cells.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace linkcast {
namespace {

std::string trimmed_cell(const std::string& text) {
  const std::size_t first = text.find_first_not_of(" \t");
  return first == std::string::npos ? "" : text.substr(first, text.find_last_not_of(" \t") - first + 1);
}

/// Walks over the text one cell at a time.
class Scanner {
 public:
  explicit Scanner(const TextFile& file) : file_(file), text_(file.text()) {
    if (text_.starts_with("\xEF\xBB\xBF")) at_ = 3;  // the mark that spreadsheets put before UTF-8
  }
  [[nodiscard]] bool done() const { return at_ >= text_.size(); }
  [[nodiscard]] int line() const { return line_; }
  [[nodiscard]] bool skip_line_end();
  [[nodiscard]] std::string cell();
  [[nodiscard]] bool skip_comma();

 private:
  [[nodiscard]] std::string quoted();

  const TextFile& file_;
  const std::string& text_;
  std::size_t at_ = 0;
  int line_ = 1;
};

bool Scanner::skip_line_end() {
  if (!done() && text_[at_] == '\r' && at_ + 1 < text_.size() && text_[at_ + 1] == '\n') ++at_;
  if (done() || text_[at_] != '\n') return false;
  ++at_;
  ++line_;
  return true;
}

bool Scanner::skip_comma() {
  if (done() || text_[at_] != ',') return false;
  ++at_;
  return true;
}

std::string Scanner::quoted() {
  const int begin = line_;
  std::string cell;
  for (++at_; !done(); ++at_) {
    if (text_[at_] == '\n') ++line_;
    if (text_[at_] != '"') {
      cell += text_[at_];
    } else if (at_ + 1 < text_.size() && text_[at_ + 1] == '"') {
      cell += text_[at_++];
    } else {
      ++at_;
      if (!done() && text_[at_] != ',' && text_[at_] != '\n' && text_[at_] != '\r')
        file_.fail_at(line_, "text behind a closing quote: a comma or the end of the line is due");
      return cell;
    }
  }
  file_.fail_at(begin, "a quote that does not end");
}

std::string Scanner::cell() {
  if (!done() && text_[at_] == '"') return quoted();
  const std::size_t end = std::min(text_.find_first_of(",\r\n\"", at_), text_.size());
  if (end < text_.size() && text_[end] == '"') file_.fail_at(line_, "a quote inside a cell: quote the whole cell");
  const std::string cell = trimmed_cell(text_.substr(at_, end - at_));
  at_ = end;
  return cell;
}

}  // namespace

std::vector<CsvRow> read_csv(const TextFile& file) {
  std::vector<CsvRow> rows;
  Scanner scanner(file);
  while (!scanner.done()) {
    if (scanner.skip_line_end()) continue;
    CsvRow row{scanner.line(), {scanner.cell()}};
    while (scanner.skip_comma()) row.cells.push_back(scanner.cell());
    if (!scanner.done() && !scanner.skip_line_end()) file.fail_at(scanner.line(), "a carriage return inside a line");
    if (!rows.empty() && row.cells.size() != rows.front().cells.size())
      file.fail_at(row.line,
                   fmt::format("has {} cells, the first row {}", row.cells.size(), rows.front().cells.size()));
    rows.push_back(row);
  }
  if (rows.empty()) file.fail_at(1, "holds no row");
  return rows;
}

}  // namespace linkcast
