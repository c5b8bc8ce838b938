#include "sim/records/trace.hpp"

#include <fmt/format.h>
#include <simdjson.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <memory>
#include <string_view>
#include <utility>

#include "sim/base/index.hpp"
#include "sim/base/object_reader.hpp"
#include "sim/base/packed_file.hpp"
#include "sim/base/quantity.hpp"
#include "sim/base/ranges.hpp"
#include "sim/records/plain_object.hpp"
#include "sim/records/trace_keys.hpp"

namespace linkcast {
/// Reads lines of a trace in one pass, for speed.
class TraceLine {
 public:
  TraceLine();
  TraceLine(const TraceLine&) = delete;
  TraceLine& operator=(const TraceLine&) = delete;
  ~TraceLine();

  /// @param text  64 more bytes behind it can be read. @param last_ids  per rank, updated. @param event  a new one
  /// @returns  false if anything is wrong with the line, or unusual: whoever reads it strictly says what. event is then
  /// half read, last_ids as before
  bool read(std::string_view text, const TraceHeader& header, std::vector<std::int64_t>& last_ids, TraceEvent& event);

 private:
  struct Parser;
  std::unique_ptr<Parser> parser_;
};

namespace {

using namespace trace_keys;

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

/// A value as simdjson has it, in the words of a PlainObject.
class Value {
 public:
  explicit Value(simdjson::ondemand::value value) : value_(value) {}
  template <class To>
  bool get(To& to) {
    return value_.get<To>().get(to) == simdjson::SUCCESS;
  }
  template <class Number, class Do>
  bool each(const Do& act) {
    simdjson::ondemand::array all;
    if (value_.get_array().get(all) != simdjson::SUCCESS) return false;
    for (auto each : all) {
      Number number{};
      if (each.get<Number>().get(number) != simdjson::SUCCESS || !act(number)) return false;
    }
    return true;
  }

