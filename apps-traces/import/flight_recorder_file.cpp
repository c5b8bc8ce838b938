#include "apps-traces/import/flight_recorder_file.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "apps-traces/import/c10d_names.hpp"
#include "apps-traces/import/lines.hpp"
#include "sim/base/index.hpp"
#include "sim/base/json_error.hpp"
#include "sim/base/json_watch.hpp"
#include "sim/base/null_for_nan.hpp"
#include "sim/base/object_reader.hpp"
#include "sim/base/packed_file.hpp"
#include "sim/base/regex.hpp"
#include "sim/records/trace.hpp"

namespace linkcast {
namespace {

/// The data in a pickle of Python: None, numbers, texts, lists, tuples, dictionaries. A pickle is a program, and this
/// reader knows only its instructions that make data: what names code (GLOBAL, REDUCE, BUILD, persistent ids, ...) is
/// refused, so that nothing can be run, whoever wrote the file.
/// Keys that are numbers become texts; a dictionary's key in `skip` is left out with its value.
/// @throws InputError  file and byte; more values than any such file holds
Json read_pickle(std::string_view bytes, const std::string& file, std::string_view skip = "");

constexpr std::uint8_t kProtocol = 0x80;  // source: CPython Lib/pickletools.py, PROTO

/// A value in the making. Lists and dictionaries may be named again after they were made, so that they are kept once.
struct Value {
  enum class Kind { kNone, kBool, kWhole, kReal, kText, kList, kDictionary } kind = Kind::kNone;
  std::int64_t whole = 0;
  double real = 0;
  std::string_view text{};   ///< in the file
  std::vector<int> items{};  ///< of a dictionary: key, value, key, ...
};

/// The machine that a pickle is a program of: a stack, and a memory.
class PickleMachine {
 public:
  PickleMachine(std::string_view bytes, const std::string& file) : bytes_(bytes), file_(file) {}

  /// @returns  the value that the program leaves
  int run() {
    while (true) {
      began_ = at_;
      const std::uint8_t code = byte();
      if (code == '.') return pop();
      if (!put_scalar(code) && !put_text(code) && !put_container(code) && !use_memory(code)) refuse(code);
    }
  }
  [[nodiscard]] const Value& value(int index) const { return values_[at(index)]; }
  [[noreturn]] void fail(const std::string& what) const {
    throw InputError(fmt::format("{}: byte {}: {}", file_, began_, what));
  }

 private:
  std::string_view take(std::uint64_t size) {
    if (size > bytes_.size() - at_) fail("the pickle ends too early");
    const std::string_view part = bytes_.substr(at_, static_cast<std::size_t>(size));
    at_ += part.size();
    return part;
  }
  std::uint8_t byte() { return static_cast<std::uint8_t>(take(1)[0]); }
  /// Unsigned number of `size` bytes, the lowest first.
  std::uint64_t number(std::size_t size) {
    const std::string_view part = take(size);
    std::uint64_t value = 0;
    for (std::size_t i = size; i > 0; --i) value = value << 8U | static_cast<std::uint8_t>(part[i - 1]);
    return value;
  }

  int made(Value value) {
    constexpr std::size_t kMostValues = 20'000'000;  // of 20,000 calls with the stacks of their callers. source: ours
    if (values_.size() >= kMostValues) fail("more than 20 million values: no dump of calls holds so many");
    values_.push_back(std::move(value));
    return static_cast<int>(values_.size()) - 1;
  }
  void push(Value value) { stack_.push_back(made(std::move(value))); }
  void push_whole(std::int64_t whole) { push({Value::Kind::kWhole, whole}); }
  void push_text(std::uint64_t size) {
    Value text{Value::Kind::kText};
    text.text = take(size);
    push(std::move(text));
  }
  int pop() {
    if (stack_.size() <= (marks_.empty() ? 0 : marks_.back())) fail("the pickle takes what it has not put");
    const int top = stack_.back();
    stack_.pop_back();
    return top;
  }
  std::vector<int> pop_mark() {
    if (marks_.empty()) fail("the pickle takes what it has not put");
    const auto from = stack_.begin() + static_cast<std::ptrdiff_t>(marks_.back());
    std::vector<int> items(from, stack_.end());
    stack_.erase(from, stack_.end());
    marks_.pop_back();
    return items;
  }
  std::vector<int> pop_last(std::size_t count) {
    std::vector<int> items(count);
    for (std::size_t i = count; i > 0; --i) items[i - 1] = pop();
    return items;
  }
  void put_items(Value::Kind kind, std::vector<int> items) {
    if (kind == Value::Kind::kDictionary && items.size() % 2 != 0) fail("a dictionary has a key without a value");
    push({kind, 0, 0, {}, std::move(items)});
  }
  void append(Value::Kind kind, const std::vector<int>& items) {
    const int top = pop();
    stack_.push_back(top);
    Value& into = values_[at(top)];
    if (into.kind != kind) fail("the pickle adds to what is no list or dictionary");
    if (kind == Value::Kind::kDictionary && items.size() % 2 != 0) fail("a dictionary has a key without a value");
    into.items.insert(into.items.end(), items.begin(), items.end());
  }

