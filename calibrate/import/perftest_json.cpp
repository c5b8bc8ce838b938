// JSON of perftest (--out_json, --out_json_file): an object with "test_info" and "results". It names no unit: rate,
// message rate and size together show which one it is.
// source: linux-rdma/perftest src/perftest_parameters.c, write_test_info_to_file() and what follows; recalled
#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <cmath>
#include <sstream>

#include "calibrate/import/log_text.hpp"
#include "calibrate/import/perftest_table.hpp"
#include "calibrate/import/shell_commands.hpp"
#include "sim/base/json_watch.hpp"
#include "sim/base/regex.hpp"

namespace linkcast::perftest {

bool read_test(const std::string& title, Table& table) {
  static const Regex test(
      R"((?i)(?:.*[\s/])?(?:ib_|rdma_)?(write|read|send|atomic\w*?)(?:[\s_]*post list)?([\s_]*bidirectional)?)"
      R"((?:[\s_]*post list)?[\s_]*(bw|lat(?:ency)?)(?:[\s_]+.*)?)");
  const Match match = test.whole(title);
  if (!match) return false;
  std::string name = match[1];
  for (char& c : name) c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  table.test = name == "write" ? "RDMA_Write" : name == "read" ? "RDMA_Read" : name == "send" ? "Send" : "Atomic";
  table.bidirectional = match.has(2);
  table.latency = std::tolower(static_cast<unsigned char>(match[3].front())) == 'l';
  return true;
}

namespace {

constexpr double kFewestMessages = 2e-6;  // source: MsgRate[Mpps] has six decimals

}  // namespace

bool fits_messages(double size_B, double rate, double unit_B, double messages) {
  constexpr double kMega = 1e6, kDigit = 1e-6, kRateDigit = 0.005, kShare = 0.02;  // source: digits as printed
  if (messages < kFewestMessages) return true;
  const double lost = kDigit * kMega * size_B + kRateDigit * unit_B;
  return std::abs(messages * kMega * size_B - rate * unit_B) <= lost + kShare * rate * unit_B;
}

namespace {

/// "BW_average", "BW average[Gb/sec]" and "bwAverage" are one key: letters and digits of its name, and its unit.
std::string plain_key(const std::string& key) {
  std::string plain;
  for (const char c : key.substr(0, key.find('[')))
    if (std::isalnum(static_cast<unsigned char>(c)) != 0)
      plain += static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  return plain;
}

const Json* value_of(const Json& object, std::initializer_list<const char*> keys) {
  for (const char* wanted : keys)
    for (const auto& [key, value] : object.items())
      if (plain_key(key) == wanted && !value.is_null()) return &value;
  return nullptr;
}

std::string text_at(const Json& object, std::initializer_list<const char*> keys) {
  const Json* value = value_of(object, keys);
  return value == nullptr ? "" : value->is_string() ? value->get<std::string>() : value->dump();
}

const std::initializer_list<const char*> kSizes{"msgsize", "messagesize", "bytes", "size"};

/// "test_info" and every other object with a size that is in none itself, in their order, keys that are there twice
/// included.
struct Objects {
  Json info = Json::object();
  std::vector<Json> results;
};

Objects objects_in(const std::string& text, const std::string& path) {
  Objects found;
  std::vector<std::string> keys;
  std::vector<std::size_t> before;  // results, when each open object began
  const auto watch = [&](int depth, Json::parse_event_t event, Json& parsed) {
    using Event = Json::parse_event_t;
    if (event == Event::key) {
      keys.resize(static_cast<std::size_t>(depth));
      keys.back() = plain_key(parsed.get<std::string>());
    }
    if (event == Event::object_start) before.push_back(found.results.size());
    if (event != Event::object_end) return true;
    const std::size_t begin = before.back();
    before.pop_back();
    if (keys.empty() || depth == 0) return true;
    if (keys.front() == "testinfo") {
      if (depth == 1) found.info = parsed;
    } else if (value_of(parsed, kSizes) != nullptr) {
      found.results.resize(begin);
      found.results.push_back(parsed);
    }
    return true;
  };
  try {
    parse_watched(text, path, watch);
  } catch (const Json::exception&) {
    throw InputError(path + ": holds JSON of perftest that is broken");
  }
  return found;
}

class JsonReader {
 public:
  JsonReader(const ImportRequest& request, const std::string& path)
      : path_(path), unit_(option_choice(request, "unit", {"Gb/sec", "MB/sec"})), test_(option_text(request, "test")) {}

