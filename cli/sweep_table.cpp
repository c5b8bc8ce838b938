#include "cli/sweep_table.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <simdjson.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zlib.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cstdint>
#include <cstring>
#include <fstream>
#include <limits>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "sim/base/limits.hpp"
#include "sim/base/object_reader.hpp"

namespace linkcast::cli {
namespace {

constexpr std::size_t kAtOnce = 8192;        // source: ours, rows of some MiB between two looks at the time
constexpr std::size_t kWritten_B = 1 << 20;  // source: ours, what is written at once
constexpr unsigned kInt = 1, kFloat = 2, kFlag = 4, kText = 8, kNull = 16;  // kinds of a value, together a column's
constexpr std::array<std::pair<unsigned, const char*>, 4> kKinds{
    {{kInt, "int"}, {kFloat, "float"}, {kFlag, "bool"}, {kText, "str"}}};
constexpr std::int64_t kMostScenarios = 10000000;  // source: ours, as of a study
constexpr const char* kStdin = "standard input";
const std::string kError = "error", kWarnings = "warnings", kRanks = "ranks";

/// A journal's file as memory, of which nothing is kept that was not just looked at.
class MappedFile {
 public:
  explicit MappedFile(const std::string& path) : path_(path) {
    const int file = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
    struct stat status {};
    if (file >= 0 && ::fstat(file, &status) == 0) size_ = static_cast<std::size_t>(status.st_size);
    if (size_ > 0) data_ = ::mmap(nullptr, size_, PROT_READ, MAP_SHARED, file, 0);
    if (file >= 0) ::close(file);
    if (data_ == MAP_FAILED || size_ == 0) throw InputError(path + ": cannot be read");
  }
  MappedFile(const MappedFile&) = delete;
  MappedFile& operator=(const MappedFile&) = delete;
  MappedFile(MappedFile&& other) noexcept
      : path_(std::move(other.path_)), data_(std::exchange(other.data_, MAP_FAILED)), size_(other.size_) {}
  MappedFile& operator=(MappedFile&&) = delete;
  ~MappedFile() {
    if (data_ != MAP_FAILED) ::munmap(data_, size_);
  }

  void forget() const { ::madvise(data_, size_, MADV_DONTNEED); }
  [[nodiscard]] const std::string& path() const { return path_; }
  /// Without its newline.
  [[nodiscard]] std::string_view line(std::size_t begin) const {
    const std::string_view all(static_cast<const char*>(data_), size_);
    return begin < size_ ? all.substr(begin, all.find('\n', begin) - begin) : std::string_view();
  }

 private:
  std::string path_;
  void* data_ = MAP_FAILED;
  std::size_t size_ = 0;
};

std::string_view without(std::string_view text, std::string_view begin) {
  return text.substr(0, begin.size()) == begin ? text.substr(begin.size()) : std::string_view();
}

template <typename Number>
std::string_view take_number(std::string_view text, Number& number) {
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  return error == std::errc() ? text.substr(static_cast<std::size_t>(end - text.data())) : std::string_view();
}

/// The row in a line of the journal (sweep/journal.py). @returns  nullopt: not this scenario's, or bytes were
/// changed
std::optional<std::string_view> row_in(std::string_view line, std::int64_t scenario) {
  std::int64_t number = -1;
  std::uint32_t checksum = 0;
  line = without(take_number(without(line, R"({"scenario":)"), number), R"(,"crc32":)");
  line = without(take_number(line, checksum), R"(,"row":)");
  if (line.empty() || number != scenario || line.back() != '}') return std::nullopt;
  line.remove_suffix(1);
  const auto* bytes = reinterpret_cast<const Bytef*>(line.data());
  if (::crc32(static_cast<uLong>(scenario), bytes, static_cast<uInt>(line.size())) != checksum) return std::nullopt;
  return line;
}

struct Value {
  unsigned kind = 0;
  std::string_view text;  ///< as the row has it, without the quotes and escapes of a text
};

/// Columns of answers, by number: a row has most of them in the order of the row before.
class Keys {
 public:
  std::size_t number(std::string_view key, std::size_t at) {
    if (at < last_.size() && names_[last_[at]] == key) return last_[at];
    const auto [found, fresh] = numbers_.try_emplace(std::string(key), names_.size());
    if (fresh) names_.emplace_back(key);
    last_.resize(std::max(last_.size(), at + 1));
    return last_[at] = found->second;
  }
  [[nodiscard]] const std::vector<std::string>& names() const { return names_; }