  // source of all codes: CPython Lib/pickletools.py
  bool put_scalar(std::uint8_t code) {
    switch (code) {
      case kProtocol: {
        const std::uint8_t version = byte();
        if (version > 5) fail(fmt::format("pickle of protocol {}: 2 to 5 are known", version));
        return true;
      }
      case 0x95:  // FRAME: how much follows, which the file says too
        take(8);
        return true;
      case 'N':
        push({});
        return true;
      case 0x88:
      case 0x89:
        push({Value::Kind::kBool, code == 0x88 ? 1 : 0});
        return true;
      case 'J':
        push_whole(static_cast<std::int32_t>(number(4)));
        return true;
      case 'K':
        push_whole(byte());
        return true;
      case 'M':
        push_whole(static_cast<std::int64_t>(number(2)));
        return true;
      case 0x8a:  // LONG1: two's complement of so many bytes
        put_long(byte());
        return true;
      case 'G': {
        const std::string_view part = take(8);
        std::uint64_t bits = 0;
        for (const char c : part) bits = bits << 8U | static_cast<std::uint8_t>(c);
        push({Value::Kind::kReal, 0, std::bit_cast<double>(bits)});
        return true;
      }
      default:
        return false;
    }
  }

  void put_long(std::size_t size) {
    constexpr std::size_t kMost = 8;
    if (size > kMost) fail("a whole number of more than 64 bits");
    std::uint64_t bits = number(size);
    if (size > 0 && size < kMost && (bits >> (8 * size - 1) & 1U) != 0) bits |= ~std::uint64_t{0} << (8 * size);
    push_whole(static_cast<std::int64_t>(bits));
  }

  bool put_text(std::uint8_t code) {
    switch (code) {
      case 'X':  // BINUNICODE
      case 'B':  // BINBYTES
      case 'T':  // BINSTRING
        push_text(number(4));
        return true;
      case 0x8c:  // SHORT_BINUNICODE
      case 'C':   // SHORT_BINBYTES
      case 'U':   // SHORT_BINSTRING
        push_text(byte());
        return true;
      case 0x8d:  // BINUNICODE8
      case 0x8e:  // BINBYTES8
        push_text(number(8));
        return true;
      default:
        return false;
    }
  }

  bool put_container(std::uint8_t code) {
    using Kind = Value::Kind;
    switch (code) {
      case '(':
        marks_.push_back(stack_.size());
        return true;
      case ']':
      case ')':
        put_items(Kind::kList, {});
        return true;
      case '}':
        put_items(Kind::kDictionary, {});
        return true;
      case 't':
      case 'l':
        put_items(Kind::kList, pop_mark());
        return true;
      case 'd':
        put_items(Kind::kDictionary, pop_mark());
        return true;
      case 0x85:
      case 0x86:
      case 0x87:  // TUPLE1 to TUPLE3
        put_items(Kind::kList, pop_last(code - 0x84U));
        return true;
      case 'a':
        append(Kind::kList, pop_last(1));
        return true;
      case 'e':
        append(Kind::kList, pop_mark());
        return true;
      case 's':
        append(Kind::kDictionary, pop_last(2));
        return true;
      case 'u':
        append(Kind::kDictionary, pop_mark());
        return true;
      default:
        return false;
    }
  }

