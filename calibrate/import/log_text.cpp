#include "calibrate/import/log_text.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <charconv>
#include <initializer_list>
#include <map>
#include <optional>
#include <set>
#include <unordered_map>
#include <unordered_set>

#include "sim/base/input_error.hpp"
#include "sim/base/null_for_nan.hpp"
#include "sim/base/object_reader.hpp"
#include "sim/base/regex.hpp"

namespace linkcast {
namespace {

struct Line {
  int number = 0;
  std::string text;
  std::string process;  ///< rank, pod or host of its prefixes; empty: it has none
  std::string prefix;   ///< the last of them that names it, as printed
  bool partial = false;
};
using Lines = std::vector<Line>;

std::string right_trimmed(const std::string& text) { return text.substr(0, text.find_last_not_of(" \t") + 1); }
std::string trimmed(const std::string& text) {
  const std::size_t first = text.find_first_not_of(" \t");
  return first == std::string::npos ? "" : right_trimmed(text.substr(first));
}
bool is_blank(const std::string& text) { return text.find_first_not_of(" \t") == std::string::npos; }

void replace_all(std::string& text, const std::string& from, const std::string& to) {
  for (auto at = text.find(from); at != std::string::npos; at = text.find(from, at + to.size()))
    text.replace(at, from.size(), to);
}

/// Without escapes of terminals (ECMA-48) and invisible letters; of a line that was overwritten, what was left to see.
std::string visible(std::string line) {
  static const Regex escape("\x1b(?:\\[[0-9;?]*[ -/]*[@-~]|\\][^\x07\x1b]*(?:\x07|\x1b\\\\)|[()][A-Z0-9]|[=>78])");
  if (line.find('\x1b') != std::string::npos) line = escape.removed_from(line);
  while (!line.empty() && line.back() == '\r') line.pop_back();
  if (const auto over = line.rfind('\r'); over != std::string::npos) line.erase(0, over + 1);
  const bool ascii = std::all_of(line.begin(), line.end(), [](char c) { return static_cast<signed char>(c) >= 0; });
  if (ascii) return line;
  // Records are UTF-8: what is none of it becomes U+FFFD.
  line = Json::parse(Json(line).dump(-1, ' ', false, Json::error_handler_t::replace)).get<std::string>();
  for (const char* mark : {"\xEF\xBB\xBF", "\xE2\x80\x8B"}) replace_all(line, mark, "");
  for (const char* blank : {"\xC2\xA0", "\xE2\x80\xAF", "\xE2\x80\x87"}) replace_all(line, blank, " ");
  return line;
}

Lines lines_of(const std::string& text) {
  const char end = text.find('\n') == std::string::npos ? '\r' : '\n';
  Lines lines;
  for (std::size_t begin = 0; begin < text.size();) {
    const std::size_t at = std::min(text.find(end, begin), text.size());
    lines.push_back({static_cast<int>(lines.size()) + 1, visible(text.substr(begin, at - begin)), {}, {}});
    begin = at + 1;
  }
  return lines;
}

/// Collectors write an object a line: Docker's json-file {"log":"...\n","stream":"stdout"}, others "message", "msg" or
/// "line", with the pod or host that printed it.
/// source: Docker json-file logging driver; Fluent Bit and Vector, output of Kubernetes; logcli -o jsonl
struct Collected {
  std::string text, process;
};

std::optional<Collected> collected(const std::string& line) {
  const Json json = Json::parse(line, nullptr, false);
  if (!json.is_object()) return std::nullopt;
  Collected found;
  const auto text_at = [](const Json& object, std::initializer_list<const char*> keys) -> const std::string* {
    for (const char* key : keys)
      if (const auto it = object.find(key); it != object.end() && it->is_string())
        return it->get_ptr<const std::string*>();
    return nullptr;
  };
  const std::string* text = text_at(json, {"log", "message", "msg", "line"});
  if (text == nullptr) return std::nullopt;
  found.text = *text;
  for (const char* inside : {"", "kubernetes", "labels"}) {
    const Json& place = *inside == '\0' || !json.contains(inside) ? json : json[inside];
    if (const auto* name = place.is_object() ? text_at(place, {"pod_name", "pod", "hostname", "host"}) : nullptr)
      found.process = "[" + *name + "]";
  }
  return found;
}

void unwrap_collected(Lines& lines) {
  static const Regex object(R"(\s*\{.*\}\s*)");
  for (const Line& line : lines)
    if (!is_blank(line.text) && !object.whole(line.text)) return;
  std::vector<std::optional<Collected>> all;
  bool ends_said = false;
  for (const Line& line : lines) {
    all.push_back(is_blank(line.text) ? Collected{} : collected(line.text));
    if (!all.back()) return;
    ends_said = ends_said || all.back()->text.ends_with('\n');
  }
  for (std::size_t i = 0; i < lines.size(); ++i) {
    Line& line = lines[i];
    if (is_blank(line.text)) continue;
    line.text = all[i]->text;
    line.process = all[i]->process;
    line.prefix = line.process;
    line.partial = ends_said && !line.text.ends_with('\n');
    while (line.text.ends_with('\n')) line.text.pop_back();
    line.text = visible(line.text);
  }
}

/// Line numbers of cat -n, nl and grep -n: each line that is not blank has the next one, or a greater one.
void take_off_numbers(Lines& lines) {
  static const Regex numbered(R"(\s*(\d+)(?:\t|[:|-] ?| {2})(.*)|\s*(\d+):?\s*)");
  int before = -1, steps_of_one = 0, count = 0;
  for (const Line& line : lines) {
    if (is_blank(line.text)) continue;
    const Match match = numbered.whole(line.text);
    if (!match) return;
    const std::string digits = match[match.has(1) ? 1 : 3];
    int number = 0;
    const auto read = std::from_chars(digits.data(), digits.data() + digits.size(), number);
    if (read.ec != std::errc() || number <= before) return;
    steps_of_one += number == before + 1 ? 1 : 0;
    before = number;
    ++count;
  }
  constexpr int kFewest = 3;  // rows of a table have growing numbers too, yet seldom ones that follow. source: ours
  if (count < kFewest || steps_of_one < count / 2) return;
  for (Line& line : lines)
    if (const Match match = numbered.whole(line.text)) line.text = match[2];
}

const std::string kDate =
    R"(\d{4}[-/]\d\d[-/]\d\d[T ,]? ?\d\d:\d\d:\d\d(?:[.,]\d+)?(?: ?(?:Z|UTC|GMT|[+-]\d\d:?\d\d))?)";
const std::string kMonths = "(?:Jan|Feb|Mar|Apr|May|Jun|Jul|Aug|Sep|Oct|Nov|Dec)";
const std::string kSyslog = R"((?:\w{3} )?)" + kMonths + R"( [ \d]?\d \d\d:\d\d:\d\d(?:\.\d+)?(?: \d{4})?)";
// Seconds since the epoch, since the start of the machine, and glog's "I0607 08:09:10.123456 4242 main.cc:45] ".
const std::string kSeconds = R"(\d{10}\.\d{3,}|\[ *\d+\.\d{3,}\])";
const std::string kGlog = R"([IWEF]\d{4} \d\d:\d\d:\d\d\.\d+ +\d+ [^\s\]]+:\d+\])";

/// One prefix that differs from line to line, or says which process prints. Groups: the process, the rest.
/// source: mpirun(1) --tag-output and --timestamp-output, prterun(1) --output tag; srun(1) --label; mpiexec.hydra
/// -prepend-rank; torchrun --tee; kubectl logs --prefix; Ray's worker logs; ISO 8601, RFC 3164, glog
struct Prefix {
  Regex expression;
  bool names = false;  ///< its first group is the process
};

const std::vector<Prefix>& prefixes() {
  static const std::vector<Prefix> all = {
      {Regex(R"(\s*\[?(?:)" + kDate + "|" + kSyslog + R"()\]?[:,]? ?(.*))"), false},
      {Regex(R"(\s*(?:)" + kSeconds + "|" + kGlog + R"()(?::? (.*)|))"), false},
      {Regex(R"(\s*\[?\d\d:\d\d:\d\d(?:[.,]\d+)?\]?:?(?: (.*)|))"), false},
      {Regex(R"(\s*\[(?:\S+@)?\d+,(\d+)\](?:\[[^\]]*\])?<\w+>: ?(.*))"), true},
      {Regex(R"(\s{0,5}(\d{1,6}):(?: (.*)|))"), true},
      {Regex(R"(\s*\[(?:default|rank)?(\d{1,6})\]:? ?(.*))"), true},
      {Regex(R"(\s*\[(pod/[^\]\s]+)\] ?(.*))"), true},
      {Regex(R"(\s*\((\w[^()]*(?:\([^()]*\))?[^()]*\bpid=\d+[^()]*)\) ?(.*))"), true},
  };
  return all;
}

void take_off_prefixes(Line& line) {
  static const Regex cri(R"((stdout|stderr) ([FP])(?: (.*)|))");
  constexpr int kMost = 6;  // a stamp, a collector's, a launcher's and more. source: ours
  bool stamped = false;
  for (int i = 0; i < kMost; ++i) {
    const std::string before = line.text;
    for (const Prefix& prefix : prefixes()) {
      const Match match = prefix.expression.whole(line.text);
      if (!match) continue;
      const std::string rest = match[prefix.names ? 2 : 1];
      if (prefix.names) {
        line.process += "[" + match[1] + "]";
        line.prefix = trimmed(line.text.substr(0, line.text.size() - rest.size()));
      }
      stamped = stamped || !prefix.names;
      line.text = rest;
      break;
    }
    if (const Match match = stamped ? cri.whole(line.text) : Match()) {
      line.partial = match[2] == "P";
      line.text = match[3];
    }
    if (line.text == before) return;
  }
}

/// Groups: what stands before the beginning of a line that a program prints in its first column.
const Regex& known_line() {
  static const Regex known(
      R"((.*?)(?:#?\s*nThread \d+ nGpus|#?\s*(?:size\s+count|bytes\s+N)\s+type|# Collective test starting:|# nccl-tests version)"
      R"(|# OSU \w+|# Size  |nvbandwidth Version:|Running [a-z]\w*_\w+\.\s*$|mem(?:cpy|ory) .*\((?:row|column)\))"
      R"x(|\s*"(?:nvbandwidth|test_info)"\s*:|\[P2P \(Peer|P2P Connectivity Matrix)x"
      R"(|(?:Uni|Bi)directional P2P=|P2P=\w+ Latency)"
      R"(|-{60,}\s*$| ?#bytes|\+-{40,}|\| (?:Test|API):|Final:\s+\d|\s*GPU0\s+GPU1|GPU0\s+X\s|GPU\[0\]\s*:|GPU 0: \w)"
      R"(|\s*RocmBandwidthTest Version|\{"header":\{|gpu,bdf,).*)");
  return known;
}

/// Lines without which there is no table.
bool is_of_table(const std::string& text) {
  static const Regex table(
      R"x(#?\s*(?:size\s+count|bytes\s+N)\s+type.*|# OSU \w+.*|mem(?:cpy|ory) .*\((?:row|column)\).*)x"
      R"x(|\s*"(?:nvbandwidth|test_info)"\s*:.*)x"
      R"(|\s*(?:Unidirectional |Bidirectional )?P2P=.*Matrix.*| ?#bytes.*|Final:\s+\d.*|GPU0\s+X\s.*)"
      R"(|\s*RocmBandwidthTest Version.*|\{"header":\{.*)");
  return bool{table.whole(text)};
}

/// Beginnings that lines share, in front of lines that are known.
class Beginnings {
 public:
  explicit Beginnings(const Lines& lines) {
    static const Regex stamp("(.*?)(?:" + kDate + "|" + kSyslog + "|" + kGlog + ").*");
    std::unordered_map<std::string, int> uses;
    constexpr std::size_t kLongest = 200, kMost = 10000;  // source: ours
    for (const Line& line : lines) {
      const Match match = known_line().whole(line.text);
      if (!match || match[1].empty() || match[1].size() > kLongest || uses.size() > kMost) continue;
      if (match[1].find('"') != std::string::npos) continue;  // a value in JSON
      const Match stamped = stamp.whole(match[1]);
      uses.emplace(stamped && !stamped[1].empty() ? stamped[1] : match[1], 0);
    }
    for (const auto& [text, count] : uses) add(text);
    for (const Line& line : lines)
      if (const std::string* text = of(line.text)) ++uses[*text];
    constexpr int kFewest = 3;  // a sentence that quotes a line is alone. source: ours
    all_.clear();
    for (const auto& [text, count] : uses)
      if (count >= kFewest || text.find_first_not_of(" \t>") == std::string::npos) add(text);
  }
  [[nodiscard]] bool empty() const { return all_.empty(); }