 private:
  std::vector<std::string> names_{};
  std::unordered_map<std::string, std::size_t> numbers_{};
  std::vector<std::size_t> last_{};
};

class Rows {
 public:
  explicit Rows(const std::vector<std::string>& journal) {
    for (const std::string& path : journal) files_.emplace_back(path);
  }

  /// @throws InputError  a number is of no file
  void place(std::vector<std::int64_t> begins, std::vector<std::int32_t> files) {
    begins_ = std::move(begins);
    file_of_ = std::move(files);
    for (const std::int32_t file : file_of_)
      if (file < 0 || static_cast<std::size_t>(file) >= files_.size())
        throw InputError(fmt::format("{}: file {} of {} files of the journal", kStdin, file, files_.size()));
  }

  [[nodiscard]] const std::vector<std::string>& keys() const { return keys_.names(); }

  /// By key; valid until the next is read. @throws InputError  it is damaged
  const std::vector<Value>& read(std::size_t scenario) {
    const MappedFile& file = files_.at(static_cast<std::size_t>(file_of_[scenario]));
    if (scenario % kAtOnce == 0) {
      work::look();
      for (const MappedFile& one : files_) one.forget();
    }
    const auto row =
        row_in(file.line(static_cast<std::size_t>(begins_[scenario])), static_cast<std::int64_t>(scenario));
    if (!row || !parse(*row))
      throw InputError(fmt::format("{}: scenario {}: is no row of this sweep, or bytes of it were changed: damaged",
                                   file.path(), scenario));
    return values_;
  }

 private:
  bool parse(std::string_view row) {
    if (text_.size() < row.size() + simdjson::SIMDJSON_PADDING)
      text_.resize(2 * (row.size() + simdjson::SIMDJSON_PADDING));
    std::memcpy(text_.data(), row.data(), row.size());
    for (Value& value : values_) value = {};
    simdjson::ondemand::document document;
    simdjson::ondemand::object all;
    if (parser_.iterate(text_.data(), row.size(), text_.size()).get(document) != simdjson::SUCCESS ||
        document.get_object().get(all) != simdjson::SUCCESS)
      return false;
    std::size_t at = 0;
    for (auto field : all) {
      std::string_view key;
      if (field.unescaped_key().get(key) != simdjson::SUCCESS) return false;
      const std::size_t number = keys_.number(key, at++);
      if (number >= values_.size()) values_.resize(number + 1);
      if (!convert(field.value(), values_[number])) return false;
    }
    return true;
  }

  static bool convert(simdjson::simdjson_result<simdjson::ondemand::value> from, Value& to) {
    simdjson::ondemand::json_type type{};
    if (from.type().get(type) != simdjson::SUCCESS) return false;
    if (type == simdjson::ondemand::json_type::string) {
      to.kind = kText;
      return from.get_string().get(to.text) == simdjson::SUCCESS;
    }
    if (from.raw_json_token().get(to.text) != simdjson::SUCCESS) return false;
    to.text = to.text.substr(0, to.text.find_last_not_of(" \t\r\n") + 1);
    if (type == simdjson::ondemand::json_type::number)
      to.kind = to.text.find_first_of(".eE") == std::string_view::npos ? kInt : kFloat;
    else
      to.kind = type == simdjson::ondemand::json_type::boolean ? kFlag : kNull;
    return type != simdjson::ondemand::json_type::array && type != simdjson::ondemand::json_type::object;
  }

