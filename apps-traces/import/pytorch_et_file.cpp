#include "apps-traces/import/pytorch_et_file.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <functional>
#include <memory>
#include <optional>
#include <set>
#include <type_traits>
#include <utility>
#include <variant>

#include "apps-traces/import/kineto_events.hpp"
#include "apps-traces/import/lines.hpp"
#include "sim/base/index.hpp"
#include "sim/base/json_error.hpp"
#include "sim/base/json_watch.hpp"
#include "sim/base/null_for_nan.hpp"
#include "sim/base/object_reader.hpp"
#include "sim/base/packed_file.hpp"
#include "sim/records/trace.hpp"

namespace linkcast::pytorch {
namespace {

const std::string kNodes = "nodes", kTraceEvents = "traceEvents";  // of an execution trace, of a timeline
const std::string kDescription = "record_param_comms";             // the operator that describes a collective
const std::string kRecordFunction = "rf_id";

/// Operators of an execution trace, one at a time.
class Nodes {
 public:
  explicit Nodes(std::string file) { trace_.file = std::move(file); }

  void add(const Json& json, std::size_t index) {
    ObjectReader r(json, trace_.file, fmt::format("/nodes/{}", index));
    TorchNode node;
    node.id = r.required<std::int64_t>("id");
    node.name = r.required<std::string>("name");
    const bool old = !r.has("ctrl_deps") && r.has("parent");  // schema 1.0.1
    node.parent = r.required<std::int64_t>(old ? "parent" : "ctrl_deps");
    parents_.insert(node.parent);
    const Json& values = values_of(r, "inputs");
    storages(values, node.storages, 0);
    storages(values_of(r, "outputs"), node.storages, 0);
    std::sort(node.storages.begin(), node.storages.end());
    node.storages.erase(std::unique(node.storages.begin(), node.storages.end()), node.storages.end());
    if (old)
      node.rf_id = r.optional<std::int64_t>("rf_id").value_or(0);
    else
      attributes(r, node, values);
    if (!node.comm && node.name == kDescription && values.is_array() && !values.empty())
      comm_of_inputs(r, node, values);
    if (node.name.find("process_group:init") != std::string::npos) groups(values, r);
    trace_.nodes.push_back(std::move(node));
  }

  TorchTrace take(const Json& rest) {
    ObjectReader r(rest, trace_.file);
    const auto schema = r.required<std::string>("schema");
    if (schema.rfind("1.", 0) != 0) r.fail("schema", "'" + schema + "' is not known: 1.x");
    trace_.pid = r.optional<std::int64_t>("pid").value_or(0);
    std::sort(trace_.nodes.begin(), trace_.nodes.end(), [](const auto& a, const auto& b) { return a.id < b.id; });
    std::set<std::int64_t> collectives;
    for (TorchNode& node : trace_.nodes) {
      if (node.comm) collectives.insert(node.id);
      if (node.comm && node.comm->process_group.empty())
        if (const auto group = by_backend_.find(node.comm->backend); group != by_backend_.end())
          node.comm->process_group = group->second;
      node.leaf = parents_.count(node.id) == 0 && collectives.count(node.parent) == 0;
    }
    return std::move(trace_);
  }

 private:
  /// A tensor is [its id, its storage, offset, elements, bytes of one, device]; lists of them nest.
  static void storages(const Json& value, std::vector<std::int64_t>& found, int depth) {
    constexpr int kDeepest = 8;
    constexpr std::size_t kTensor = 6;
    if (!value.is_array() || depth > kDeepest) return;
    const bool tensor = value.size() == kTensor && value[1].is_number_integer() && value[kTensor - 1].is_string();
    if (!tensor) {
      for (const Json& part : value) storages(part, found, depth + 1);
      return;
    }
    if (value[kTensor - 1].get<std::string>().rfind("cuda", 0) == 0) found.push_back(value[1].get<std::int64_t>());
  }

  /// A list in schema 1.0.1, later {"values": list, "shapes": ..., "types": ...}.
  static const Json& values_of(ObjectReader& r, const char* key) {
    const Json& put = r.raw(key);
    if (put.is_array()) return put;
    if (!put.is_object() || !put.contains("values")) r.fail(key, "must be a list, or an object with values");
    return put["values"];
  }

