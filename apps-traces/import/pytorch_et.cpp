// PyTorch's execution trace (ExecutionTraceObserver): the operators of each rank with their tensors, and no times.
// These come from Kineto's timeline of the same run, as chakra_trace_link joins the two.
#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <filesystem>
#include <map>
#include <numeric>
#include <optional>
#include <set>
#include <string>
#include <type_traits>
#include <utility>
#include <variant>
#include <vector>

#include "apps-traces/import/c10d_names.hpp"
#include "apps-traces/import/kineto_events.hpp"
#include "apps-traces/import/lines.hpp"
#include "sim/base/index.hpp"
#include "sim/base/object_reader.hpp"
#include "sim/base/packed_file.hpp"
#include "sim/machine/trace_source.hpp"
#include "sim/records/trace.hpp"

namespace linkcast {
namespace {

// Files that PyTorch writes of one rank: its execution trace, and Kineto's timeline as far as it tells how long the
// operators of the former take.

/// Collective or message as record_param_comms describes it.
struct TorchComm {
  std::string name;  ///< e.g. "allreduce"
  std::string dtype;
  double in_elements = 0, out_elements = 0;
  std::string process_group;
  int size = 1, start = 0, stride = 1;  ///< of the group, where it lists no ranks; size 0: not said
  int rank = 0;                         ///< of this process, the root or the peer
};

/// An operator.
struct TorchNode {
  std::int64_t id = 0;     ///< in the order of calls
  std::int64_t rf_id = 0;  ///< by which Kineto knows it
  std::string name;
  std::vector<std::int64_t> storages;  ///< of the GPU, that its tensors are views of
  std::optional<TorchComm> comm{};
  std::int64_t parent = 0;
  bool leaf = true;  ///< calls no other, and is no part of a collective
};

struct TorchTrace {
  std::string file;
  std::int64_t pid = 0;
  std::vector<TorchNode> nodes;                    ///< in the order of calls
  std::map<std::string, std::vector<int>> groups;  ///< process groups that list their ranks
  bool assumed_groups = false;                     ///< of a schema that does not say who is in a collective's group
};

/// GPU work of an operator.
struct GpuWork {
  double began = 0;  ///< us
  double time_s = 0;
  std::string stream;
  std::string copy{};  ///< h2d or d2h
  double size_B = 0;   ///< copy
};

struct TorchTimes {
  std::string file;
  std::int64_t pid = 0;
  int rank = 0;
  std::string device{};                               ///< GPU
  std::map<std::int64_t, std::vector<GpuWork>> work;  ///< by rf_id, in order
};

/// One of both. @throws InputError  neither, or what is wrong with it
struct TorchFile {
  std::optional<TorchTrace> trace{};
  std::optional<TorchTimes> times{};
};

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
    const bool old = !r.has("ctrl_deps") && r.has("parent");  // schema 1.0.1 to 1.0.2
    node.parent = r.required<std::int64_t>(old ? "parent" : "ctrl_deps");
    parents_.insert(node.parent);
    const Json& values = values_of(r, "inputs");
    storages(values, node.storages, 0);
    storages(values_of(r, "outputs"), node.storages, 0);
    std::sort(node.storages.begin(), node.storages.end());
    node.storages.erase(std::unique(node.storages.begin(), node.storages.end()), node.storages.end());
    if (old)
      old_attributes(r, node, values);
    else
      attributes(r, node, values);
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
    if (value.size() == kTensor && value[kElements].is_number() && value[kBytes].is_number()) {
      elements += value[kElements].get<double>();
      element_B = value[kBytes].get<double>();
      return;
    }
    for (const Json& part : value) count_elements(part, elements, element_B, depth + 1);
  }