  bool use_memory(std::uint8_t code) {
    switch (code) {
      case 'q':
        keep(byte());
        return true;
      case 'r':
        keep(number(4));
        return true;
      case 0x94:  // MEMOIZE
        keep(memory_.size());
        return true;
      case 'h':
        recall(byte());
        return true;
      case 'j':
        recall(number(4));
        return true;
      case '0':
        pop();
        return true;
      case '1':
        pop_mark();
        return true;
      default:
        return false;
    }
  }
  void keep(std::uint64_t place) {
    const int top = pop();
    stack_.push_back(top);
    memory_[place] = top;
  }
  void recall(std::uint64_t place) {
    const auto found = memory_.find(place);
    if (found == memory_.end()) fail("the pickle asks for what it has not kept");
    stack_.push_back(found->second);
  }

  [[noreturn]] void refuse(std::uint8_t code) {
    static const std::map<std::uint8_t, const char*> kCode{
        {'c', "GLOBAL"}, {0x93, "STACK_GLOBAL"}, {'R', "REDUCE"},     {'b', "BUILD"},  {'i', "INST"},
        {'o', "OBJ"},    {0x81, "NEWOBJ"},       {0x92, "NEWOBJ_EX"}, {'P', "PERSID"}, {'Q', "BINPERSID"},
        {0x82, "EXT1"},  {0x83, "EXT2"},         {0x84, "EXT4"}};
    const auto named = kCode.find(code);
    if (named == kCode.end()) fail(fmt::format("instruction {} of a pickle is not read", code));
    std::string what = named->second;
    if (code == 'c') {
      const std::string_view rest = bytes_.substr(at_);
      const std::string_view module = rest.substr(0, rest.find('\n'));
      const std::string_view name = rest.substr(std::min(rest.size(), module.size() + 1));
      what += " " + shown(std::string(module) + "." + std::string(name.substr(0, name.find('\n'))));
    }
    fail("the pickle names code (" + what + "): only data are read, and nothing is run");
  }

  std::string_view bytes_;
  const std::string& file_;
  std::size_t at_ = 0, began_ = 0;
  std::vector<Value> values_;
  std::vector<int> stack_;
  std::vector<std::size_t> marks_;
  std::unordered_map<std::uint64_t, int> memory_;
};

/// The value as JSON. What is named many times is written as often, so that what comes out is counted.
class AsJson {
 public:
  AsJson(const PickleMachine& machine, std::string_view skip) : machine_(machine), skip_(skip) {}

  Json of(int index, int depth = 0) {
    constexpr int kDeepest = 100;
    constexpr std::size_t kMostParts = 20'000'000, kMostText_B = std::size_t{1} << 28;  // source: ours
    if (depth > kDeepest) machine_.fail(fmt::format("nested deeper than {} levels", kDeepest));
    const Value& value = machine_.value(index);
    text_B_ += value.text.size();
    if (++parts_ > kMostParts || text_B_ > kMostText_B) machine_.fail("names its parts too often: no dump of calls");
    switch (value.kind) {
      case Value::Kind::kNone:
        return nullptr;
      case Value::Kind::kBool:
        return value.whole != 0;
      case Value::Kind::kWhole:
        return value.whole;
      case Value::Kind::kReal:
        return value.real;
      case Value::Kind::kText:
        return text_of(value);
      case Value::Kind::kList: {
        Json list = Json::array();
        for (const int item : value.items) list.push_back(of(item, depth + 1));
        return list;
      }
      case Value::Kind::kDictionary:
        return dictionary(value, depth);
    }
    return nullptr;
  }

 private:
  Json dictionary(const Value& value, int depth) {
    std::map<std::string, int> last;  // as in Python: a key that comes again replaces its value
    for (std::size_t i = 0; i + 1 < value.items.size(); i += 2) last[key_of(value.items[i])] = value.items[i + 1];
    Json object = Json::object();
    for (const auto& [key, item] : last)
      if (key != skip_ || skip_.empty()) object[key] = of(item, depth + 1);
    return object;
  }
  std::string key_of(int index) const {
    const Value& key = machine_.value(index);
    if (key.kind == Value::Kind::kText) return text_of(key);
    if (key.kind == Value::Kind::kWhole) return std::to_string(key.whole);
    machine_.fail("a dictionary's key is neither a text nor a whole number");
  }
  /// Records are UTF-8: what is none of it becomes U+FFFD.
  static std::string text_of(const Value& value) {
    const std::string dumped = Json(std::string(value.text)).dump(-1, ' ', false, Json::error_handler_t::replace);
    return Json::parse(dumped).get<std::string>();
  }