  /// Elements of the tensors in a list, and bytes of one.
  static void count_elements(const Json& value, double& elements, double& element_B, int depth) {
    constexpr int kDeepest = 8, kElements = 3, kBytes = 4;
    constexpr std::size_t kTensor = 6;
    if (!value.is_array() || depth > kDeepest) return;
    if (value.size() == kTensor && value[kElements].is_number() && value[kBytes].is_number() &&
        value[kTensor - 1].is_string()) {
      elements += value[kElements].get<double>();
      element_B = value[kBytes].get<double>();
      return;
    }
    for (const Json& part : value) count_elements(part, elements, element_B, depth + 1);
  }

  /// Schemas 1.0.1 to 1.0.3: a collective is a record_param_comms whose inputs are its tensors, the number of the call,
  /// the process group, the rank, the name of the operation and two lists; then the size of the group, or its first
  /// rank, the stride and its size, or nothing. source: PyTorch 1.13 to 2.4, ParamCommsUtils.hpp
  static void comm_of_inputs(ObjectReader& r, TorchNode& node, const Json& values) {
    const auto name = std::find_if(values.rbegin(), values.rend(), [](const Json& value) { return value.is_string(); });
    if (name == values.rend()) r.fail("inputs", "name no collective");
    const std::size_t place = at(values.rend() - name) - 1;
    TorchComm comm;
    comm.name = values[place].get<std::string>();
    double bytes = 0;
    for (std::size_t i = 0; i < place; ++i) count_elements(values[i], comm.in_elements, bytes, 0);
    count_elements(values_of(r, "outputs"), comm.out_elements, bytes, 0);
    if (comm.in_elements < 0 || comm.out_elements < 0) r.fail("inputs", "a tensor has less than 0 elements");
    comm.dtype = bytes == 8 ? "Double" : bytes == 4 ? "Float" : bytes == 2 ? "Half" : "Byte";  // of the same size
    if (bytes != 8 && bytes != 4 && bytes != 2 && bytes != 1 && comm.in_elements + comm.out_elements > 0)
      r.fail("inputs", "a tensor has elements of neither 1, 2, 4 nor 8 bytes");
    if (place >= 1 && values[place - 1].is_number_integer()) comm.rank = values[place - 1].get<int>();
    if (place >= 2) read_group(values[place - 2], comm);
    read_size(r, values, place, comm);
    node.comm = std::move(comm);
  }

  /// A number, a name, or a name and a description.
  static void read_group(const Json& value, TorchComm& comm) {
    if (value.is_number_integer()) comm.backend = value.get<std::int64_t>();
    const Json& name = value.is_array() && !value.empty() ? value[0] : value;
    if (name.is_string()) comm.process_group = name.get<std::string>();
  }

  /// @param name  place of the operation's name in the inputs
  static void read_size(ObjectReader& r, const Json& values, std::size_t name, TorchComm& comm) {
    std::vector<std::int64_t> behind;
    for (std::size_t i = name + 1; i < values.size(); ++i)
      if (values[i].is_number_integer()) behind.push_back(values[i].get<std::int64_t>());
    comm.size = 0;
    comm.start = -1;
    if (behind.empty()) return;
    if (behind.back() < 1 || behind.back() > kMostRanks)
      r.fail("inputs", "the size of the group is not that of a group");
    comm.size = static_cast<int>(behind.back());
    constexpr std::size_t kStartStrideSize = 3;
    if (behind.size() != kStartStrideSize || behind[0] < 0 || behind[1] < 0 || behind[0] > kMostRanks ||
        behind[1] > kMostRanks)
      return;
    comm.start = static_cast<int>(behind[0]);
    comm.stride = static_cast<int>(behind[1]);
  }

