// Chakra's execution traces (protobuf): the graph of what one rank computes and communicates, one file a rank.
#include <chakra_et.pb.h>
#include <fmt/format.h>
#include <google/protobuf/io/zero_copy_stream_impl.h>
#include <google/protobuf/util/delimited_message_util.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <filesystem>
#include <istream>
#include <memory>
#include <set>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "apps-traces/import/dag_streams.hpp"
#include "apps-traces/import/lines.hpp"
#include "sim/base/index.hpp"
#include "sim/base/null_for_nan.hpp"
#include "sim/base/object_reader.hpp"
#include "sim/base/packed_file.hpp"
#include "sim/machine/trace_source.hpp"

namespace linkcast {
namespace {

// Chakra's messages as JSON: what protobuf writes of them, one object after another or in one array.

class ChakraJson {
 public:
  /// @param stream  outlives this
  ChakraJson(std::istream& stream, std::string path);
  /// False at the end. The first object may be the metadata, which is passed over. @throws InputError  with its pointer
  bool take(chakra_et::Node& node);

 private:
  /// False at the end.
  bool next(Json& object);

  std::istream& stream_;
  std::string path_;
  Json all_;  ///< of one array
  bool array_ = false;
  std::size_t index_ = 0;
};

/// Keys stand as in the schema (data_deps) or as protobuf writes them (dataDeps).
const Json* find_key(const Json& object, const std::string& key) {
  std::string camel;
  for (std::size_t i = 0; i < key.size(); ++i)
    camel += key[i] == '_' && i + 1 < key.size() ? static_cast<char>(std::toupper(key[++i])) : key[i];
  for (const std::string& name : {key, camel})
    if (const auto found = object.find(name); found != object.end()) return &*found;
  return nullptr;
}

class ChakraObject {
 public:
  ChakraObject(const Json& object, std::string path, std::string pointer)
      : object_(object), path_(std::move(path)), pointer_(std::move(pointer)) {
    if (!object_.is_object()) throw InputError(path_, pointer_, "must be an object");
  }
  [[nodiscard]] bool has(const std::string& key) const { return find_key(object_, key) != nullptr; }
  [[nodiscard]] std::string text(const std::string& key) const {
    const Json* value = find_key(object_, key);
    if (value == nullptr) return "";
    if (!value->is_string()) fail(key, "must be a string");
    return value->get<std::string>();
  }
  /// 64-bit values may be strings. @returns 0 where it is not there, as in protobuf
  [[nodiscard]] std::int64_t whole(const std::string& key) const {
    const Json* value = find_key(object_, key);
    return value == nullptr ? 0 : whole_of(*value, key);
  }
  [[nodiscard]] std::vector<std::int64_t> wholes(const std::string& key) const {
    std::vector<std::int64_t> all;
    for (const Json& value : list(key)) all.push_back(whole_of(value, key));
    return all;
  }
  [[nodiscard]] const Json& list(const std::string& key) const {
    static const Json kNone = Json::array();
    const Json* value = find_key(object_, key);
    if (value == nullptr) return kNone;
    if (!value->is_array()) fail(key, "must be an array");
    return *value;
  }
  [[nodiscard]] const Json& raw() const { return object_; }
  [[noreturn]] void fail(const std::string& key, const std::string& what) const {
    throw InputError(path_, pointer_ + "/" + key, what);
  }