  const PickleMachine& machine_;
  std::string_view skip_;
  std::size_t parts_ = 0, text_B_ = 0;
};

/// Whether bytes begin as a pickle of protocol 2 or later does.
bool is_pickle(std::string_view bytes) { return !bytes.empty() && static_cast<std::uint8_t>(bytes[0]) == kProtocol; }

Json read_pickle(std::string_view bytes, const std::string& file, std::string_view skip) {
  PickleMachine machine(bytes, file);
  const int root = machine.run();
  return AsJson(machine, skip).of(root);
}

}  // namespace

}  // namespace linkcast

namespace linkcast::flight {
namespace {

/// Operation by its profiling name, where c10d itself calls it otherwise.
/// source: PyTorch torch/csrc/distributed/c10d/ProcessGroupNCCL.cpp and torch/distributed/flight_recorder, COLLECTIVES;
/// recalled
std::optional<std::string> operation(const std::string& name) {
  static const std::map<std::string, std::string> kNames{{"all_reduce", "all_reduce"},
                                                         {"all_reduce_barrier", "all_reduce"},
                                                         {"all_reduce_sparse", "all_reduce"},
                                                         {"_all_gather_base", "all_gather"},
                                                         {"all_gather_into_tensor_coalesced", "all_gather"},
                                                         {"_broadcast_oop", "broadcast"},
                                                         {"_reduce_oop", "reduce"}};
  const auto found = kNames.find(name);
  return found != kNames.end() ? found->second : c10d_operation(name);
}

/// Bytes of the tensors of one side. @param types  of each; one for all is enough
double tensors_B(ObjectReader& r, const std::string& sizes_key, const std::string& types_key) {
  constexpr double kMost_B = 9007199254740992.0;  // source: 2^53, above it doubles are no longer exact
  const Json& sizes = r.raw(sizes_key);
  const auto types = r.required<std::vector<std::string>>(types_key);
  if (!sizes.is_array()) r.fail(sizes_key, "must be an array");
  if (!sizes.empty() && types.size() != sizes.size() && types.size() != 1)
    r.fail(types_key, fmt::format("has {} types for {} tensors", types.size(), sizes.size()));
  double all_B = 0;
  for (std::size_t i = 0; i < sizes.size(); ++i) {
    const std::string at = fmt::format("{}/{}", sizes_key, i);
    const std::string& type = types[types.size() == 1 ? 0 : i];
    const auto bytes = c10d_element_B(type);
    if (!bytes) r.fail(types_key, "type " + shown(type) + " is not known");
    double size_B = *bytes;
    if (!sizes[i].is_array()) throw InputError(r.file(), r.pointer() + "/" + at, "must be the shape of a tensor");
    for (const Json& length : sizes[i]) {
      if (!length.is_number_integer() || length.get<double>() < 0)
        throw InputError(r.file(), r.pointer() + "/" + at, "must hold whole numbers of at least 0");
      size_B *= length.get<double>();
    }
    all_B += size_B;
    if (!(all_B <= kMost_B)) throw InputError(r.file(), r.pointer() + "/" + at, "more than 2^53 bytes");
  }
  return all_B;
}

/// "nccl:all_reduce", "nccl:send 0->1", "nccl:recv 0<-1"; a name alone ends a group of calls.
void read_name(ObjectReader& r, Entry& entry) {
  static const Regex pattern(R"((?:\w+:)?(\w+)(?: (\d{1,7})(->|<-)(\d{1,7}))?)");
  const auto text = r.required<std::string>("profiling_name");
  const Match name = pattern.whole(text);
  if (!name) r.fail("profiling_name", shown(text) + " is not understood");
  const bool empty = entry.in_B + entry.out_B == 0;
  const bool ends = name[1] == "coalesced" || name[1].ends_with("_coalesced");
  if (ends && empty) return;
  const auto op = operation(name[1]);
  if (!op) r.fail("profiling_name", shown(text) + " is no collective that this importer knows");
  entry.op = *op;
  entry.kind = kind_of_call(*op);
  if (!entry.message()) return;
  if (!name.has(4)) r.fail("profiling_name", shown(text) + " names no peer");
  entry.peer = std::stoi(name[4]);
}

/// Older dumps have the number of the group alone.
std::string group_of(ObjectReader& r) {
  if (!r.has("process_group")) return std::to_string(r.required<std::int64_t>("pg_id"));
  const auto names = r.required<std::vector<std::string>>("process_group");
  if (names.empty()) r.fail("process_group", "must hold a name");
  return names.front();
}

Entry read_entry(const Json& json, const std::string& file, std::size_t index) {
  const std::string pointer = fmt::format("/entries/{}", index);
  ObjectReader r(json, file, pointer);
  Entry entry;
  entry.place = fmt::format("{}:{}", file, pointer);
  entry.in_B = tensors_B(r, "input_sizes", "input_dtypes");
  entry.out_B = tensors_B(r, "output_sizes", "output_dtypes");
  read_name(r, entry);
  entry.group = group_of(r);
  entry.sequence = r.required<std::int64_t>(entry.message() ? "p2p_seq_id" : "collective_seq_id");
  entry.created_ns = r.required<std::int64_t>("time_created_ns");
  if (entry.created_ns < 0) r.fail("time_created_ns", "must not be negative");
  entry.state = r.choice("state", {"scheduled", "started", "completed"});
  constexpr double kMilli = 1e-3;
  if (r.has("duration_ms") && !r.raw("duration_ms").is_null()) {
    entry.duration_s = r.required<double>("duration_ms") * kMilli;
    if (*entry.duration_s < 0) r.fail("duration_ms", "must not be negative");
    constexpr double kMost_s = 5e9;  // source: ours, half of what a trace may name: added to the latest time stamp
    if (*entry.duration_s > kMost_s) r.fail("duration_ms", "must be at most 5e12 ms");
  }
  return entry;
}

void read_groups(ObjectReader& r, Dump& dump) {
  auto groups = r.optional_object("pg_config");
  if (!groups) return;
  for (auto& [name, group] : groups->named_objects()) {
    const auto text = group.optional<std::string>("ranks").value_or("");
    const Json ranks = parse_foreign_json(text, group.file());
    if (!ranks.is_array() || ranks.size() > kMostRanks) group.fail("ranks", "must be a list of ranks, as text");
    std::vector<int> members;
    for (const Json& rank : ranks) {
      if (!rank.is_number_unsigned() || rank.get<double>() >= kMostRanks)
        group.fail("ranks", fmt::format("must hold ranks, below {}", kMostRanks));
      members.push_back(rank.get<int>());
    }
    std::vector<int> sorted = members;
    std::sort(sorted.begin(), sorted.end());
    if (std::adjacent_find(sorted.begin(), sorted.end()) != sorted.end()) group.fail("ranks", "has a rank twice");
    if (!members.empty()) dump.groups[name] = std::move(members);
  }
}

Json json_of(const std::string& path) {
  const std::string bytes = file_bytes(path);
  if (bytes.empty()) throw InputError(path + ": is empty");
  if (is_pickle(bytes)) return read_pickle(bytes, path, "frames");
  try {
    return parse_watched(with_null_for_nan(bytes), path, {});
  } catch (const Json::exception& error) {
    throw InputError(path + ": neither a pickle nor JSON: " + json_error_text(error.what()));
  }
}

}  // namespace

Dump read_dump(const std::string& path) {
  const Json json = json_of(path);
  ObjectReader r(json, path);
  if (!r.has("entries") && !r.has("pg_config"))
    r.fail("", "no dump of torch.distributed's flight recorder: neither entries nor pg_config");
  Dump dump;
  dump.file = path;
  dump.version = r.required<std::string>("version");
  if (!dump.version.starts_with("2.")) r.fail("version", shown(dump.version) + " is not known: 2.x");
  read_groups(r, dump);
  if (!r.has("entries")) return dump;  // as JSON, where there is none
  const Json& entries = r.raw("entries");
  if (!entries.is_array()) r.fail("entries", "must be an array");
  for (std::size_t i = 0; i < entries.size(); ++i) {
    Entry entry = read_entry(entries[i], path, i);
    const auto group = dump.groups.find(entry.group);
    if (entry.message() && group != dump.groups.end() && entry.peer >= static_cast<int>(group->second.size()))
      throw InputError(fmt::format("{}/profiling_name: peer {} is not in the group", entry.place, entry.peer));
    if (entry.op.empty())
      ++dump.markers;
    else
      dump.entries.push_back(std::move(entry));
  }
  return dump;
}

}  // namespace linkcast::flight
