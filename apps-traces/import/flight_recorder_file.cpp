#include "apps-traces/import/flight_recorder_file.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "apps-traces/import/c10d_names.hpp"
#include "apps-traces/import/lines.hpp"
#include "apps-traces/import/pickle.hpp"
#include "sim/base/object_reader.hpp"
#include "sim/base/packed_file.hpp"
#include "sim/base/regex.hpp"
#include "sim/records/trace.hpp"

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
    return Json::parse(bytes, [&](int depth, Json::parse_event_t event, Json&) {
      refuse_deep_json(depth, event, path);
      return true;
    });
  } catch (const Json::exception& error) {
    throw InputError(path + ": neither a pickle nor JSON: " + error.what());
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