 private:
  simdjson::ondemand::value value_;
};

template <class Source>
bool text_of(Source& value, std::string& to) {
  std::string_view text;
  if (!value.get(text)) return false;
  to.assign(text);
  return true;
}

bool is_within(double value, double least, double most) {
  return value >= least && value <= most && !std::signbit(value);
}

template <class Source>
bool real_of(Source& value, double least, double most, double& to) {
  return value.get(to) && is_within(to, least, most);
}

template <class Source>
bool small_of(Source& value, int& to) {
  std::int64_t whole = 0;
  if (!value.get(whole)) return false;
  to = static_cast<int>(whole);
  return whole >= 0 && whole <= std::numeric_limits<int>::max();
}

template <class Source>
bool after_of(Source& value, std::vector<std::int64_t>& to) {
  return value.template each<std::int64_t>([&](std::int64_t id) {
    to.push_back(id);
    return true;
  });
}

template <class Source>
bool recorded_of(Source& value, TraceEvent& event) {
  std::array<double, 2> ends_s{};
  std::size_t count = 0;
  const bool fits = value.template each<double>([&](double one_s) {
    if (count == ends_s.size() || !is_within(one_s, 0, kLongest_s)) return false;
    ends_s[count++] = one_s;
    return true;
  });
  event.recorded = RecordedTime{ends_s[0], ends_s[1]};
  return fits && count == ends_s.size() && ends_s[1] >= ends_s[0];
}

/// One key's value into the event.
template <class Source>
bool take(Key key, Source& value, TraceEvent& event) {
  switch (key) {
    case kRank:
      return small_of(value, event.rank);
    case kKind: {
      std::string_view text;
      return value.get(text) && kind_of(text, event.kind);
    }
    case kStream:
      return text_of(value, event.stream);
    case kHost:
      return real_of(value, 0, kLongest_s, event.host_s);
    case kRecording:
      return real_of(value, 0, kLongest_s, event.recording_s);
    case kName:
      return text_of(value, event.name);
    case kPart:
      return text_of(value, event.part);
    case kId:
      return value.get(event.id.emplace());
    case kAfter:
      return after_of(value, event.after);
    case kTime:
      return real_of(value, 0, kLongest_s, event.time_s);
    case kSlowdown:
      return real_of(value, 1, kLargestFactor, event.slowdown.emplace());
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

/// A line as linkcast writes it. @returns  false of any other, right or wrong
bool read_plain(std::string_view text, TraceEvent& event, unsigned& seen) {
  PlainObject line(text);
  for (const char* name = nullptr; line.next(name);) {
    const Key key = key_at(name);
    if (key == kKeys || (seen & bit(key)) != 0) return false;
    seen |= bit(key);
    if (!line.pass(kNames[key].size()) || !take(key, line, event)) return false;
  }
  return line.ended();
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
    Value value(field.value());
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
  if (!read_plain(text, event, seen)) {
    seen = 0;
    event.clear();
    if (!parser_->read(text, event, seen)) return false;
  }
  if (!fits(event, seen, header)) return false;
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

namespace {

constexpr const char* kSchema = "trace/1";
constexpr std::int64_t kNoId = std::numeric_limits<std::int64_t>::min();

constexpr std::array<std::pair<const char*, TraceKind>, 7> kKinds{{{"compute", TraceKind::kCompute},
                                                                   {"copy", TraceKind::kCopy},
                                                                   {"collective", TraceKind::kCollective},
                                                                   {"send", TraceKind::kSend},
                                                                   {"recv", TraceKind::kRecv},
                                                                   {"sync", TraceKind::kSync},
                                                                   {"step", TraceKind::kStep}}};

TraceKind kind_of(ObjectReader& r) {
  std::vector<std::string> names;
  for (const auto& [name, kind] : kKinds) names.emplace_back(name);
  const std::string text = r.choice("kind", names);
  for (const auto& [name, kind] : kKinds)
    if (text == name) return kind;
  throw InvariantError("a kind of trace event without a name");
}

const char* usual_stream(TraceKind kind) { return kind == TraceKind::kSync || kind == TraceKind::kStep ? "" : "0"; }

/// By the end of its name a time, a size or a factor.
double not_negative(ObjectReader& r, const std::string& key, double otherwise) {
  const double value = r.optional<double>(key).value_or(otherwise);
  if (value < 0) r.fail(key, "must not be negative");
  const bool factor = !key.ends_with("_s") && !key.ends_with("_B");
  if (factor && value > kLargestFactor) r.fail(key, fmt::format("must be at most {}", kLargestFactor));
  if (const std::string wrong = range_refusal(key.ends_with("_s") ? "s" : "B", value); !wrong.empty())
    r.fail(key, wrong);
  return value;
}

double at_least_one(ObjectReader& r, const std::string& key) {
  const double value = r.optional<double>(key).value_or(1);
  if (value < 1) r.fail(key, "must be at least 1");
  if (value > kLargestFactor) r.fail(key, fmt::format("must be at most {}", kLargestFactor));
  return value;
}

int rank_of(ObjectReader& r, const std::string& key, int ranks) {
  const int rank = r.required<int>(key);
  if (rank < 0 || rank >= ranks) r.fail(key, fmt::format("must be 0 to {}", ranks - 1));
  return rank;
}

void read_groups(ObjectReader& r, TraceHeader& header) {
  if (!r.has("groups")) return;
  const Json& groups = r.raw("groups");
  if (!groups.is_object()) r.fail("groups", "must be an object: the ranks of each communicator by its name");
  ObjectReader all(groups, r.file(), r.pointer("groups"));
  for (const auto& item : groups.items()) {
    const auto ranks = all.required<std::vector<int>>(item.key());
    std::vector<char> seen(static_cast<std::size_t>(header.ranks), 0);
    for (const int rank : ranks) {
      if (rank < 0 || rank >= header.ranks)
        all.fail(item.key(), fmt::format("must be ranks from 0 to {}", header.ranks - 1));
      if (std::exchange(seen[static_cast<std::size_t>(rank)], 1) != 0) all.fail(item.key(), "must name each rank once");
    }
    if (ranks.empty()) all.fail(item.key(), "must not be empty");
    header.groups[item.key()] = ranks;
  }
}

TraceHeader read_header(const Json& json, const std::string& name) {
  ObjectReader r(json, name);
  r.schema(kSchema);
  TraceHeader header;
  header.name = r.required<std::string>("name");
  header.ranks = r.required<int>("ranks");
  if (header.ranks < 1 || header.ranks > kMostRanks) r.fail("ranks", fmt::format("must be 1 to {}", kMostRanks));
  header.source = r.required<std::string>("source");
  header.notes = r.optional<std::vector<std::string>>("notes").value_or(std::vector<std::string>{});
  read_groups(r, header);
  header.device = r.optional<std::string>("device").value_or("");
  header.host_scale = not_negative(r, "host_scale", 1);
  header.step_time_s = r.optional<double>("step_time_s");
  if (header.step_time_s && !(*header.step_time_s > 0 && *header.step_time_s <= kLongest_s))
    r.fail("step_time_s", "must be above 0 and at most 1e10 s");
  header.launch_s = not_negative(r, "launch_s", 0);
  header.gap_s = not_negative(r, "gap_s", 0);
  header.slowdown = at_least_one(r, "slowdown");
  header.collective_slowdown = at_least_one(r, "collective_slowdown");
  header.eager_B = not_negative(r, "eager_B", 0);
  header.nvls = r.optional<bool>("nvls");
  header.library = r.optional<std::string>("library").value_or("");
  r.finish();
  return header;
}

void read_ids(ObjectReader& r, TraceEvent& event, std::int64_t& last_id) {
  event.id = r.optional<std::int64_t>("id");
  event.after = r.optional<std::vector<std::int64_t>>("after").value_or(std::vector<std::int64_t>{});
  for (const std::int64_t before : event.after)
    if (before > last_id) r.fail("after", "must name earlier events of the same rank");
  if (!event.id) return;
  if (*event.id <= last_id && last_id != kNoId) r.fail("id", "must be larger than those before it in the same rank");
  last_id = *event.id;
}

void read_recorded(ObjectReader& r, TraceEvent& event) {
  if (event.kind == TraceKind::kSync || !r.has("recorded_at_s")) return;
  const auto ends_s = r.required<std::vector<double>>("recorded_at_s");
  if (ends_s.size() != 2 || ends_s[0] < 0 || ends_s[1] < ends_s[0])
    r.fail("recorded_at_s", "must be two times that are not negative: begin, and an end that is not before");
  if (const std::string wrong = range_refusal("s", ends_s[1]); !wrong.empty()) r.fail("recorded_at_s", wrong);
  event.recorded = RecordedTime{ends_s[0], ends_s[1]};
}

void read_action(ObjectReader& r, const TraceHeader& header, TraceEvent& event) {
  switch (event.kind) {
    case TraceKind::kCompute:
      static_cast<void>(r.required<double>("time_s"));
      event.time_s = not_negative(r, "time_s", 0);
      if (r.has("slowdown")) event.slowdown = at_least_one(r, "slowdown");
      return;
    case TraceKind::kCopy:
      event.op = r.choice("copy", {"h2d", "d2h", "d2d"});
      if (!r.has("peer")) break;
      if (event.op != "d2d") r.fail("peer", "is of a copy d2d: of others the host is the other end");
      event.peer = rank_of(r, "peer", header.ranks);
      if (event.peer == event.rank) r.fail("peer", "must be another rank");
      break;
    case TraceKind::kCollective:
      event.op = r.required<std::string>("op");
      event.group = r.required<std::string>("group");
      if (header.groups.count(event.group) == 0) r.fail("group", "is not among the header's groups");
      break;
    case TraceKind::kSend:
    case TraceKind::kRecv:
      event.peer = rank_of(r, "peer", header.ranks);
      event.tag = r.optional<std::string>("tag").value_or("");
      break;
    case TraceKind::kSync:
    case TraceKind::kStep:
      return;
  }
  event.size_B = r.required<double>("size_B");
  if (event.size_B < 0) r.fail("size_B", "must not be negative");
  if (event.size_B > kLargest_B) r.fail("size_B", "must be at most 2^53");
}

}  // namespace

std::string to_text(TraceKind kind) {
  for (const auto& [name, value] : kKinds)
    if (value == kind) return name;
  throw InvariantError("a kind of trace event without a name");
}

void TraceEvent::clear() {
  rank = 0;
  kind = TraceKind::kCompute;
  stream.assign(1, '0');
  host_s = recording_s = time_s = size_B = 0;
  slowdown.reset();
  id.reset();
  after.clear();
  for (std::string* text : {&name, &part, &op, &group, &tag}) text->clear();
  peer = -1;
  recorded.reset();
}

TraceReader::TraceReader(const std::string& path) : TraceReader(open_packed(path), path) {}

TraceReader::TraceReader(std::unique_ptr<std::istream> stream, std::string name)
    : stream_(std::move(stream)), lines_(*stream_), name_(std::move(name)), quick_(std::make_unique<TraceLine>()) {
  if (!*stream_) throw InputError(name_ + ": cannot be read");
  if (!next_line()) throw InputError(name_ + ": is empty, its first line must be a header of schema " + kSchema);
  header_ = read_header(parse_json(std::string(text_), name_ + " line 1"), name_ + " line 1");
  last_id_.assign(static_cast<std::size_t>(header_.ranks), kNoId);
}

std::optional<std::string_view> TraceReader::any_line() {
  try {
    return lines_.next();
  } catch (const InputError& error) {
    const std::string what = error.what();  // what unpacks the file names it
    if (what.rfind(name_, 0) == 0) throw;
    throw InputError(fmt::format("{} line {}: {}", name_, line_ + 1, what));
  }
}

bool TraceReader::next_line() {
  while (const std::optional<std::string_view> text = any_line()) {
    ++line_;
    text_ = *text;
    if (text_.find_first_not_of(" \t\r") != std::string_view::npos) return true;
  }
  if (stream_->bad()) throw InputError(fmt::format("{} line {}: cannot be read further", name_, line_));
  return false;
}

TraceReader::~TraceReader() = default;

std::optional<TraceEvent> TraceReader::next() {
  std::optional<TraceEvent> event(std::in_place);
  if (!next(*event)) event.reset();
  return event;
}

bool TraceReader::next(TraceEvent& event) {
  if (!next_line()) return false;
  event.clear();
  if (!quick_->read(text_, header_, last_id_, event)) event = read_strictly();
  return true;
}

/// Says what is wrong with the line.
TraceEvent TraceReader::read_strictly() {
  const std::string place = fmt::format("{} line {}", name_, line_);
  const Json json = parse_json(std::string(text_), place);
  ObjectReader r(json, place);
  TraceEvent event;
  event.rank = rank_of(r, "rank", header_.ranks);
  event.kind = kind_of(r);
  event.stream = r.optional<std::string>("stream").value_or(usual_stream(event.kind));
  event.host_s = not_negative(r, "host_s", 0);
  event.recording_s = not_negative(r, "recording_s", 0);
  event.name = r.optional<std::string>("name").value_or("");
  event.part = r.optional<std::string>("part").value_or("");
  read_ids(r, event, last_id_[static_cast<std::size_t>(event.rank)]);
  read_action(r, header_, event);
  read_recorded(r, event);
  r.finish();
  return event;
}

Json to_json(const TraceHeader& header) {
  Json out{{"schema", kSchema}, {"name", header.name}, {"ranks", header.ranks}, {"source", header.source}};
  if (!header.notes.empty()) out["notes"] = header.notes;
  if (!header.groups.empty()) {
    out["groups"] = Json::object();
    for (const auto& [name, ranks] : header.groups) out["groups"][name] = ranks;
  }
  if (!header.device.empty()) out["device"] = header.device;
  if (header.host_scale != 1) out["host_scale"] = header.host_scale;
  if (header.step_time_s) out["step_time_s"] = *header.step_time_s;
  if (header.launch_s > 0) out["launch_s"] = header.launch_s;
  if (header.gap_s > 0) out["gap_s"] = header.gap_s;
  if (header.slowdown > 1) out["slowdown"] = header.slowdown;
  if (header.collective_slowdown > 1) out["collective_slowdown"] = header.collective_slowdown;
  if (header.eager_B > 0) out["eager_B"] = header.eager_B;
  if (header.nvls) out["nvls"] = *header.nvls;
  if (!header.library.empty()) out["library"] = header.library;
  return out;
}

Json to_json(const TraceEvent& event) {
  constexpr std::size_t kMembers = 8;  // source: ours, most events have fewer
  Json out = Json::object();
  Json::object_t& members = out.get_ref<Json::object_t&>();
  members.reserve(kMembers);
  const auto put = [&](const char* key, auto&& value) {  // none is there twice
    members.emplace_back(key, std::forward<decltype(value)>(value));
  };
  put("rank", event.rank);
  put("kind", to_text(event.kind));
  const bool marker = event.kind == TraceKind::kStep || event.kind == TraceKind::kSync;
  if (event.stream != usual_stream(event.kind)) put("stream", event.stream);
  if (event.host_s > 0) put("host_s", event.host_s);
  if (event.recording_s > 0) put("recording_s", event.recording_s);
  if (!event.name.empty()) put("name", event.name);
  if (!event.part.empty()) put("part", event.part);
  if (event.id) put("id", *event.id);
  if (!event.after.empty()) put("after", event.after);
  if (event.kind == TraceKind::kCompute) put("time_s", event.time_s);
  if (event.slowdown) put("slowdown", *event.slowdown);
  if (event.kind == TraceKind::kCopy) put("copy", event.op);
  if (event.kind == TraceKind::kCollective) {
    put("op", event.op);
    put("group", event.group);
  }
  if (event.peer >= 0) put("peer", event.peer);
  if (!event.tag.empty()) put("tag", event.tag);
  if (!marker && event.kind != TraceKind::kCompute) put("size_B", event.size_B);
  if (event.recorded) put("recorded_at_s", Json{event.recorded->begin_s, event.recorded->end_s});
  return out;
}

/// Names in foreign files need not be UTF-8.
std::string trace_line(const Json& json) { return write_quickly(json) + "\n"; }

}  // namespace linkcast