  std::vector<MappedFile> files_{};
  std::vector<std::int64_t> begins_{};
  std::vector<std::int32_t> file_of_{};
  Keys keys_{};
  simdjson::ondemand::parser parser_{};
  std::vector<char> text_{};
  std::vector<Value> values_{};
};

/// How often each text stands in a column, in the order in which they first do.
class Counts {
 public:
  void add(std::string_view text) {
    const auto [found, fresh] = at_.try_emplace(std::string(text), counted_.size());
    if (fresh) counted_.emplace_back(found->first, 0);
    ++counted_[found->second].second;
  }
  [[nodiscard]] Json json() const {
    Json all = Json::array();
    for (const auto& [text, count] : counted_) all.push_back(Json::array({text, count}));
    return all;
  }

 private:
  std::unordered_map<std::string, std::size_t> at_{};
  std::vector<std::pair<std::string, long>> counted_{};
};

struct Axis {
  std::string key;
  std::vector<std::optional<std::string>> cells;
  bool used = false;
};

/// Lines of a table with commas. A text that is empty has quotes where types matter.
class CsvFile {
 public:
  CsvFile(std::ostream& out, bool typed) : out_(&out), typed_(typed) {}

  void add(std::string_view text, bool is_text) {
    const auto is_special = [](char c) { return c == ',' || c == '"' || c == '\n' || c == '\r'; };
    if (std::any_of(text.begin(), text.end(), is_special) || (text.empty() && is_text && typed_)) {
      line_ += '"';
      for (const char c : text) line_.append(c == '"' ? 2 : 1, c);
      line_ += '"';
    } else {
      line_ += text;
    }
    line_ += ',';
  }
  void end_line() {
    line_.back() = '\n';
    if (line_.size() >= kWritten_B) flush();
  }
  void flush() {
    out_->write(line_.data(), static_cast<std::streamsize>(line_.size())).flush();
    if (!*out_) throw InputError("--out: the table cannot be written");
    line_.clear();
  }

 private:
  std::ostream* out_;
  bool typed_;
  std::string line_{};
};

/// The line of JSON (write_sweep_table()).
struct Spec {
  std::vector<std::string> journal, columns, numeric;
  std::string table, numbers;
  std::vector<Axis> axes{};
  bool counts_gpus = false, typed = false;
  std::int64_t scenarios = 0;
};

/// @throws InputError  a key is missing, unknown or of another type, an axis has no cells
Spec read_spec(const Json& json) {
  ObjectReader r(json, kStdin);
  const auto texts = [&](const char* key) { return r.required<std::vector<std::string>>(key); };
  Spec spec{texts("journal"), texts("columns"), texts("numeric"), r.required<std::string>("table"),
            r.required<std::string>("numbers")};
  spec.counts_gpus = r.required<bool>("counts_gpus");
  spec.typed = r.required<bool>("typed");
  spec.scenarios = r.required<std::int64_t>("scenarios");
  if (spec.scenarios < 0 || spec.scenarios > kMostScenarios)
    r.fail("scenarios", fmt::format("must be from 0 to {}", kMostScenarios));
  for (ObjectReader& axis : r.objects("axes")) {
    spec.axes.push_back({axis.required<std::string>("key"), {}});
    const Json& cells = axis.raw("cells");
    if (!cells.is_array() || cells.empty()) axis.fail("cells", "must be a list of one cell or more");
    for (const Json& cell : cells) {
      if (!cell.is_null() && !cell.is_string()) axis.fail("cells", "must be texts or null");
      spec.axes.back().cells.push_back(cell.is_null() ? std::nullopt : std::optional(cell.get<std::string>()));
    }
    axis.finish();
  }
  r.finish();
  return spec;
}

class SweepTable {
 public:
  SweepTable(Spec spec, std::istream& in) : spec_(std::move(spec)), rows_(spec_.journal), axes_(spec_.axes) {
    places_ = array_of<std::int64_t>(in);
    std::int64_t all = 1;
    for (const Axis& axis : axes_) all = std::min(kMostScenarios, all * static_cast<std::int64_t>(axis.cells.size()));
    for (const std::int64_t place : places_)
      if (place < 0 || (all < kMostScenarios && place >= all))
        throw InputError(fmt::format("{}: place {} of {} in the product of the axes", kStdin, place, all));
    auto begins = array_of<std::int64_t>(in);
    rows_.place(std::move(begins), array_of<std::int32_t>(in));
  }