 private:
  [[nodiscard]] std::int64_t whole_of(const Json& value, const std::string& key) const {
    if (value.is_boolean()) return value.get<bool>() ? 1 : 0;
    if (value.is_number_integer()) return value.get<std::int64_t>();
    if (value.is_string())
      if (const auto number = trace_whole(value.get<std::string>())) return *number;
    fail(key, "must be a whole number");
  }
  const Json& object_;
  std::string path_, pointer_;
};

chakra_et::NodeType type_of(const ChakraObject& object) {
  const Json* value = find_key(object.raw(), "type");
  chakra_et::NodeType type = chakra_et::INVALID_NODE;
  if (value == nullptr) return type;
  if (value->is_string()) {
    if (!chakra_et::NodeType_Parse(value->get<std::string>(), &type))
      object.fail("type", shown(value->get<std::string>()) + " is no type of node");
    return type;
  }
  const std::int64_t number = object.whole("type");
  if (number < 0 || !chakra_et::NodeType_IsValid(static_cast<int>(number)))
    object.fail("type", fmt::format("type {} is not known", number));
  return static_cast<chakra_et::NodeType>(number);
}

/// Whole numbers and texts; other attributes are not needed.
void fill_attribute(const ChakraObject& object, chakra_et::Attribute& attribute) {
  attribute.set_name(object.text("name"));
  for (const char* kind : {"int64_val", "uint64_val", "int32_val", "uint32_val", "sint32_val", "sint64_val",
                           "fixed32_val", "fixed64_val", "sfixed32_val", "sfixed64_val", "bool_val"})
    if (object.has(kind)) attribute.set_int64_val(object.whole(kind));
  if (object.has("string_val")) attribute.set_string_val(object.text("string_val"));
}

/// Whether a file holds JSON.
bool is_chakra_json(const std::string& path) {
  const std::unique_ptr<std::istream> stream = open_packed(path);
  // A message can begin with these bytes, too: its length, then its first field. It is followed by no quote.
  std::string begin(64, '\0');
  stream->read(begin.data(), static_cast<std::streamsize>(begin.size()));
  begin.resize(static_cast<std::size_t>(stream->gcount()));
  std::string dense;
  for (const char c : begin)
    if (!std::isspace(static_cast<unsigned char>(c))) dense += c;
  return dense.rfind("{\"", 0) == 0 || dense.rfind("[{", 0) == 0 || dense == "[]";
}

ChakraJson::ChakraJson(std::istream& stream, std::string path) : stream_(stream), path_(std::move(path)) {
  stream_ >> std::ws;
  array_ = stream_.peek() == '[';
  if (!array_) return;
  all_ = parse_foreign_json(stream_, path_);
  if (all_.is_discarded()) all_ = parse_foreign_json(with_null_for_nan(file_bytes(path_)), path_);
  if (all_.is_discarded()) throw InputError(path_ + ": is not whole JSON");
}

bool ChakraJson::next(Json& object) {
  if (array_) {
    if (index_ >= all_.size()) return false;
    object = std::move(all_[index_++]);
    return true;
  }
  stream_ >> std::ws;
  if (stream_.peek() == ',') stream_.get();
  stream_ >> std::ws;
  if (stream_.eof()) return false;
  try {
    stream_ >> object;
  } catch (const Json::exception&) {
    throw InputError(fmt::format("{}: object {} is not whole JSON", path_, index_ + 1));
  }
  ++index_;
  return true;
}

bool ChakraJson::take(chakra_et::Node& node) {
  Json json;
  if (!next(json)) return false;
  const ChakraObject object(json, path_, fmt::format("/{}", index_ - 1));
  if (index_ == 1 && object.has("version") && !object.has("id")) return take(node);
  if (!object.has("id") && !object.has("name")) object.fail("id", "missing key: is it a node of Chakra's schema?");
  node.Clear();
  node.set_id(static_cast<std::uint64_t>(object.whole("id")));
  node.set_name(object.text("name"));
  node.set_type(type_of(object));
  for (const std::int64_t id : object.wholes("ctrl_deps")) node.add_ctrl_deps(static_cast<std::uint64_t>(id));
  for (const std::int64_t id : object.wholes("data_deps")) node.add_data_deps(static_cast<std::uint64_t>(id));
  const std::int64_t duration = object.whole("duration_micros");
  if (duration < 0) object.fail("duration_micros", "must not be negative");
  node.set_duration_micros(static_cast<std::uint64_t>(duration));
  const Json& attributes = object.list("attr");
  for (std::size_t i = 0; i < attributes.size(); ++i)
    fill_attribute({attributes[i], path_, fmt::format("/{}/attr/{}", index_ - 1, i)}, *node.add_attr());
  return true;
}

/// By the number of CollectiveCommType. source: mlcommons/chakra, et_def.proto: ALL_REDUCE, REDUCE, ALL_GATHER, GATHER,
/// SCATTER, BROADCAST, ALL_TO_ALL, REDUCE_SCATTER, REDUCE_SCATTER_BLOCK, BARRIER
constexpr std::array<const char*, 10> kCollectives{"all_reduce",     "reduce",    "all_gather", "gather",
                                                   "scatter",        "broadcast", "alltoall",   "reduce_scatter",
                                                   "reduce_scatter", "all_reduce"};
constexpr std::size_t kBarrier = 9;

const std::string kCpu = "cpu";

struct Node {
  std::uint64_t id = 0;
  TraceEvent event;  ///< without rank, id, stream and what it waits for
  std::string resource;
  bool queues = false;  ///< behind what was issued to its resource before
  std::vector<std::uint64_t> needs;
};

struct Settings {
  bool control = false;  ///< ctrl_deps count too
  double flops = 0;      ///< per second; 0: not said
  int ranks = 1;
  std::map<std::string, std::vector<int>> groups{};  ///< as said; empty: one of all ranks
};

/// One file, read node by node.
class ChakraFile {
 public:
  ChakraFile(const std::string& path, int rank, const Settings& settings)
      : path_(path), rank_(rank), settings_(settings), file_(open_packed(path)), stream_(file_.get()) {
    if (std::filesystem::is_directory(path)) throw InputError(path + ": is a folder");
    if (!*file_) throw InputError(path + ": cannot be read");
    if (is_chakra_json(path)) {
      json_.emplace(*file_, path);
      return;
    }
    chakra_et::GlobalMetadata metadata;
    if (!take(metadata)) throw InputError(path + ": is empty");
  }

