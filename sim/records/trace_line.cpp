#include "sim/records/trace_line.hpp"

#include <simdjson.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>
#include <limits>
#include <string_view>

#include "sim/units/index.hpp"
#include "sim/units/quantity.hpp"

namespace linkcast {
namespace {

/// By first letter.
enum Key : unsigned {
  kAfter,
  kCopy,
  kGroup,
  kHost,
  kId,
  kKind,
  kName,
  kOp,
  kPart,
  kPeer,
  kRank,
  kRecorded,
  kRecording,
  kSize,
  kSlowdown,
  kStream,
  kTag,
  kTime,
  kKeys
};
constexpr std::array<std::string_view, kKeys> kNames{
    "after", "copy", "group",         "host_s",      "id",     "kind",     "name",   "op",  "part",
    "peer",  "rank", "recorded_at_s", "recording_s", "size_B", "slowdown", "stream", "tag", "time_s"};

constexpr std::size_t kLetters = 26;
/// Of the first name that begins with a letter, or a later one.
constexpr std::array<unsigned char, kLetters> kFirst = [] {
  std::array<unsigned char, kLetters> first{};
  for (std::size_t letter = 0; letter < kLetters; ++letter)
    while (first[letter] < kKeys && kNames[first[letter]].front() < static_cast<char>('a' + letter)) ++first[letter];
  return first;
}();

/// @param text  behind the opening quote of a key, with more behind it than a name has. @returns  kKeys: none of them,
/// or written with escapes
Key key_at(const char* text) {
  const auto letter = static_cast<std::size_t>(*text - 'a');
  if (letter >= kLetters) return kKeys;
  for (unsigned key = kFirst[letter]; key < kKeys && kNames[key].front() == *text; ++key) {
    const std::string_view name = kNames[key];
    if (std::memcmp(text, name.data(), name.size()) == 0 && text[name.size()] == '"') return static_cast<Key>(key);
  }
  return kKeys;
}

constexpr unsigned bit(Key key) { return 1U << static_cast<unsigned>(key); }
constexpr unsigned kAlways = bit(kRank) | bit(kKind);
constexpr unsigned kOfAll =
    kAlways | bit(kStream) | bit(kHost) | bit(kRecording) | bit(kName) | bit(kPart) | bit(kId) | bit(kAfter);

/// Keys that an event of a kind must have, and those that it may have.
struct Keys {
  unsigned needed, more;
};
Keys keys_of(TraceKind kind) {
  switch (kind) {
    case TraceKind::kCompute:
      return {bit(kTime), bit(kSlowdown) | bit(kRecorded)};
    case TraceKind::kCopy:
      return {bit(kCopy) | bit(kSize), bit(kPeer) | bit(kRecorded)};
    case TraceKind::kCollective:
      return {bit(kOp) | bit(kGroup) | bit(kSize), bit(kRecorded)};
    case TraceKind::kSend:
    case TraceKind::kRecv:
      return {bit(kPeer) | bit(kSize), bit(kTag) | bit(kRecorded)};
    case TraceKind::kStep:
      return {0, bit(kRecorded)};
    default:
      return {0, 0};
  }
}

bool kind_of(std::string_view text, TraceKind& kind) {
  constexpr std::array<TraceKind, 7> all{TraceKind::kCompute, TraceKind::kCopy, TraceKind::kCollective,
                                         TraceKind::kSend,    TraceKind::kRecv, TraceKind::kSync,
                                         TraceKind::kStep};
  constexpr std::array<std::string_view, all.size()> names{"compute", "copy", "collective", "send",
                                                           "recv",    "sync", "step"};
  const auto found = std::find(names.begin(), names.end(), text);
  if (found == names.end()) return false;
  kind = all[static_cast<std::size_t>(found - names.begin())];
  return true;
}

using Value = simdjson::ondemand::value;

bool text_of(Value& value, std::string& to) {
  std::string_view text;
  if (value.get_string().get(text) != simdjson::SUCCESS) return false;
  to.assign(text);
  return true;
}

bool real_of(Value& value, double least, double most, double& to) {
  return value.get_double().get(to) == simdjson::SUCCESS && to >= least && to <= most && !std::signbit(to);
}

bool small_of(Value& value, int& to) {
  std::int64_t whole = 0;
  if (value.get_int64().get(whole) != simdjson::SUCCESS) return false;
  to = static_cast<int>(whole);
  return whole >= 0 && whole <= std::numeric_limits<int>::max();
}

bool after_of(Value& value, std::vector<std::int64_t>& to) {
  simdjson::ondemand::array all;
  if (value.get_array().get(all) != simdjson::SUCCESS) return false;
  for (auto each : all) {
    std::int64_t id = 0;
    if (each.get_int64().get(id) != simdjson::SUCCESS) return false;
    to.push_back(id);
  }
  return true;
}

bool recorded_of(Value& value, TraceEvent& event) {
  simdjson::ondemand::array all;
  if (value.get_array().get(all) != simdjson::SUCCESS) return false;
  std::array<double, 2> ends_s{};
  std::size_t count = 0;
  for (auto each : all) {
    Value one;
    if (count == ends_s.size() || each.get(one) != simdjson::SUCCESS) return false;
    if (!real_of(one, 0, kInfinity, ends_s[count++])) return false;
  }
  event.recorded = RecordedTime{ends_s[0], ends_s[1]};
  return count == ends_s.size() && ends_s[1] >= ends_s[0];
}

/// One key's value into the event.
bool take(Key key, Value& value, TraceEvent& event) {
  switch (key) {
    case kRank:
      return small_of(value, event.rank);
    case kKind: {
      std::string_view text;
      return value.get_string().get(text) == simdjson::SUCCESS && kind_of(text, event.kind);
    }
    case kStream:
      return text_of(value, event.stream);
    case kHost:
      return real_of(value, 0, kInfinity, event.host_s);
    case kRecording:
      return real_of(value, 0, kInfinity, event.recording_s);
    case kName:
      return text_of(value, event.name);
    case kPart:
      return text_of(value, event.part);
    case kId:
      return value.get_int64().get(event.id.emplace()) == simdjson::SUCCESS;
    case kAfter:
      return after_of(value, event.after);
    case kTime:
      return real_of(value, 0, kInfinity, event.time_s);
    case kSlowdown:
      return real_of(value, 1, kInfinity, event.slowdown.emplace());
    case kCopy:
    case kOp:
      return text_of(value, event.op);
    case kGroup:
      return text_of(value, event.group);
    case kPeer:
      return small_of(value, event.peer);
    case kTag:
      return text_of(value, event.tag);
    case kSize:
      return real_of(value, 0, kLargest_B, event.size_B);
    default:
      return recorded_of(value, event);
  }
}

/// Whether the event has what its kind needs and nothing else, and all of it fits the header.
bool fits(const TraceEvent& event, unsigned seen, const TraceHeader& header) {
  const Keys keys = keys_of(event.kind);
  const unsigned needed = kAlways | keys.needed;
  if ((seen & needed) != needed || (seen & ~(kOfAll | needed | keys.more)) != 0) return false;
  if (event.rank >= header.ranks || event.peer >= header.ranks) return false;
  if (event.kind == TraceKind::kCollective && header.groups.count(event.group) == 0) return false;
  if (event.kind != TraceKind::kCopy) return true;
  if (event.op != "h2d" && event.op != "d2h" && event.op != "d2d") return false;
  return event.peer < 0 || (event.op == "d2d" && event.peer != event.rank);
}

}  // namespace

struct TraceLine::Parser {
  simdjson::ondemand::parser parser{};
  bool read(std::string_view text, TraceEvent& event, unsigned& seen);
};

bool TraceLine::Parser::read(std::string_view text, TraceEvent& event, unsigned& seen) {
  simdjson::ondemand::document line;
  if (parser.iterate(text.data(), text.size(), text.size() + simdjson::SIMDJSON_PADDING).get(line) != simdjson::SUCCESS)
    return false;
  simdjson::ondemand::object all;
  if (line.get_object().get(all) != simdjson::SUCCESS) return false;
  for (auto field : all) {
    simdjson::ondemand::raw_json_string name;
    if (field.key().get(name) != simdjson::SUCCESS) return false;
    const Key key = key_at(name.raw());
    if (key == kKeys || (seen & bit(key)) != 0) return false;
    seen |= bit(key);
    Value value = field.value();
    if (!take(key, value, event)) return false;
  }
  const char* rest = nullptr;
  return line.current_location().get(rest) == simdjson::OUT_OF_BOUNDS;  // nothing else on the line
}

TraceLine::TraceLine() : parser_(std::make_unique<Parser>()) {}
TraceLine::~TraceLine() = default;

bool TraceLine::read(std::string_view text, const TraceHeader& header, std::vector<std::int64_t>& last_ids,
                     TraceEvent& event) {
  unsigned seen = 0;
  if (!parser_->read(text, event, seen) || !fits(event, seen, header)) return false;
  const bool marker = event.kind == TraceKind::kSync || event.kind == TraceKind::kStep;
  if (marker && (seen & bit(kStream)) == 0) event.stream.clear();
  std::int64_t& last_id = last_ids[static_cast<std::size_t>(event.rank)];
  for (const std::int64_t before : event.after)
    if (before > last_id) return false;
  if (!event.id) return true;
  if (*event.id <= last_id) return false;
  last_id = *event.id;
  return true;
}

}  // namespace linkcast
