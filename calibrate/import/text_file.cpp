#include "calibrate/import/text_file.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <filesystem>
#include <sstream>
#include <string>
#include <utility>

#include "sim/base/input_error.hpp"
#include "sim/base/null_for_nan.hpp"
#include "sim/base/object_reader.hpp"
#include "sim/base/packed_file.hpp"
#include "sim/base/regex.hpp"

namespace linkcast {
namespace {

std::string trimmed_cell(const std::string& text) {
  const std::size_t first = text.find_first_not_of(" \t");
  return first == std::string::npos ? "" : text.substr(first, text.find_last_not_of(" \t") - first + 1);
}

/// Walks over the text one cell at a time.
class Scanner {
 public:
  Scanner(const std::string& path, const std::string& text) : path_(path), text_(text) {
    if (text_.starts_with("\xEF\xBB\xBF")) at_ = 3;  // the mark that spreadsheets put before UTF-8
  }
  [[nodiscard]] bool done() const { return at_ >= text_.size(); }
  [[nodiscard]] int line() const { return line_; }
  [[nodiscard]] bool skip_line_end();
  [[nodiscard]] std::string cell();
  [[nodiscard]] bool skip_comma();
  [[noreturn]] void fail_at(int line, const std::string& what) const {
    throw InputError(fmt::format("{}:{}: {}", path_, line, what));
  }

 private:
  [[nodiscard]] std::string quoted();

  const std::string &path_, &text_;
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
        fail_at(line_, "text behind a closing quote: a comma or the end of the line is due");
      return cell;
    }
  }
  fail_at(begin, "a quote that does not end");
}

std::string Scanner::cell() {
  if (!done() && text_[at_] == '"') return quoted();
  const std::size_t end = std::min(text_.find_first_of(",\r\n\"", at_), text_.size());
  if (end < text_.size() && text_[end] == '"') fail_at(line_, "a quote inside a cell: quote the whole cell");
  const std::string cell = trimmed_cell(text_.substr(at_, end - at_));
  at_ = end;
  return cell;
}

}  // namespace

std::vector<CsvRow> read_csv(const TextFile& file) { return read_csv(file.path(), file.text()); }

std::vector<CsvRow> read_csv(const std::string& path, const std::string& text) {
  std::vector<CsvRow> rows;
  Scanner scanner(path, text);
  while (!scanner.done()) {
    if (scanner.skip_line_end()) continue;
    CsvRow row{scanner.line(), {scanner.cell()}};
    while (scanner.skip_comma()) row.cells.push_back(scanner.cell());
    if (!scanner.done() && !scanner.skip_line_end()) scanner.fail_at(scanner.line(), "a carriage return inside a line");
    if (!rows.empty() && row.cells.size() != rows.front().cells.size())
      scanner.fail_at(row.line,
                      fmt::format("has {} cells, the first row {}", row.cells.size(), rows.front().cells.size()));
    rows.push_back(row);
  }
  if (rows.empty()) scanner.fail_at(1, "holds no row");
  return rows;
}

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

namespace {

template <class Number>
std::optional<Number> whole_text(std::string_view text) {
  Number value{};
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return value;
}

}  // namespace

std::optional<double> decimal(std::string_view text, int exponent) {
  const auto plain = whole_text<double>(text);
  if (!plain || !std::isfinite(*plain)) return std::nullopt;
  if (*plain == 0) return 0.0;
  const std::size_t mark = std::min(text.find_first_of("eE"), text.size());
  int printed = 0;
  if (mark < text.size()) {
    std::string_view digits = text.substr(mark + 1);
    if (digits.front() == '+') digits.remove_prefix(1);
    const auto value = whole_text<int>(digits);
    if (!value) return std::nullopt;
    printed = *value;
  }
  const auto scaled = whole_text<double>(fmt::format("{}e{}", text.substr(0, mark), printed + exponent));
  return scaled && std::isfinite(*scaled) ? scaled : std::nullopt;
}

std::optional<int> whole_number(std::string_view text) {
  const auto value = whole_text<int>(text);
  return value && *value >= 0 ? value : std::nullopt;
}

std::optional<std::int64_t> whole_size(std::string_view text) {
  constexpr std::int64_t largest = std::int64_t{1} << 53;
  const auto value = whole_text<std::int64_t>(text);
  return value && *value >= 0 && *value <= largest ? value : std::nullopt;
}

std::vector<std::string> words_of(std::string_view line) {
  std::istringstream in{std::string(line)};
  std::vector<std::string> words;
  for (std::string word; in >> word;) words.push_back(word);
  return words;
}

std::string file_name(const std::string& path) {
  if (path.starts_with("/proc/self/fd/")) return "standard input";  // kept there (cli/files.cpp)
  return std::filesystem::path(path).filename().string();
}