  std::optional<Node> next() {
    chakra_et::Node read;
    if (json_ ? !json_->take(read) : !take(read)) return std::nullopt;
    Node node;
    node.id = read.id();
    at_ = fmt::format("{}: node {}", path_, read.id());
    node.event.name = read.name();
    node.needs.assign(read.data_deps().begin(), read.data_deps().end());
    if (settings_.control) node.needs.insert(node.needs.end(), read.ctrl_deps().begin(), read.ctrl_deps().end());
    fill(read, node);
    if (node.resource != kCpu) on_stream(read, node);
    return node;
  }
  [[noreturn]] void fail(const std::string& what) const { throw InputError(at_ + ": " + what); }

 private:
  template <class Message>
  bool take(Message& message) {
    bool at_end = false;
    if (google::protobuf::util::ParseDelimitedFromZeroCopyStream(&message, &stream_, &at_end)) {
      ++messages_;
      return true;
    }
    if (!at_end) throw InputError(fmt::format("{}: message {} is not one of Chakra's schema", path_, messages_ + 1));
    return false;
  }

  void fill(const chakra_et::Node& read, Node& node) const {
    switch (read.type()) {
      case chakra_et::COMM_SEND_NODE:
      case chakra_et::COMM_RECV_NODE:
        message(read, node);
        return;
      case chakra_et::COMM_COLL_NODE:
        collective(read, node);
        return;
      case chakra_et::INVALID_NODE:
      case chakra_et::METADATA_NODE:
      case chakra_et::MEM_LOAD_NODE:
      case chakra_et::MEM_STORE_NODE:
      case chakra_et::COMP_NODE:
        compute(read, node);
        return;
      default:
        fail(fmt::format("type {} is not known", static_cast<int>(read.type())));
    }
  }

  /// A node that names its stream is behind all others that do.
  void on_stream(const chakra_et::Node& read, Node& node) const {
    const chakra_et::Attribute* stream = find(read, "stream");
    if (stream == nullptr) return;
    const bool text = stream->value_case() == chakra_et::Attribute::kStringVal;
    node.resource = "stream " + (text ? shown(stream->string_val()) : std::to_string(number(*stream, "stream")));
    node.queues = true;
  }

  void compute(const chakra_et::Node& read, Node& node) const {
    node.resource = find(read, "is_cpu_op") != nullptr && whole(read, "is_cpu_op") != 0 ? kCpu : "gpu";
    node.event.time_s = static_cast<double>(read.duration_micros()) / 1e6;
    if (read.duration_micros() > 0 || read.type() != chakra_et::COMP_NODE || find(read, "num_ops") == nullptr) return;
    const std::int64_t operations = whole(read, "num_ops");
    if (operations > 0 && settings_.flops == 0)
      fail("has no duration, but num_ops: add option flops-per-second=..., what one rank computes");
    if (operations > 0) node.event.time_s = static_cast<double>(operations) / settings_.flops;
  }

  void message(const chakra_et::Node& read, Node& node) const {
    const bool sends = read.type() == chakra_et::COMM_SEND_NODE;
    node.event.kind = sends ? TraceKind::kSend : TraceKind::kRecv;
    node.resource = "messages";
    node.event.size_B = static_cast<double>(whole(read, "comm_size"));
    const std::int64_t peer = whole(read, sends ? "comm_dst" : "comm_src");
    if (peer >= settings_.ranks) fail(fmt::format("rank {}, but files of {} ranks", peer, settings_.ranks));
    node.event.peer = static_cast<int>(peer);
    if (find(read, "comm_tag") != nullptr) node.event.tag = std::to_string(whole(read, "comm_tag"));
  }