  /// The longest of a line; nullptr: it has none.
  [[nodiscard]] const std::string* of(const std::string& line) const {
    for (auto size = sizes_.rbegin(); size != sizes_.rend(); ++size)
      if (const auto it = all_.find(line.substr(0, *size)); it != all_.end()) return &it->second;
    if (const auto it = all_.find(right_trimmed(line) + "\n"); it != all_.end()) return &it->second;
    return nullptr;
  }

 private:
  void add(const std::string& text) {
    all_.emplace(text, text);
    if (!is_blank(text)) all_.emplace(right_trimmed(text) + "\n", text);  // a line with nothing behind it
    sizes_.insert(text.size());
  }

  std::unordered_map<std::string, std::string> all_;
  std::set<std::size_t> sizes_;
};

/// Letters and digits of a prefix; a quote or an indentation names nobody.
std::string name_in(const std::string& prefix) {
  std::string name;
  for (const char c : prefix)
    if (std::isalnum(static_cast<unsigned char>(c)) != 0) name += c;
  return name;
}

/// The same beginning with other words: "box-b: " for "box-a: ".
Regex shape_of(const std::string& prefix) {
  std::string shape = "(";
  bool word = false;
  for (const char c : prefix) {
    const bool in_word =
        std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_' || c == '-' || c == '.' || c == '@';
    if (in_word && !word) shape += "[\\w.@-]+";
    if (!in_word) shape += c == ' ' ? std::string(" ") : std::string("\\") + c;
    word = in_word;
  }
  return Regex(shape + ")(.*)");
}

/// Lines of processes without a table, between those that have this beginning.
void name_others(Lines& lines, const std::string& prefix, const std::vector<bool>& had) {
  if (std::any_of(prefix.begin(), prefix.end(), [](char c) { return c < ' ' || c > '~'; })) return;
  const auto first = std::find(had.begin(), had.end(), true) - had.begin();
  const auto last = had.rend() - std::find(had.rbegin(), had.rend(), true);
  const Regex shape = shape_of(prefix);
  for (auto i = static_cast<std::size_t>(first); i < static_cast<std::size_t>(last); ++i) {
    const Match match = had[i] ? Match() : shape.whole(lines[i].text);
    if (!match) continue;
    lines[i].process += name_in(match[1]);
    lines[i].prefix = trimmed(match[1]);
    lines[i].text = match[2];
  }
}

/// @returns  whether a line had one
bool take_off_beginnings(Lines& lines) {
  const Beginnings beginnings(lines);
  if (beginnings.empty()) return false;
  std::vector<bool> had(lines.size());
  std::string named;
  for (std::size_t i = 0; i < lines.size(); ++i) {
    Line& line = lines[i];
    const std::string* text = beginnings.of(line.text);
    if (text == nullptr) continue;
    had[i] = true;
    line.text = line.text.size() > text->size() ? line.text.substr(text->size()) : "";
    if (const std::string name = name_in(*text); !name.empty()) {
      line.process += name;
      line.prefix = trimmed(*text);
      named = *text;
    }
  }
  if (!named.empty()) name_others(lines, named, had);
  return true;
}

/// Lines that a collector cut into parts.
Lines joined_parts(Lines lines) {
  Lines whole;
  std::map<std::string, std::string> open;  ///< by process
  for (Line& line : lines) {
    const auto part = open.find(line.process);
    if (part != open.end()) {
      line.text = part->second + line.text;
      open.erase(part);
    }
    if (line.partial)
      open[line.process] = line.text;
    else
      whole.push_back(std::move(line));
  }
  for (const auto& [process, text] : open) whole.push_back({lines.back().number, text, process, {}});
  return whole;
}

/// The process whose lines hold tables; empty: none of them does, or none is named.
std::string process_with_tables(const std::string& path, const Lines& lines) {
  const Line* first = nullptr;
  for (const Line& line : lines) {
    if (line.process.empty() || !is_of_table(line.text)) continue;
    if (first == nullptr) first = &line;
    if (line.process != first->process)
      throw InputError(
          fmt::format("{}:{}: a table of another process, '{}', than that of line {}, '{}': keep the lines of one, as "
                      "by grep -F '{}'",
                      path, line.number, line.prefix, first->number, first->prefix, first->prefix));
  }
  return first == nullptr ? "" : first->process;
}

Lines plain(const std::string& text) {
  Lines lines = lines_of(text);
  unwrap_collected(lines);
  take_off_numbers(lines);
  constexpr int kRounds = 3;  // a host before a stamp before a rank. source: ours
  for (int i = 0; i < kRounds; ++i) {
    for (Line& line : lines) take_off_prefixes(line);
    if (!take_off_beginnings(lines)) break;
  }
  return joined_parts(std::move(lines));
}

}  // namespace

LogText plain_log(const std::string& path, const std::string& text) {
  const Lines lines = plain(text);
  const std::string process = process_with_tables(path, lines);
  LogText log;
  std::size_t others = 0;
  std::string kept;
  for (const Line& line : lines) {
    const bool other = !process.empty() && !line.process.empty() && line.process != process;
    others += other ? 1 : 0;
    if (kept.empty() && line.process == process) kept = line.prefix;
    if (!other) log.lines.push_back({line.number, line.text});
  }
  if (others > 0)
    log.note =
        fmt::format("Left out: {} lines of other processes than '{}', whose lines hold the tables.", others, kept);
  return log;
}

std::vector<std::string> plain_log_lines(const std::string& path, const std::string& text) {
  std::vector<std::string> all;
  for (LogText::Line& line : plain_log(path, text).lines) {
    all.resize(static_cast<std::size_t>(line.number) - 1);
    all.push_back(std::move(line.text));
  }
  return all;
}

namespace {

/// Behind the brace that closes the object which begins here; npos: none does.
std::size_t end_of_object(const std::string& text, std::size_t begin) {
  int depth = 0;
  bool quoted = false;
  for (std::size_t i = begin; i < text.size(); ++i) {
    const char c = text[i];
    if (quoted && c == '\\')
      ++i;
    else if (c == '"')
      quoted = !quoted;
    else if (!quoted && c == '{')
      ++depth;
    else if (!quoted && c == '}' && --depth == 0)
      return i + 1;
  }
  return std::string::npos;
}

}  // namespace

std::vector<JsonText> json_objects_with(const std::string& text, const std::string& key) {
  std::vector<JsonText> objects;
  constexpr int kMostTries = 1000;  // lines that begin with a brace and are none. source: ours
  int tries = 0;
  for (std::size_t line = 0; line < text.size() && tries < kMostTries;) {
    const std::size_t begin = text.find_first_not_of(" \t\r\n[,", line);  // also in a list
    if (begin == std::string::npos) break;
    line = std::min(text.find('\n', begin), text.size());
    if (text[begin] != '{') continue;
    ++tries;
    const std::size_t end = end_of_object(text, begin);
    if (end == std::string::npos) continue;
    std::string object = with_null_for_nan(text.substr(begin, end - begin));
    const Json json = Json::parse(object, nullptr, false);
    if (!json.is_object()) continue;
    line = end;
    if (json.contains(key)) objects.push_back({begin, end, std::move(object)});
  }
  return objects;
}

}  // namespace linkcast
