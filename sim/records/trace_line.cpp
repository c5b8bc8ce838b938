#include "sim/records/trace_line.hpp"

#include <algorithm>
#include <array>
#include <limits>
#include <string_view>

#include "sim/units/quantity.hpp"

namespace linkcast {
namespace {

enum Key : unsigned {
  kRank,
  kKind,
  kStream,
  kHost,
  kRecording,
  kName,
  kPart,
  kId,
  kAfter,
  kTime,
  kSlowdown,
  kCopy,
  kOp,
  kGroup,
  kPeer,
  kTag,
  kSize,
  kRecorded,
  kKeys
};
constexpr std::array<std::string_view, kKeys> kNames{
    "rank",   "kind",     "stream", "host_s", "recording_s", "name", "part", "id",     "after",
    "time_s", "slowdown", "copy",   "op",     "group",       "peer", "tag",  "size_B", "recorded_at_s"};

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

/// Takes what the parser finds; false stops it.
class Line final : public nlohmann::json_sax<Json> {
 public:
  explicit Line(TraceEvent& event) : event_(event) {}
  [[nodiscard]] unsigned seen() const { return seen_; }

  bool key(string_t& text) override {
    const auto found = std::find(kNames.begin(), kNames.end(), std::string_view(text));
    if (found == kNames.end()) return false;
    key_ = static_cast<Key>(found - kNames.begin());
    if ((seen_ & bit(key_)) != 0) return false;
    seen_ |= bit(key_);
    return true;
  }
  bool string(string_t& text) override {
    switch (key_) {
      case kKind:
        return kind_of(text, event_.kind);
      case kStream:
        return take(text, event_.stream);
      case kName:
        return take(text, event_.name);
      case kPart:
        return take(text, event_.part);
      case kCopy:
      case kOp:
        return take(text, event_.op);
      case kGroup:
        return take(text, event_.group);
      case kTag:
        return take(text, event_.tag);
      default:
        return false;
    }
  }
  bool number_integer(number_integer_t value) override { return whole(value); }
  bool number_unsigned(number_unsigned_t value) override {
    return value <= static_cast<number_unsigned_t>(std::numeric_limits<std::int64_t>::max()) &&
           whole(static_cast<std::int64_t>(value));
  }
  bool number_float(number_float_t value, const string_t& /*text*/) override { return real(value); }
  bool start_object(std::size_t /*size*/) override { return !std::exchange(open_, true); }
  bool end_object() override { return !list_; }
  bool start_array(std::size_t /*size*/) override {
    return (key_ == kAfter || key_ == kRecorded) && !std::exchange(list_, true);
  }
  bool end_array() override {
    list_ = false;
    return key_ != kRecorded || whole_recorded();
  }
  bool null() override { return false; }
  bool boolean(bool /*value*/) override { return false; }
  bool binary(binary_t& /*value*/) override { return false; }
  bool parse_error(std::size_t /*at*/, const std::string& /*token*/, const Json::exception& /*error*/) override {
    return false;
  }

 private:
  bool take(string_t& text, std::string& to) const {
    to.swap(text);
    return !list_;
  }
  static bool small(std::int64_t value, int& to) {
    to = static_cast<int>(value);
    return value >= 0 && value <= std::numeric_limits<int>::max();
  }
  bool whole(std::int64_t value) {
    if (list_ && key_ == kAfter) {
      event_.after.push_back(value);
      return true;
    }
    switch (key_) {
      case kRank:
        return small(value, event_.rank);
      case kPeer:
        return small(value, event_.peer);
      case kId:
        event_.id = value;
        return true;
      default:
        return real(static_cast<double>(value));
    }
  }
  [[nodiscard]] bool whole_recorded() const {
    return recorded_ == 2 && event_.recorded->begin_s >= 0 && event_.recorded->end_s >= event_.recorded->begin_s;
  }
  bool real(double value) {
    switch (key_) {
      case kHost:
        event_.host_s = value;
        return value >= 0;
      case kRecording:
        event_.recording_s = value;
        return value >= 0;
      case kTime:
        event_.time_s = value;
        return value >= 0;
      case kSize:
        event_.size_B = value;
        return value >= 0 && value <= kLargest_B;
      case kSlowdown:
        event_.slowdown = value;
        return value >= 1;
      case kRecorded:
        if (!event_.recorded) event_.recorded.emplace();
        (recorded_ == 0 ? event_.recorded->begin_s : event_.recorded->end_s) = value;
        return list_ && ++recorded_ <= 2;
      default:
        return false;
    }
  }

  TraceEvent& event_;
  Key key_ = kKeys;
  unsigned seen_ = 0;
  bool open_ = false, list_ = false;
  int recorded_ = 0;  ///< numbers of it
};

}  // namespace

bool read_trace_line(const std::string& text, const TraceHeader& header, std::vector<std::int64_t>& last_ids,
                     TraceEvent& event) {
  Line line(event);
  if (!Json::sax_parse(text, &line)) return false;
  const Keys keys = keys_of(event.kind);
  const unsigned needed = kAlways | keys.needed;
  if ((line.seen() & needed) != needed || (line.seen() & ~(kOfAll | needed | keys.more)) != 0) return false;
  if (event.rank >= header.ranks || event.peer >= header.ranks) return false;
  if (event.kind == TraceKind::kCollective && header.groups.count(event.group) == 0) return false;
  if (event.kind == TraceKind::kCopy && event.op != "h2d" && event.op != "d2h" && event.op != "d2d") return false;
  if (event.kind == TraceKind::kCopy && event.peer >= 0 && (event.op != "d2d" || event.peer == event.rank))
    return false;
  const bool marker = event.kind == TraceKind::kSync || event.kind == TraceKind::kStep;
  if (marker && (line.seen() & bit(kStream)) == 0) event.stream.clear();
  std::int64_t& last_id = last_ids[static_cast<std::size_t>(event.rank)];
  for (const std::int64_t before : event.after)
    if (before > last_id) return false;
  if (!event.id) return true;
  if (*event.id <= last_id) return false;
  last_id = *event.id;
  return true;
}

}  // namespace linkcast