  void collective(const chakra_et::Node& read, Node& node) const {
    node.event.kind = TraceKind::kCollective;
    const auto type = static_cast<std::size_t>(whole(read, "comm_type"));
    if (type >= kCollectives.size()) fail(fmt::format("comm_type {} is not known", type));
    node.event.op = kCollectives[type];
    node.event.size_B = type == kBarrier ? 4 : static_cast<double>(whole(read, "comm_size"));
    node.event.group = "all";
    if (!settings_.groups.empty()) {
      const auto* name = find(read, "pg_name");
      node.event.group = name == nullptr ? "" : name->string_val();
      const auto group = settings_.groups.find(node.event.group);
      if (group == settings_.groups.end()) fail("pg_name " + shown(node.event.group) + " is not among the groups");
      if (std::find(group->second.begin(), group->second.end(), rank_) == group->second.end())
        fail(fmt::format("rank {} is not in group {}", rank_, shown(node.event.group)));
    } else if (const auto* name = find(read, "pg_name"); name != nullptr) {
      if (group_.empty()) group_ = name->string_val();
      if (group_ != name->string_val())
        fail("a second process group " + shown(name->string_val()) +
             ": add option groups=FILE, JSON with the ranks of each, e.g. {\"0\": [0, 1]}");
    }
    node.resource = "group " + node.event.group;
    node.queues = true;
  }

  static const chakra_et::Attribute* find(const chakra_et::Node& read, const std::string& name) {
    for (const auto& attribute : read.attr())
      if (attribute.name() == name) return &attribute;
    return nullptr;
  }

  [[nodiscard]] std::int64_t whole(const chakra_et::Node& read, const std::string& name) const {
    const chakra_et::Attribute* attribute = find(read, name);
    if (attribute == nullptr) fail("has no attribute " + name);
    const std::int64_t value = number(*attribute, name);
    if (value < 0) fail("attribute " + name + " is not at least 0");
    return value;
  }

  [[nodiscard]] std::int64_t number(const chakra_et::Attribute& a, const std::string& name) const {
    using Attribute = chakra_et::Attribute;
    switch (a.value_case()) {
      case Attribute::kInt32Val:
        return a.int32_val();
      case Attribute::kInt64Val:
        return a.int64_val();
      case Attribute::kUint32Val:
        return a.uint32_val();
      case Attribute::kUint64Val:
        return static_cast<std::int64_t>(a.uint64_val());
      case Attribute::kSint32Val:
        return a.sint32_val();
      case Attribute::kSint64Val:
        return a.sint64_val();
      case Attribute::kFixed32Val:
        return a.fixed32_val();
      case Attribute::kFixed64Val:
        return static_cast<std::int64_t>(a.fixed64_val());
      case Attribute::kSfixed32Val:
        return a.sfixed32_val();
      case Attribute::kSfixed64Val:
        return a.sfixed64_val();
      case Attribute::kBoolVal:
        return a.bool_val() ? 1 : 0;
      default:
        fail("attribute " + name + " is not a whole number");
    }
  }