  /// @param command  the program's name in front of it; empty: none
  Table read(const std::string& text, const std::string& command) {
    const Objects objects = objects_in(text, path_);
    if (objects.results.empty())
      throw InputError(path_ + ": JSON of perftest without results: an object with MsgSize is due");
    Table table;
    const std::string title = text_at(objects.info, {"test", "testname", "testtype"});
    if (!read_test(title, table) && !read_test(test_.value_or(""), table) && !read_test(command, table))
      throw InputError(path_ +
                       ": JSON of perftest that does not say its test: add option test='RDMA_Write BW', 'RDMA_Read "
                       "Bidirectional BW', 'Send Latency' or the like");
    table.device = text_at(objects.info, {"device"});
    table.qps = text_at(objects.info, {"numberofqps"});
    table.link = text_at(objects.info, {"linktype"});
    for (const Json& result : objects.results) add_row(result, table);
    if (table.latency) return table;
    table.unit_B = unit_of(objects.results);
    if (!unit_)
      table.notes.push_back(fmt::format("{} names no unit: rate, message rate and size show that it is {}.",
                                        file_name(path_), table.unit_B == kGigabit_B ? "Gb/sec" : "MB/sec"));
    return table;
  }

 private:
  void add_row(const Json& result, Table& table) const {
    const std::string size = text_at(result, kSizes);
    const std::string place = fmt::format("{}: result of {} bytes", path_, size);
    std::string value = text_at(result, {table.latency ? "ttypical" : "bwaverage"});
    if (table.latency && value.empty()) {  // with a duration (-D) there is no median
      value = text_at(result, {"tavg", "taverage"});
      table.mean = true;
    }
    if (value.empty())
      throw InputError(place + ": has no number " + (table.latency ? "t_typical" : "BW_average") + ", as a test of " +
                       (table.latency ? "latency" : "bandwidth") + " has");
    table.rows.push_back({place, size, value});
  }

  /// Bytes a second of one unit of the rates.
  [[nodiscard]] double unit_of(const std::vector<Json>& results) const {
    const auto number = [](const Json& result, const char* key) { return decimal(text_at(result, {key})).value_or(0); };
    double found = unit_ ? (*unit_ == "Gb/sec" ? kGigabit_B : kMiB_B) : 0;
    for (const Json& result : results) {
      const double size = decimal(text_at(result, kSizes)).value_or(0);
      const double rate = number(result, "bwaverage"), messages = number(result, "msgrate");
      if (!(rate > 0) || messages < kFewestMessages) continue;
      double fits = 0;
      for (const double unit : {kGigabit_B, kMiB_B})
        if (fits_messages(size, rate, unit, messages)) fits = unit;
      if (fits == 0 || (found > 0 && fits != found))
        throw InputError(
            fmt::format("{}: result of {} bytes: BW_average {} and MsgRate {} fit neither Gb/sec nor "
                        "MB/sec of all results{}",
                        path_, size, rate, messages, unit_ ? " as option unit says" : ""));
      found = fits;
    }
    if (found == 0)
      throw InputError(path_ +
                       ": JSON of perftest names no unit, and has no message rate that shows it: add option "
                       "unit=Gb/sec or unit=MB/sec");
    return found;
  }

  std::string path_;
  std::optional<std::string> unit_, test_;
};

}  // namespace

namespace {

/// Commands and other lines of a log about the runs behind them.
struct Said {
  std::string command;         ///< name of the test of the last command
  std::optional<bool> on_gpu;  ///< of that command
};

void read_said(const std::string& lines, SameProcesses& processes, Said& said) {
  static const Regex typed(R"(.*?\b(?:ib|raw_ethernet)_(\w+)\b.*)"), both(R"(.*\s(?:-b|--bidirectional)\b.*)"),
      gpu(R"(.*--use_(?:cuda|rocm|hl)\b.*)");
  std::istringstream in(lines);
  JoinedLines joined;
  for (std::string line; std::getline(in, line);) {
    const std::string text = joined.add(line);
    processes.see(text, "ib_");
    if (const Match match = typed.whole(text); match && match[1].find('_') != std::string::npos) {
      said.command = match[1].substr(0, match[1].find('_')) + (both.whole(text) ? " bidirectional " : " ") +
                     match[1].substr(match[1].find('_') + 1);
      said.on_gpu.reset();
    }
    if (gpu.whole(text)) said.on_gpu = true;
  }
}

}  // namespace

std::vector<Table> json_tables(const ImportRequest& request, TextFile& file, SameProcesses& processes) {
  Said said;
  std::vector<Table> tables;
  std::size_t end = 0;
  const std::vector<JsonText> runs = json_texts_of_log(file, "test_info");
  for (const JsonText& run : runs) {
    read_said(file.text().substr(end, run.begin - end), processes, said);
    end = run.end;
    if (runs.size() == 1 && said.command.empty()) read_said(file.text().substr(end), processes, said);
    processes.begin_run(file.path(), file.number_at(run.begin), "src and dst");
    tables.push_back(JsonReader(request, file.path()).read(run.text, said.command));
    tables.back().on_gpu = said.on_gpu;
  }
  return tables;
}

}  // namespace linkcast::perftest
