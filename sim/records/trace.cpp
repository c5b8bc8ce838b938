#include "sim/records/trace.hpp"

#include <array>
#include <limits>
#include <utility>

#include "sim/records/packed_file.hpp"
#include "sim/records/quick_json.hpp"
#include "sim/records/trace_line.hpp"

namespace linkcast {
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

double not_negative(ObjectReader& r, const std::string& key, double otherwise) {
  const double value = r.optional<double>(key).value_or(otherwise);
  if (value < 0) r.fail(key, "must not be negative");
  return value;
}

double at_least_one(ObjectReader& r, const std::string& key) {
  const double value = r.optional<double>(key).value_or(1);
  if (value < 1) r.fail(key, "must be at least 1");
  return value;
}

int rank_of(ObjectReader& r, const std::string& key, int ranks) {
  const int rank = r.required<int>(key);
  if (rank < 0 || rank >= ranks) r.fail(key, "must be 0 to " + std::to_string(ranks - 1));
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
        all.fail(item.key(), "must be ranks from 0 to " + std::to_string(header.ranks - 1));
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
  if (header.ranks < 1 || header.ranks > kMostRanks) r.fail("ranks", "must be 1 to " + std::to_string(kMostRanks));
  header.source = r.required<std::string>("source");
  header.notes = r.optional<std::vector<std::string>>("notes").value_or(std::vector<std::string>{});
  read_groups(r, header);
  header.device = r.optional<std::string>("device").value_or("");
  header.host_scale = not_negative(r, "host_scale", 1);
  header.step_time_s = r.optional<double>("step_time_s");
  if (header.step_time_s && !(*header.step_time_s > 0)) r.fail("step_time_s", "must be above 0");
  header.launch_s = not_negative(r, "launch_s", 0);
  header.gap_s = not_negative(r, "gap_s", 0);
  header.slowdown = at_least_one(r, "slowdown");
  header.collective_slowdown = at_least_one(r, "collective_slowdown");
  header.eager_B = not_negative(r, "eager_B", 0);
  header.nvls = r.optional<bool>("nvls");
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
  event.recorded = RecordedTime{ends_s[0], ends_s[1]};
}

void read_action(ObjectReader& r, const TraceHeader& header, TraceEvent& event) {
  switch (event.kind) {
    case TraceKind::kCompute:
      event.time_s = r.required<double>("time_s");
      if (event.time_s < 0) r.fail("time_s", "must not be negative");
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
    throw InputError(name_ + " line " + std::to_string(line_ + 1) + ": " + what);
  }
}

bool TraceReader::next_line() {
  while (const std::optional<std::string_view> text = any_line()) {
    ++line_;
    text_ = *text;
    if (text_.find_first_not_of(" \t\r") != std::string_view::npos) return true;
  }
  if (stream_->bad()) throw InputError(name_ + " line " + std::to_string(line_) + ": cannot be read further");
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
  const std::string place = name_ + " line " + std::to_string(line_);
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
  return out;
}

Json to_json(const TraceEvent& event) {
  Json out{{"rank", event.rank}, {"kind", to_text(event.kind)}};
  const bool marker = event.kind == TraceKind::kStep || event.kind == TraceKind::kSync;
  if (event.stream != usual_stream(event.kind)) out["stream"] = event.stream;
  if (event.host_s > 0) out["host_s"] = event.host_s;
  if (event.recording_s > 0) out["recording_s"] = event.recording_s;
  if (!event.name.empty()) out["name"] = event.name;
  if (!event.part.empty()) out["part"] = event.part;
  if (event.id) out["id"] = *event.id;
  if (!event.after.empty()) out["after"] = event.after;
  if (event.kind == TraceKind::kCompute) out["time_s"] = event.time_s;
  if (event.slowdown) out["slowdown"] = *event.slowdown;
  if (event.kind == TraceKind::kCopy) out["copy"] = event.op;
  if (event.kind == TraceKind::kCollective) {
    out["op"] = event.op;
    out["group"] = event.group;
  }
  if (event.peer >= 0) out["peer"] = event.peer;
  if (!event.tag.empty()) out["tag"] = event.tag;
  if (!marker && event.kind != TraceKind::kCompute) out["size_B"] = event.size_B;
  if (event.recorded) out["recorded_at_s"] = {event.recorded->begin_s, event.recorded->end_s};
  return out;
}

/// Names in foreign files need not be UTF-8.
std::string trace_line(const Json& json) { return write_quickly(json) + "\n"; }

}  // namespace linkcast