  std::string path_;
  int rank_;
  const Settings& settings_;
  std::unique_ptr<std::istream> file_;
  google::protobuf::io::IstreamInputStream stream_;
  std::optional<ChakraJson> json_{};  ///< where the file is JSON
  long messages_ = 0;
  std::string at_;
  mutable std::string group_;  ///< the only one, where no groups are said
};

/// The graph of one rank as events.
void write_rank(const std::string& path, int rank, const Settings& settings, TraceSink& sink) {
  ChakraFile file(path, rank, settings);
  std::vector<Node> nodes;
  std::unordered_map<std::uint64_t, std::size_t> by_id;
  while (std::optional<Node> node = file.next()) {
    if (!by_id.emplace(node->id, nodes.size()).second) file.fail("is there twice");
    nodes.push_back(std::move(*node));
  }
  std::vector<std::vector<std::size_t>> before(nodes.size());
  std::vector<long> waiting(nodes.size(), 0);
  for (std::size_t i = 0; i < nodes.size(); ++i)
    for (const std::uint64_t id : std::set<std::uint64_t>(nodes[i].needs.begin(), nodes[i].needs.end())) {
      const auto found = by_id.find(id);
      if (found == by_id.end())
        throw InputError(fmt::format("{}: node {}: waits for node {}, which is not there", path, nodes[i].id, id));
      before[i].push_back(found->second);
      ++waiting[found->second];
    }
  const std::vector<std::size_t> order = in_order(before);
  if (order.size() < nodes.size()) throw InputError(path + ": nodes wait for each other in a circle");
  DagStreams streams(nodes.size());
  std::vector<std::int64_t> ids(nodes.size());
  std::int64_t id = 0;
  for (const std::size_t i : order) {
    TraceEvent event = std::move(nodes[i].event);
    event.rank = rank;
    event.id = ids[i] = ++id;
    event.stream = nodes[i].queues ? streams.add_to_queue(i, nodes[i].resource, before[i])
                                   : streams.add(i, nodes[i].resource, before[i]);
    for (const std::size_t earlier : before[i]) {
      if (!streams.same_stream(i, earlier)) event.after.push_back(ids[earlier]);
      if (--waiting[earlier] == 0) streams.forget(earlier);
    }
    if (waiting[i] == 0) streams.forget(i);
    sink.event(event);
  }
}

std::map<std::string, std::vector<int>> read_groups(const std::string& path, int ranks) {
  std::map<std::string, std::vector<int>> groups;
  const Json json = read_json_file(path);
  ObjectReader r(json, path);
  for (const auto& item : json.items()) {
    const auto members = r.required<std::vector<int>>(item.key());
    const bool wrong = std::any_of(members.begin(), members.end(), [&](int m) { return m < 0 || m >= ranks; });
    if (wrong || members.empty() || std::set<int>(members.begin(), members.end()).size() != members.size())
      r.fail(item.key(), fmt::format("must be ranks of 0 to {}, each once", ranks - 1));
    groups[item.key()] = members;
  }
  if (groups.empty()) throw InputError(path + ": names no group");
  return groups;
}

/// NAME.RANK.et, or the order of the command line where names are others.
std::vector<std::string> by_rank(const std::vector<std::string>& files) {
  std::vector<std::string> ordered(files.size());
  for (const std::string& file : files) {
    const std::string stem = std::filesystem::path(file).stem().extension().string();
    const auto rank = trace_whole(stem.empty() ? stem : stem.substr(1));
    if (!rank || *rank < 0 || *rank >= static_cast<std::int64_t>(files.size())) return files;
    if (!ordered[at(*rank)].empty()) return files;
    ordered[at(*rank)] = file;
  }
  return ordered;
}

class ChakraImporter final : public TraceImporter {
 public:
  [[nodiscard]] std::vector<TraceOption> options() const override {
    return {{"deps", "data or both: whether ctrl_deps are waited for too; data unless said, as ASTRA-sim does"},
            {"flops-per-second", "what one rank computes; needed for nodes with num_ops and no duration"},
            {"groups", "JSON file with the ranks of each pg_name; all ranks unless said"}};
  }

  void run(const std::vector<std::string>& given, const TraceOptions& options, TraceSink& sink) const override {
    const std::vector<std::string> files = by_rank(given);
    Settings settings;
    settings.ranks = static_cast<int>(files.size());
    settings.control = options.picks("deps", "data", "both");
    settings.flops = options.number("flops-per-second", 0);
    if (options.has("flops-per-second") && settings.flops <= 0)
      throw InputError("option flops-per-second: must be above 0");
    TraceHeader header;
    header.name = trace_file_name(given[0]);
    header.ranks = settings.ranks;
    header.source = "Chakra execution trace " + header.name;
    if (options.has("groups")) {
      settings.groups = read_groups(options.text("groups", ""), settings.ranks);
      header.groups = settings.groups;
    } else {
      for (int rank = 0; rank < settings.ranks; ++rank) header.groups["all"].push_back(rank);
      header.notes.emplace_back("assumed: every collective is of all ranks");
    }
    header.notes.emplace_back(settings.control ? "nodes wait for data_deps and ctrl_deps" : "nodes wait for data_deps");
    header.notes.emplace_back("assumed: comm_size is the whole of a collective, as nccl-tests says it");
    header.notes.emplace_back("assumed: nodes that do not wait for each other run at once; memory nodes are compute");
    header.notes.emplace_back(
        "assumed: collectives of one process group run one after the other, in the order of the file; nodes with an "
        "attribute stream queue on that stream");
    sink.header(header);
    for (int rank = 0; rank < settings.ranks; ++rank) write_rank(files[at(rank)], rank, settings, sink);
  }
};

const bool chakra_registered = trace_importers().add(
    {"chakra", "Chakra's execution traces (protobuf or its JSON), one NAME.RANK.et a rank",
     "S. Sridharan et al., Chakra: Advancing Performance Benchmarking and Co-design using Standardized Execution "
     "Traces, 2023; schema/protobuf/et_def.proto of mlc-chakra 1.0.0"},
    [] { return std::make_unique<ChakraImporter>(); });

}  // namespace

}  // namespace linkcast