TextFile::TextFile(const std::string& path) : path_(path) {
  text_ = file_text(path);
  ends_whole_ = text_.ends_with('\n') || text_.ends_with('\r');
  std::istringstream lines(text_);
  for (std::string line; std::getline(lines, line);) {
    if (!line.empty() && line.back() == '\r') line.pop_back();
    lines_.push_back(line);
    numbers_.push_back(static_cast<int>(lines_.size()));
  }
  if (text_.find_first_not_of(" \t\r\n") == std::string::npos) throw InputError(path + ": is empty");
  if (text_.find('\0') != std::string::npos) throw InputError(path + ": is no text file");
}

void TextFile::expect_short_lines() const {
  constexpr std::size_t longest = 10000;  // a row of a matrix of 576 GPUs has 6000 characters
  for (std::size_t i = 0; i < lines_.size(); ++i)
    if (lines_[i].size() > longest)
      fail_at(static_cast<int>(i) + 1,
              fmt::format("a line of {} characters, at most {}: no text of such a program", lines_[i].size(), longest));
}

namespace {

/// "310.50" is 2; -1: no decimal point
int decimals_of(const std::string& word) {
  const std::size_t point = word.find('.');
  return point == std::string::npos ? -1 : static_cast<int>(word.size() - point - 1);
}

/// Whether a last row is whole although its line has no end: programs print as many decimals in each row.
bool ends_as(const std::string& row, const std::string& row_above) {
  const auto words = words_of(row), above = words_of(row_above);
  return words.size() == above.size() && !words.empty() && decimals_of(words.back()) > 1 &&
         decimals_of(words.back()) == decimals_of(above.back());
}

}  // namespace

void TextFile::expect_line_end() const {
  if (at_ + 1 < lines_.size() || ends_whole_) return;
  if (at_ == 0 || !ends_as(lines_[at_], lines_[at_ - 1])) fail("the file ends inside this line");
}

void TextFile::strip_launchers() {
  if (std::exchange(plain_, true)) return;
  expect_short_lines();
  LogText log = plain_log(path_, text_);
  ends_whole_ = text_.back() == '\n' || text_.back() == '\r' || log.lines.back().number < numbers_.back();
  lines_.clear();
  numbers_.clear();
  text_.clear();
  for (LogText::Line& line : log.lines) {
    text_ += line.text + "\n";
    numbers_.push_back(line.number);
    lines_.push_back(std::move(line.text));
  }
  other_processes_ = log.note;
}

std::vector<JsonText> json_texts_of_log(TextFile& file, const std::string& key) {
  const auto is_json = [&] { return file.text()[file.text().find_first_not_of(" \t\r\n")] == '{'; };
  const bool whole = is_json();
  if (whole && Json::accept(file.text())) return {{0, file.text().size(), file.text()}};
  if (!whole && file.text().find('"' + key + '"') == std::string::npos) return {};
  file.strip_launchers();
  std::vector<JsonText> objects = json_objects_with(file.text(), key);
  if (objects.empty() && is_json())
    parse_json(with_null_for_nan(file.text()), file.path());  // says where it breaks off
  static const Regex used(R"re((?m)^\s*[{,]?\s*"(\w+)"\s*:\s*[\[{])re");
  if (const Match match = used.find(file.text()); objects.empty() && match)
    throw InputError(file.path() + ": holds JSON with \"" + match[1] +
                     "\" that is broken, cut off or mixed with other lines: keep it whole, from its first brace to its "
                     "last");
  return objects;
}

std::vector<Json> json_of_log(TextFile& file, const std::string& key) {
  std::vector<Json> objects;
  for (const JsonText& json : json_texts_of_log(file, key)) objects.push_back(parse_json(json.text, file.path()));
  return objects;
}

bool TextFile::starts_with(std::string_view prefix) const { return !at_end() && line().starts_with(prefix); }

void TextFile::skip_blank() {
  while (!at_end() && line().find_first_not_of(" \t") == std::string::npos) next();
}

void TextFile::expect_more(const std::string& what) const {
  if (at_end()) fail_at(last_number(), "the file ends here, " + what + " is missing");
}

int TextFile::number_at(std::size_t byte) const {
  const auto lines = std::count(text_.begin(), text_.begin() + static_cast<std::ptrdiff_t>(byte), '\n');
  return numbers_[std::min(static_cast<std::size_t>(lines), numbers_.size() - 1)];
}

void TextFile::fail(const std::string& what) const { fail_at(at_end() ? last_number() : number(), what); }

void TextFile::fail_at(int line, const std::string& what) const {
  throw InputError(fmt::format("{}:{}: {}", path_, line, what));
}

}  // namespace linkcast
