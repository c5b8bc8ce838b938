#include "sim/replay/replay_request.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>

#include "sim/query/shared_keys.hpp"
#include "sim/replay/fed_event.hpp"

namespace linkcast::replay {
namespace {

/// 0: not said.
int positive(ObjectReader& r, const char* key, int most = 0) {
  const auto value = r.optional<int>(key);
  if (most > 0 && value && (*value < 1 || *value > most)) r.fail(key, fmt::format("must be 1 to {}", most));
  if (value && *value < 1) r.fail(key, "must be 1 or more");
  return value.value_or(0);
}

ReplayPart read_part(ObjectReader& r) {
  ReplayPart part;
  part.trace = r.required<std::string>("trace");
  part.gpus = r.optional<std::vector<int>>("placement").value_or(std::vector<int>{});
  part.ranks = positive(r, "ranks", kMostRanks);
  part.options = read_part_options(r);
  return part;
}

/// Key also: [{trace, placement?, ranks?, options?}], other jobs at the same time.
void read_also(ObjectReader& r, std::vector<ReplayPart>& parts) {
  if (!r.has("also")) return;
  const Json& others = r.raw("also");
  if (!others.is_array()) r.fail("also", "must be an array of objects with trace, and perhaps placement");
  for (std::size_t i = 0; i < others.size(); ++i) {
    ObjectReader other(others[i], r.file(), fmt::format("{}/{}", r.pointer("also"), i));
    parts.push_back(read_part(other));
    other.finish();
  }
}

/// Key algorithm_file: collectives that it is for run by it.
void read_own(ReplayRequest& request, ObjectReader& r) {
  if (!r.has("algorithm_file")) return;
  const int members = request.gpus_per_node > 0 ? request.gpus_per_node : request.machine->platform().gpu_count();
  const int gpus = std::max(request.nodes, 1) * members;
  request.own = read_algorithm(r.required<std::string>("algorithm_file"), [&](const OnlyCall& call) {
    return call.ranks <= gpus ? "" : fmt::format("is for {}, and the replay has {}", call.text(), gpus);
  });
}

}  // namespace

std::string piped_trace(const ReplayRequest& request) {
  for (const ReplayPart& part : request.parts) {
    std::error_code none;
    if (std::filesystem::exists(part.trace, none) && !std::filesystem::is_regular_file(part.trace, none))
      return part.trace;
  }
  return "";
}

std::map<std::string, std::string> read_part_options(ObjectReader& r) {
  std::map<std::string, std::string> options;
  if (!r.has("options")) return options;
  const Json& values = r.raw("options");
  if (!values.is_object()) r.fail("options", "must be an object of values by key");
  for (const auto& item : values.items()) {
    const Json& value = item.value();
    if (!value.is_string() && !value.is_number()) r.fail("options", "'" + item.key() + "' must be a text or a number");
    options[item.key()] = value.is_string() ? value.get<std::string>() : value.dump();
  }
  return options;
}

ReplayRequest read_replay_request(const catalogue::MachinePtr& machine, ObjectReader& r) {
  ReplayRequest request;
  request.machine = machine;
  request.library = r.optional<std::string>("library").value_or("");
  query::read_library_topology(r, request.library_topology, request.p2p_level);
  request.local = r.optional<bool>("local").value_or(false);
  request.host_scale = r.optional<double>("host_scale");
  if (request.host_scale && *request.host_scale < 0) r.fail("host_scale", "must not be negative");
  request.nvls = r.optional<bool>("nvls");
  request.nodes = positive(r, "nodes");
  request.gpus_per_node = positive(r, "gpus_per_node");
  read_own(request, r);
  request.transport = r.optional<std::string>("transport").value_or("");
  request.network = r.optional<std::string>("network").value_or("");
  request.utilisation = r.optional<bool>("utilisation").value_or(false);
  request.interval = r.optional<bool>("interval").value_or(true);
  if (r.has("repeat")) request.repeat = positive(r, "repeat");
  request.parts = {read_part(r)};
  read_also(r, request.parts);
  r.finish();
  return request;
}

}  // namespace linkcast::replay
