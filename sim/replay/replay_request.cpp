#include "sim/replay/replay_request.hpp"

#include "sim/replay/part_options.hpp"

namespace linkcast::replay {
namespace {

constexpr int kMostRanks = 1000000;  // ours

/// 0: not said.
int positive(ObjectReader& r, const char* key, int most = 0) {
  const auto value = r.optional<int>(key);
  if (most > 0 && value && (*value < 1 || *value > most)) r.fail(key, "must be 1 to " + std::to_string(most));
  if (value && *value < 1) r.fail(key, "must be 1 or more");
  return value.value_or(0);
}

}  // namespace

ReplayRequest read_replay_request(const std::string& platform, ObjectReader& r) {
  ReplayRequest request;
  request.platform = platform;
  request.library = r.optional<std::string>("library").value_or("");
  request.local = r.optional<bool>("local").value_or(false);
  request.host_scale = r.optional<double>("host_scale");
  if (request.host_scale && *request.host_scale < 0) r.fail("host_scale", "must not be negative");
  request.nodes = positive(r, "nodes");
  request.gpus_per_node = positive(r, "gpus_per_node");
  if (r.has("solver") && r.required<std::string>("solver") != "fluid") r.fail("solver", "a replay knows fluid alone");
  request.transport = r.optional<std::string>("transport").value_or("");
  ReplayPart part;
  part.trace = r.required<std::string>("trace");
  part.gpus = r.optional<std::vector<int>>("placement").value_or(std::vector<int>{});
  part.ranks = positive(r, "ranks", kMostRanks);
  part.options = read_part_options(r);
  r.finish();
  request.parts = {std::move(part)};
  return request;
}

}  // namespace linkcast::replay