  static void attributes(ObjectReader& r, TorchNode& node, const Json& values) {
    using Member = std::variant<std::string TorchComm::*, double TorchComm::*, int TorchComm::*>;
    static const std::map<std::string, Member> members{
        {"collective_name", &TorchComm::name},      {"dtype", &TorchComm::dtype},
        {"in_msg_nelems", &TorchComm::in_elements}, {"out_msg_nelems", &TorchComm::out_elements},
        {"pg_name", &TorchComm::process_group},     {"pg_size", &TorchComm::size},
        {"global_rank_start", &TorchComm::start},   {"global_rank_stride", &TorchComm::stride}};
    TorchComm comm;
    for (ObjectReader& attribute : r.objects("attrs")) {
      const auto name = attribute.required<std::string>("name");
      if (name == kRecordFunction) node.rf_id = attribute.required<std::int64_t>("value");
      const auto member = members.find(name);
      if (member == members.end()) continue;
      std::visit(
          [&](auto of_comm) {
            using Value = std::remove_reference_t<decltype(comm.*of_comm)>;
            comm.*of_comm = attribute.required<Value>("value");
          },
          member->second);
    }
    if (comm.name.empty()) return;
    if (comm.in_elements < 0 || comm.out_elements < 0) r.fail("attrs", "a message has less than 0 elements");
    if (comm.size < 1 || comm.size > kMostRanks || comm.start < 0 || comm.start > kMostRanks || comm.stride < 0 ||
        comm.stride > kMostRanks)
      r.fail("attrs", "size, start and stride of the group are not those of a group");
    constexpr std::size_t kRank = 3;  // of the inputs of record_param_comms
    if (values.is_array() && values.size() > kRank && values[kRank].is_number_integer())
      comm.rank = values[kRank].get<int>();
    node.comm = std::move(comm);
  }

  void groups(const Json& values, const ObjectReader& r) {
    if (!values.is_array() || values.empty() || !values[0].is_string()) return;
    const Json list = parse_foreign_json(values[0].get<std::string>(), r.file());
    if (!list.is_array()) r.fail("inputs", "the list of process groups is not JSON");
    for (const Json& group : list) {
      ObjectReader g(group, r.file(), r.pointer("inputs"));
      const std::vector<int> ranks = ranks_of(g);
      const char* name = g.has("pg_name") || !g.has("pg_id") ? "pg_name" : "pg_id";
      if (ranks.empty()) continue;
      const std::string called = g.raw(name).is_number_integer() ? g.raw(name).dump() : g.required<std::string>(name);
      trace_.groups[called] = ranks;
      if (g.has("backend_id") && g.raw("backend_id").is_number_integer())
        by_backend_[g.raw("backend_id").get<std::int64_t>()] = called;
    }
  }

  /// Ranks of a process group: a list, or ranks of the job with those in the group; of all ranks none is listed.
  static std::vector<int> ranks_of(ObjectReader& group) {
    std::vector<int> ranks;
    if (group.has("ranks") && group.raw("ranks").is_object()) {
      std::map<int, int> by_own;
      for (const auto& [rank, own] : group.raw("ranks").items()) {
        const auto number = trace_whole(rank);
        if (!number || *number < 0 || *number > kMostRanks || !own.is_number_integer())
          group.fail("ranks", "must name ranks and their numbers in the group");
        by_own[own.get<int>()] = static_cast<int>(*number);
      }
      for (const auto& [own, rank] : by_own) ranks.push_back(rank);
    } else {
      ranks = group.optional<std::vector<int>>("ranks").value_or(std::vector<int>{});
    }
    const int size = group.optional<int>("group_size").value_or(0);
    if (size < 0 || size > kMostRanks) group.fail("group_size", "is not the size of a group");
    return ranks.empty() ? first_numbers(size) : ranks;
  }

  TorchTrace trace_;
  std::set<std::int64_t> parents_;
  std::map<std::int64_t, std::string> by_backend_;  ///< process groups
};

/// Events of Kineto's timeline, one at a time.
class Events {
 public:
  explicit Events(std::string file) { times_.file = std::move(file); }