  void write(std::ostream& out) {
    look_at_all();
    choose_columns();
    out << facts().dump() << std::endl;
    std::ofstream table(spec_.table), numbers(spec_.numbers);
    std::vector<CsvFile> files{CsvFile(table, false)};
    if (spec_.typed) files.emplace_back(out, true);
    for (CsvFile& file : files) {
      for (const std::string& column : columns_) file.add(column, true);
      file.end_line();
    }
    for (std::size_t scenario = 0; scenario < places_.size(); ++scenario) add(scenario, files, numbers);
    for (CsvFile& file : files) file.flush();
    if (!numbers.flush()) throw InputError("--out: the numbers of the plots cannot be written");
  }

 private:
  template <typename Number>
  std::vector<Number> array_of(std::istream& in) const {
    std::vector<Number> numbers(static_cast<std::size_t>(spec_.scenarios));
    in.read(reinterpret_cast<char*>(numbers.data()), static_cast<std::streamsize>(numbers.size() * sizeof(Number)));
    if (!in) throw InputError(std::string(kStdin) + ": ends too early");
    return numbers;
  }

  void look_at_all() {
    for (std::size_t scenario = 0; scenario < places_.size(); ++scenario) {
      const std::vector<Value>& values = rows_.read(scenario);
      kinds_.resize(rows_.keys().size());
      not_empty_.resize(kinds_.size());
      for (std::size_t key = 0; key < values.size(); ++key) {
        const Value& value = values[key];
        kinds_[key] |= value.kind;
        if (value.kind != 0 && value.kind != kNull && !value.text.empty()) not_empty_[key] = true;
        if (value.kind != kText) continue;
        if (rows_.keys()[key] == kError) {
          ++errors_;
          error_texts_.add(value.text);
        } else if (rows_.keys()[key] == kWarnings && !value.text.empty()) {
          warnings_.add(value.text);
        }
      }
      for_axes(places_[scenario], [](Axis& axis, const std::optional<std::string>& cell) {
        axis.used = axis.used || (cell && !cell->empty());
      });
    }
  }

  template <class Act>
  void for_axes(std::int64_t place, const Act& act) {
    at_.resize(axes_.size());
    for (std::size_t i = axes_.size(); i-- > 0;) {
      const auto size = static_cast<std::int64_t>(axes_[i].cells.size());
      at_[i] = static_cast<std::size_t>(place % size);
      place /= size;
    }
    for (std::size_t i = 0; i < axes_.size(); ++i) act(axes_[i], axes_[i].cells[at_[i]]);
  }

  [[nodiscard]] std::optional<std::size_t> find(const std::string& key) const {
    const std::vector<std::string>& names = rows_.keys();
    const auto found = std::find(names.begin(), names.end(), key);
    if (found == names.end()) return std::nullopt;
    return static_cast<std::size_t>(found - names.begin());
  }

  /// Axes, then what answers say: first what most tables have, then by name, at last warnings and errors.
  void choose_columns() {
    std::set<std::string> left(rows_.keys().begin(), rows_.keys().end());
    columns_.emplace_back("scenario");
    for (const Axis& axis : axes_) {
      columns_.push_back(axis.key);
      left.erase(axis.key);
    }
    if (spec_.counts_gpus) columns_.emplace_back("gpu_count");
    for (const char* key : {"scenario", "gpu_count", kError.c_str(), kWarnings.c_str()}) left.erase(key);
    std::vector<std::string> answers;
    for (const std::string& key : spec_.columns)
      if (left.erase(key) > 0) answers.push_back(key);
    answers.insert(answers.end(), left.begin(), left.end());
    answers.insert(answers.end(), {kWarnings, kError});
    for (const std::string& key : answers) keys_.push_back(find(key));
    columns_.insert(columns_.end(), answers.begin(), answers.end());
    for (std::size_t i = 0; i < axes_.size(); ++i)
      if (axes_[i].key == kRanks) axis_of_ranks_ = i;
    ranks_ = find(kRanks);
    for (const std::string& key : spec_.numeric) numeric_.push_back(find(key));
  }