  /// Schema 1.0.1: a collective is a record_param_comms whose inputs hold tensors and the name of the operation.
  void old_attributes(ObjectReader& r, TorchNode& node, const Json& values) {
    node.rf_id = r.optional<std::int64_t>("rf_id").value_or(0);
    if (node.name != kDescription || !values.is_array()) return;
    TorchComm comm;
    for (const Json& value : values)
      if (value.is_string() && comm.name.empty()) comm.name = value.get<std::string>();
    if (comm.name.empty()) r.fail("inputs", "name no collective");
    double bytes = 0;
    count_elements(values, comm.in_elements, bytes, 0);
    count_elements(values_of(r, "outputs"), comm.out_elements, bytes, 0);
    if (comm.in_elements < 0 || comm.out_elements < 0) r.fail("inputs", "a tensor has less than 0 elements");
    comm.dtype = bytes == 8 ? "Double" : bytes == 4 ? "Float" : bytes == 2 ? "Half" : "Byte";  // of the same size
    if (bytes != 8 && bytes != 4 && bytes != 2 && bytes != 1 && comm.in_elements + comm.out_elements > 0)
      r.fail("inputs", "a tensor has elements of neither 1, 2, 4 nor 8 bytes");
    comm.size = 0;
    trace_.assumed_groups = true;
    node.comm = std::move(comm);
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
      const auto ranks = g.optional<std::vector<int>>("ranks").value_or(std::vector<int>{});
      if (!ranks.empty()) trace_.groups[g.required<std::string>("pg_name")] = ranks;
    }
  }

  TorchTrace trace_;
  std::set<std::int64_t> parents_;
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
  explicit Elements(const std::string& path) : path_(path), nodes_(path), events_(path) {}

  bool operator()(int depth, Json::parse_event_t event, Json& parsed) {
    using Event = Json::parse_event_t;
    refuse_deep_json(depth, event, path_);
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
  const std::string& path_;
  std::string list_;
  std::size_t index_ = 0;
  Nodes nodes_;
  Events events_;
};

TorchFile read_torch_file(const std::string& path) {
  if (std::filesystem::is_directory(path)) throw InputError(path + ": is a folder");
  const std::unique_ptr<std::istream> stream = open_packed(path);
  if (!*stream) throw InputError(path + ": cannot be read");
  Elements elements(path);
  Json rest;
  try {
    rest = Json::parse(
        *stream, [&](int depth, Json::parse_event_t event, Json& parsed) { return elements(depth, event, parsed); });
  } catch (const Json::exception& error) {
    throw InputError(path + ": not JSON: " + error.what());
  }
  TorchFile file;
  if (rest.is_object() && rest.contains(kTraceEvents))
    file.times = elements.events().take(rest);
  else if (rest.is_object() && rest.contains(kNodes))
    file.trace = elements.nodes().take(rest);
  else
    throw InputError(path + ": neither an execution trace of PyTorch (nodes) nor a timeline of Kineto (traceEvents)");
  return file;
}

double element_B(const TorchComm& comm, const std::string& place) {
  const auto bytes = c10d_element_B(comm.dtype);
  if (!bytes) throw InputError(place + ": dtype " + shown(comm.dtype) + " is not known");
  return *bytes;
}

/// One rank: its operators, and what its GPU did for them.
struct RankFile {
  TorchTrace trace;
  std::optional<TorchTimes> times{};
};

/// @param world  ranks of the trace, where the file does not say who is in the group
std::vector<int> members(const TorchComm& comm, const RankFile& rank, int world) {
  const auto listed = rank.trace.groups.find(comm.process_group);
  if (listed != rank.trace.groups.end()) return listed->second;
  std::vector<int> ranks;
  if (comm.size == 0) {
    for (int i = 0; i < world; ++i) ranks.push_back(i);
    return ranks;
  }
  for (int i = 0; i < comm.size; ++i) ranks.push_back(comm.start + i * comm.stride);
  return ranks;
}

std::string group_name(const TorchComm& comm, const std::vector<int>& ranks) {
  return fmt::format("{} of {} from {}", comm.process_group, ranks.size(), ranks.front());
}

/// The operators of one rank as events, in the order of calls.
class Calls {
 public:
  Calls(int number, const RankFile& rank, const TraceHeader& header, double compute_s, std::string step,
        TraceSink& sink)
      : number_(number), rank_(rank), header_(header), compute_s_(compute_s), step_(std::move(step)), sink_(sink) {}

  [[nodiscard]] bool more() const { return at_ < rank_.trace.nodes.size(); }
  void next() {
    const TorchNode& node = rank_.trace.nodes[at_++];
    if (node.name.starts_with(step_) && std::exchange(any_step_, true)) put_step();
    if (node.comm) {
      put_comm(node);
    } else if (rank_.times) {
      const auto works = rank_.times->work.find(node.rf_id);
      if (works == rank_.times->work.end()) return;
      for (const GpuWork& work : works->second) put_work(node, work);
    } else if (compute_s_ > 0 && node.leaf && !node.storages.empty()) {
      put_work(node, {0, compute_s_, "0"});
    }
  }
  /// After the last operator.
  void end() {
    if (any_step_) put_step();
  }