  void add(const Json& json, std::size_t index) {
    ObjectReader r(json, times_.file, fmt::format("/traceEvents/{}", index));
    const kineto::Category kind = kineto::category_of(r.optional<std::string>("cat").value_or(""));
    const bool gpu = kineto::on_gpu(kind);
    if (!gpu && kind != kineto::Category::kOperator && kind != kineto::Category::kAnnotation) return;
    ObjectReader args = r.object("args");
    const auto external = args.optional<std::int64_t>("External id");
    if (!external) return;
    if (!gpu) {
      const auto rf_id = args.optional<std::int64_t>("Record function id");
      if (rf_id) rf_of_[*external] = *rf_id;
      if (times_.pid == 0) times_.pid = r.optional<std::int64_t>("pid").value_or(0);
      return;
    }
    GpuWork work;
    work.began = r.required<double>("ts");
    work.time_s = r.required<double>("dur") / 1e6;
    if (work.time_s < 0) r.fail("dur", "must not be negative");
    work.stream = fmt::format("stream {}", args.required<std::int64_t>("stream"));
    const auto name = r.required<std::string>("name");
    const bool copy = kind == kineto::Category::kGpuCopy;
    if (copy && name.find("HtoD") != std::string::npos) work.copy = "h2d";
    if (copy && name.find("DtoH") != std::string::npos) work.copy = "d2h";
    if (!work.copy.empty()) work.size_B = args.required<double>("bytes");
    if (work.size_B < 0) args.fail("bytes", "must not be negative");
    by_external_[*external].push_back(std::move(work));
  }

  TorchTimes take(const Json& rest) {
    ObjectReader r(rest, times_.file);
    if (auto info = r.optional_object("distributedInfo")) times_.rank = info->required<int>("rank");
    if (r.has("deviceProperties") && r.raw("deviceProperties").is_array())
      for (ObjectReader& device : r.objects("deviceProperties"))
        if (times_.device.empty()) times_.device = device.optional<std::string>("name").value_or("");
    for (auto& [external, works] : by_external_) {
      const auto rf = rf_of_.find(external);
      if (rf == rf_of_.end()) continue;
      std::vector<GpuWork>& all = times_.work[rf->second];
      all.insert(all.end(), works.begin(), works.end());
    }
    for (auto& [rf, works] : times_.work)
      std::stable_sort(works.begin(), works.end(), [](const auto& a, const auto& b) { return a.began < b.began; });
    return std::move(times_);
  }

 private:
  TorchTimes times_;
  std::map<std::int64_t, std::int64_t> rf_of_;                ///< by External id
  std::map<std::int64_t, std::vector<GpuWork>> by_external_;  ///< the same
};

/// Takes each element of the two long lists as soon as it is read, and forgets it.
class Elements {
 public:
  explicit Elements(const std::string& path) : nodes_(path), events_(path) {}

  bool operator()(int depth, Json::parse_event_t event, Json& parsed) {
    using Event = Json::parse_event_t;
    if (depth == 1 && event == Event::key) list_ = parsed.get<std::string>();
    if (depth == 1 && event == Event::array_start) index_ = 0;
    if (depth != 2 || event != Event::object_end || (list_ != kNodes && list_ != kTraceEvents)) return true;
    if (list_ == kNodes) {
      nodes_.add(parsed, index_++);
    } else {
      events_.add(parsed, index_++);
    }
    return false;
  }
  Nodes& nodes() { return nodes_; }
  Events& events() { return events_; }

 private:
  std::string list_;
  std::size_t index_ = 0;
  Nodes nodes_;
  Events events_;
};

}  // namespace

TorchFile read_torch_file(const std::string& path) {
  if (std::filesystem::is_directory(path)) throw InputError(path + ": is a folder");
  const std::unique_ptr<std::istream> stream = open_packed(path);
  if (!*stream) throw InputError(path + ": cannot be read");
  std::optional<Elements> elements(path);
  Json rest;
  try {
    rest = parse_watched(*stream, path, std::ref(*elements));
  } catch (const Json::exception&) {
    elements.emplace(path);  // values of tensors may be NaN
    try {
      rest = parse_watched(with_null_for_nan(file_bytes(path)), path, std::ref(*elements));
    } catch (const Json::exception& error) {
      throw InputError(path + ": not JSON: " + json_error_text(error.what()));
    }
  }
  TorchFile file;
  if (rest.is_object() && rest.contains(kTraceEvents))
    file.times = elements->events().take(rest);
  else if (rest.is_object() && rest.contains(kNodes))
    file.trace = elements->nodes().take(rest);
  else
    throw InputError(path + ": neither an execution trace of PyTorch (nodes) nor a timeline of Kineto (traceEvents)");
  return file;
}

}  // namespace linkcast::pytorch