  [[nodiscard]] Json facts() const {
    Json types = Json::object(), not_empty = Json::array({"scenario"});
    const std::vector<std::string>& names = rows_.keys();
    for (std::size_t key = 0; key < kinds_.size(); ++key) {
      types[names[key]] = Json::array();
      for (const auto& [kind, name] : kKinds)
        if ((kinds_[key] & kind) != 0) types[names[key]].push_back(name);
      if (not_empty_[key]) not_empty.push_back(names[key]);
    }
    for (const Axis& axis : axes_)
      if (axis.used) not_empty.push_back(axis.key);
    if (axis_of_ranks_ ? axes_[*axis_of_ranks_].used : ranks_ && not_empty_[*ranks_]) not_empty.push_back("gpu_count");
    return {{"columns", columns_},
            {"types", types},
            {"not_empty", not_empty},
            {"errors", errors_},
            {"error_texts", error_texts_.json()},
            {"warnings", warnings_.json()}};
  }

  void add(std::size_t scenario, std::vector<CsvFile>& files, std::ostream& numbers) {
    const std::vector<Value>& values = rows_.read(scenario);
    const auto value_of = [&](const std::optional<std::size_t>& key) {
      return key && *key < values.size() ? values[*key] : Value();
    };
    const std::string number = std::to_string(scenario);
    for (CsvFile& file : files) {
      file.add(number, false);
      for_axes(places_[scenario], [&](const Axis&, const std::optional<std::string>& cell) {
        file.add(cell ? std::string_view(*cell) : std::string_view(), cell.has_value());
      });
      if (spec_.counts_gpus) {
        const Value ranks = value_of(ranks_);
        if (axis_of_ranks_)
          file.add(axes_[*axis_of_ranks_].cells[at_[*axis_of_ranks_]].value_or(""), false);
        else
          file.add(ranks.text, false);
      }
      for (const std::optional<std::size_t>& key : keys_) {
        const Value value = value_of(key);
        file.add(value.kind == kNull ? std::string_view() : value.text, value.kind == kText);
      }
      file.end_line();
    }
    row_.clear();
    for (const std::optional<std::size_t>& key : numeric_) {
      const Value value = value_of(key);
      double one = std::numeric_limits<double>::quiet_NaN();
      if (value.kind == kInt || value.kind == kFloat) take_number(value.text, one);
      if (value.kind == kFlag) one = value.text == "true" ? 1 : 0;
      row_.push_back(one);
    }
    numbers.write(reinterpret_cast<const char*>(row_.data()),
                  static_cast<std::streamsize>(row_.size() * sizeof(double)));
  }

  const Spec spec_;
  Rows rows_;
  std::vector<Axis> axes_;
  std::vector<std::int64_t> places_{};
  std::vector<unsigned> kinds_{};
  std::vector<bool> not_empty_{};
  Counts error_texts_{}, warnings_{};
  long errors_ = 0;
  std::vector<std::string> columns_{};
  std::vector<std::optional<std::size_t>> keys_{}, numeric_{};
  std::optional<std::size_t> ranks_{}, axis_of_ranks_{};
  std::vector<std::size_t> at_{};
  std::vector<double> row_{};
};

}  // namespace

void write_sweep_table(std::istream& in, std::ostream& out) {
  std::string line;
  std::getline(in, line);
  SweepTable(read_spec(parse_json(line, kStdin)), in).write(out);
}

}  // namespace linkcast::cli
