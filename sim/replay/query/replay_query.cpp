// Queries of kind replay: a batch line, a claim or a what-if asks for an application on a machine.
#include "sim/query/query_kind.hpp"
#include "sim/replay/part_options.hpp"
#include "sim/replay/query/traffic.hpp"
#include "sim/replay/replay_run.hpp"

namespace linkcast::replay {
namespace {

/// 0: not said.
int positive(ObjectReader& r, const char* key) {
  const auto value = r.optional<int>(key);
  if (value && *value < 1) r.fail(key, "must be 1 or more");
  return value.value_or(0);
}

ReplayPart read_part(ObjectReader& r) {
  ReplayPart part;
  part.trace = r.required<std::string>("trace");
  part.gpus = r.optional<std::vector<int>>("placement").value_or(std::vector<int>{});
  part.ranks = r.optional<int>("ranks").value_or(0);
  part.options = read_part_options(r);
  return part;
}

/// Key also: [{trace, placement?, ranks?, options?}], other jobs at the same time.
void read_also(ObjectReader& r, std::vector<ReplayPart>& parts) {
  if (!r.has("also")) return;
  const Json& others = r.raw("also");
  if (!others.is_array()) r.fail("also", "must be an array of objects with trace, and perhaps placement");
  for (std::size_t i = 0; i < others.size(); ++i) {
    ObjectReader other(others[i], r.file(), r.pointer("also") + "/" + std::to_string(i));
    parts.push_back(read_part(other));
    other.finish();
  }
}

double sum_of(const Json& rows, const std::string& key) {
  double sum = 0;
  for (const Json& row : rows) sum += row.at(key).get<double>();
  return sum;
}

class ReplayQuery final : public query::QueryKind {
 public:
  [[nodiscard]] Json answer(catalogue::Catalogue& catalogue, const std::string& platform_id,
                            ObjectReader& r) const override {
    ReplayRequest request;
    request.platform = platform_id;
    request.library = r.optional<std::string>("library").value_or("");
    request.local = r.optional<bool>("local").value_or(false);
    request.host_scale = r.optional<double>("host_scale");
    if (request.host_scale && *request.host_scale < 0) r.fail("host_scale", "must not be negative");
    request.nodes = positive(r, "nodes");
    request.gpus_per_node = positive(r, "gpus_per_node");
    if (r.has("solver") && r.required<std::string>("solver") != "fluid") r.fail("solver", "a replay knows fluid alone");
    request.transport = r.optional<std::string>("transport").value_or("");
    request.network = r.optional<std::string>("network").value_or("");
    request.utilisation = r.optional<bool>("utilisation").value_or(false);
    if (r.has("repeat")) request.repeat = positive(r, "repeat");
    request.parts = {read_part(r)};
    read_also(r, request.parts);
    r.finish();
    Traffic traffic;
    Json result = replay(catalogue, request, {&traffic});
    result["traffic"] = traffic.json();
    for (const char* key : {"communication_s", "exposed_s"}) result["traffic"][key] = sum_of(result["ranks"], key);
    return result;
  }
};

const bool replay_query_registered =
    query::query_kinds().add({"replay", "an application's trace on a machine", "docs/traces.md"},
                             [] { return std::make_unique<ReplayQuery>(); });

}  // namespace
}  // namespace linkcast::replay