 private:
  void put_comm(const TorchNode& node) {
    const TorchComm& comm = *node.comm;
    const std::string place = fmt::format("{}: node {}", rank_.trace.file, node.id);
    const auto op = c10d_operation(comm.name);  // a barrier is an all_reduce of nothing
    if (!op) {
      static const std::set<std::string> kNothing{
          "init", "end", "wait", "startCoalescing", "endCoalescing", "start_coalescing", "end_coalescing"};
      if (kNothing.count(comm.name) > 0) return;
      throw InputError(place + ": collective " + shown(comm.name) + " is not known to this importer");
    }
    TraceEvent event = base(node, stream_of(node, comm));
    event.size_B = comm.name == "barrier" ? 4 : std::max(comm.in_elements, comm.out_elements) * element_B(comm, place);
    const std::vector<int> ranks = members(comm, rank_, header_.ranks);
    event.kind = kind_of_call(*op);
    if (event.kind == TraceKind::kCollective) {
      event.op = *op;
      event.group = group_name(comm, ranks);
    } else {
      if (comm.rank < 0 || comm.rank >= static_cast<int>(ranks.size()) || ranks[at(comm.rank)] >= header_.ranks)
        throw InputError(fmt::format("{}: peer {} is not in the group", place, comm.rank));
      event.peer = ranks[at(comm.rank)];
      event.tag = comm.process_group;
    }
    put(event, node);
  }

  /// Kineto's, where the kernel is there.
  std::string stream_of(const TorchNode& node, const TorchComm& comm) const {
    if (rank_.times) {
      const auto works = rank_.times->work.find(node.rf_id);
      if (works != rank_.times->work.end()) return works->second.front().stream;
    }
    return "group " + comm.process_group;
  }

  void put_work(const TorchNode& node, const GpuWork& work) {
    TraceEvent event = base(node, work.stream);
    event.time_s = work.time_s;
    if (!work.copy.empty()) {
      event.kind = TraceKind::kCopy;
      event.op = work.copy;
      event.size_B = work.size_B;
    }
    put(event, node);
  }

  void put_step() {
    TraceEvent wait;
    wait.rank = number_;
    wait.kind = TraceKind::kSync;
    wait.stream.clear();
    sink_.event(wait);
    wait.kind = TraceKind::kStep;
    sink_.event(wait);
  }

  TraceEvent base(const TorchNode& node, const std::string& stream) {
    TraceEvent event;
    event.rank = number_;
    event.id = ++id_;
    event.stream = stream;
    event.name = node.name;
    return event;
  }

  /// Waits for what other streams did with the same storages.
  void put(TraceEvent& event, const TorchNode& node) {
    for (const std::int64_t storage : node.storages) {
      const auto last = last_use_.find(storage);
      if (last != last_use_.end() && last->second.second != event.stream) event.after.push_back(last->second.first);
      last_use_[storage] = {*event.id, event.stream};
    }
    std::sort(event.after.begin(), event.after.end());
    event.after.erase(std::unique(event.after.begin(), event.after.end()), event.after.end());
    sink_.event(event);
  }

  int number_;
  const RankFile& rank_;
  const TraceHeader& header_;
  double compute_s_;
  std::string step_;
  TraceSink& sink_;
  std::size_t at_ = 0;
  std::int64_t id_ = 0;
  bool any_step_ = false;
  std::map<std::int64_t, std::pair<std::int64_t, std::string>> last_use_{};  ///< by storage: event, stream
};

/// Execution traces in the order of the command line, each with Kineto's timeline of the same process.
std::vector<RankFile> read_ranks(const std::vector<std::string>& files) {
  std::vector<RankFile> ranks;
  std::vector<TorchTimes> times;
  for (const std::string& path : files) {
    TorchFile file = read_torch_file(path);
    if (file.trace) ranks.push_back({std::move(*file.trace)});
    if (file.times) times.push_back(std::move(*file.times));
  }
  if (ranks.empty()) throw InputError(files[0] + ": is Kineto's timeline: an execution trace of PyTorch is missing");
  if (times.empty()) return ranks;
  if (times.size() != ranks.size())
    throw InputError(fmt::format(
        "file: {} execution traces and {} timelines of Kineto: one of each per rank is expected, or no timeline",
        ranks.size(), times.size()));
  std::set<std::int64_t> pids;
  for (const RankFile& rank : ranks) pids.insert(rank.trace.pid);
  const bool by_pid = pids.size() == ranks.size();
  for (std::size_t i = 0; i < times.size(); ++i) {
    const auto same = [&](const RankFile& rank) { return rank.trace.pid == times[i].pid; };
    const auto found = by_pid ? std::find_if(ranks.begin(), ranks.end(), same) : ranks.begin() + static_cast<long>(i);
    if (found == ranks.end() || found->times)
      throw InputError(fmt::format("{}: no execution trace is of its process {}", times[i].file, times[i].pid));
    found->times = std::move(times[i]);
  }
  std::stable_sort(ranks.begin(), ranks.end(),
                   [](const RankFile& a, const RankFile& b) { return a.times->rank < b.times->rank; });
  return ranks;
}

