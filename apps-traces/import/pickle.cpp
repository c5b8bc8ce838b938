#include "apps-traces/import/pickle.hpp"

#include <fmt/format.h>

#include <bit>
#include <cmath>
#include <cstdint>
#include <map>
#include <unordered_map>
#include <vector>

#include "apps-traces/import/lines.hpp"
#include "sim/base/index.hpp"

namespace linkcast {
namespace {

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

}  // namespace

bool is_pickle(std::string_view bytes) { return !bytes.empty() && static_cast<std::uint8_t>(bytes[0]) == kProtocol; }

Json read_pickle(std::string_view bytes, const std::string& file, std::string_view skip) {
  PickleMachine machine(bytes, file);
  const int root = machine.run();
  return AsJson(machine, skip).of(root);
}

}  // namespace linkcast