void add_groups(const std::vector<RankFile>& ranks, TraceHeader& header) {
  for (const RankFile& rank : ranks)
    for (const TorchNode& node : rank.trace.nodes) {
      if (!node.comm) continue;
      std::vector<int> group = members(*node.comm, rank, header.ranks);
      const std::string name = group_name(*node.comm, group);
      if (header.groups.count(name) > 0) continue;
      if (header.ranks == 1) group = {0};
      for (const int member : group)
        if (member < 0 || member >= header.ranks)
          throw InputError(fmt::format(
              "{}: node {}: rank {} of process group {}, but files of {} ranks: give those of all, or of one alone",
              rank.trace.file, node.id, member, shown(node.comm->process_group), header.ranks));
      if (std::set<int>(group.begin(), group.end()).size() != group.size())
        throw InputError(fmt::format("{}: node {}: a process group has a rank twice", rank.trace.file, node.id));
      header.groups[name] = group;
    }
}

class PytorchEt final : public TraceImporter {
 public:
  [[nodiscard]] std::vector<TraceOption> options() const override {
    return {
        {"compute", "without Kineto's timelines: time of each operator on the GPU, e.g. 0us for communication alone"},
        {"step", "operators that begin a step begin with this, ProfilerStep# unless said"}};
  }

  void run(const std::vector<std::string>& files, const TraceOptions& options, TraceSink& sink) const override {
    const std::vector<RankFile> ranks = read_ranks(files);
    const bool timed = ranks.front().times.has_value();
    if (!timed && !options.has("compute"))
      throw InputError(files[0] +
                       ": an execution trace has no times: add Kineto's timeline of each rank to the files, "
                       "or option compute=0us for communication alone");
    if (timed && options.has("compute")) throw InputError("option compute: the timelines of Kineto say it");
    const double compute_s = options.seconds("compute", 0);
    TraceHeader header;
    header.name = trace_file_name(files[0]);
    header.ranks = static_cast<int>(ranks.size());
    header.source = "PyTorch execution trace " + header.name;
    if (timed) header.device = ranks.front().times->device;
    header.notes = {timed ? "compute times of Kineto's timeline of the same run"
                          : "each operator on the GPU computes " + to_text(Seconds{compute_s}),
                    "assumed: the CPU is never late and never waits but for steps; the format has no times of it",
                    "assumed: what uses the storage of a tensor waits for its last use on another stream",
                    "assumed: a barrier is an all_reduce of 4 bytes"};
    if (ranks.size() == 1) header.notes.emplace_back("one rank alone: replay on more by ranks");
    for (const RankFile& rank : ranks)
      if (rank.trace.assumed_groups) {
        header.notes.emplace_back(
            "assumed: collectives are of all ranks: traces of schema 1.0.1 do not say who is in a process group");
        break;
      }
    add_groups(ranks, header);
    sink.header(header);
    std::vector<Calls> calls;
    for (std::size_t i = 0; i < ranks.size(); ++i)
      calls.emplace_back(static_cast<int>(i), ranks[i], header, compute_s, options.text("step", "ProfilerStep#"), sink);
    for (bool more = true; more;) {
      more = false;
      for (Calls& rank : calls)
        if (rank.more()) {
          rank.next();
          more = true;
        }
    }
    for (Calls& rank : calls) rank.end();
  }
};

const bool pytorch_et_registered = trace_importers().add(
    {"pytorch-et", "PyTorch's execution traces (Chakra schema, JSON), one a rank, and Kineto's timelines for the times",
     "S. Sridharan et al., Chakra: Advancing Performance Benchmarking and Co-design using Standardized Execution "
     "Traces, 2023; PyTorch torch/csrc/profiler/standalone/execution_trace_observer.cpp, schemas 1.0.1 to "
     "1.1.1-chakra.0.0.4"},
    [] { return std::make_unique<PytorchEt>(); });

}  // namespace

}  // namespace linkcast
