#include "sim/query/query.hpp"

#include <algorithm>
#include <chrono>

#include "sim/collective/cluster_collective.hpp"
#include "sim/collective/collective_run.hpp"
#include "sim/collective/mpi_collective.hpp"
#include "sim/congestion/network_load.hpp"
#include "sim/copy/cluster_copies.hpp"
#include "sim/copy/copies.hpp"
#include "sim/copy/nic_queue.hpp"
#include "sim/log/log.hpp"
#include "sim/query/fabric_view.hpp"
#include "sim/query/provenance.hpp"
#include "sim/query/query_kind.hpp"
#include "sim/query/show.hpp"

namespace linkcast::query {
namespace {

const std::vector<std::string> kOwnKinds = {"p2p", "flows", "collective", "rings", "routes", "show", "fabric"};

std::vector<std::string> all_kinds() {
  std::vector<std::string> kinds = kOwnKinds;
  for (const PluginInfo& info : query_kinds().list()) kinds.push_back(info.name);
  return kinds;
}

Json dispatch(catalogue::Catalogue& catalogue, const Json& query, const std::string& kind, const std::string& platform,
              Solver& solver, ObjectReader& r) {
  if (kind != "p2p" && kind != "collective")
    congestion::refuse_network_keys(query, "is of p2p between nodes and of collectives");
  if (kind == "p2p" && !copy::names_nodes(query))
    congestion::refuse_network_keys(query, "needs two nodes: name node0/gpu0, node1/gpu0");
  if (kind == "collective" && collective::is_mpi(query))
    congestion::refuse_network_keys(query, "is not modelled for rounds of MPI messages");
  if (kind == "collective" && !query.contains("nodes"))
    congestion::refuse_network_keys(query, "needs several nodes: give nodes");
  if (kind == "p2p" && copy::names_nodes(query))
    return copy::cluster_p2p_answer(catalogue.cluster(platform), solver, r, catalogue.progress());
  if (kind == "p2p" && copy::names_nic(catalogue.platform(platform), query))
    return copy::nic_p2p_answer(catalogue.cluster(platform), solver, r);
  if (kind == "p2p") return copy::p2p_answer(catalogue.platform(platform), solver, r);
  if (kind == "flows") return copy::flows_answer(catalogue.platform(platform), solver, r);
  if (kind == "collective" && collective::is_mpi(query))
    return collective::mpi_collective_answer(catalogue, platform, solver, r);
  if (kind == "collective" && query.contains("nodes"))
    return collective::cluster_collective_answer(catalogue, platform, solver, r);
  if (kind == "collective") return collective::collective_answer(catalogue, platform, solver, r);
  if (kind == "rings") return collective::rings_answer(catalogue, platform, r);
  if (kind == "routes" && copy::names_nodes(query))
    return copy::cluster_routes_answer(catalogue.cluster(platform), solver, r);
  if (kind == "routes") return copy::routes_answer(catalogue.platform(platform), solver, r);
  if (std::find(kOwnKinds.begin(), kOwnKinds.end(), kind) == kOwnKinds.end())
    return query_kinds().get(kind).answer(catalogue, platform, r);
  r.finish();
  if (kind == "fabric") {
    const Topology& wiring = catalogue.platform(platform).wiring();
    return fabric_answer(wiring, build_fabric(wiring), false);
  }
  return show_answer(catalogue.platform(platform));
}

/// For -v: what was chosen, and what it took to say so.
class AnswerLog {
 public:
  void answered(const Json& out, const std::string& platform) const {
    if (!log_.shows(log::Level::kDebug)) return;
    std::string chosen;
    for (const char* key : {"algorithm", "protocol", "transport", "via", "engine"})
      if (out.contains(key) && out[key].is_string())
        chosen += std::string(", ") + key + " " + out[key].get<std::string>();
    if (out.contains("time_s")) chosen += ", time_s " + out["time_s"].dump();
    const double spent_s = std::chrono::duration<double>(Clock::now() - start_).count();
    log_.debug("{} on {}{}: answered in {:.6f} s", out["kind"].get<std::string>(), platform, chosen, spent_s);
  }

 private:
  using Clock = std::chrono::steady_clock;
  log::Log log_{"query"};
  Clock::time_point start_ = Clock::now();
};

}  // namespace

Registry<QueryKind>& query_kinds() {
  static Registry<QueryKind> registry("kind of query");
  return registry;
}

Json answer_or_throw(catalogue::Catalogue& catalogue, const Json& query, const std::string& name) {
  return answer_or_throw(catalogue, query, name, [&](const std::string& platform_id, ObjectReader& r) {
    Solver& solver = catalogue.solver(r.optional<std::string>("solver").value_or("fluid"));
    return dispatch(catalogue, query, r.required<std::string>("kind"), platform_id, solver, r);
  });
}

Json answer_or_throw(catalogue::Catalogue& catalogue, const Json& query, const std::string& name,
                     const KindAnswer& kind_answer) {
  const AnswerLog log;
  ObjectReader r(query, name);
  Json out;
  if (r.has("id")) out["id"] = r.raw("id");
  const std::string kind = r.choice("kind", all_kinds());
  const auto base_id = r.required<std::string>("platform");
  const auto edits = r.optional<std::vector<std::string>>("edits").value_or(std::vector<std::string>{});
  const auto solver_id = r.optional<std::string>("solver").value_or("fluid");
  out["kind"] = kind;
  std::string platform_id = base_id;
  try {
    platform_id = catalogue.edited(base_id, edits);
    static_cast<void>(catalogue.solver(solver_id));
    out.update(kind_answer(platform_id, r));
  } catch (const InputError& error) {
    const std::string what = error.what();
    throw what.rfind(name, 0) == 0 ? error : InputError(name + ": " + what);
  }
  put_provenance(catalogue, platform_id, query, solver_id, out);
  log.answered(out, base_id);
  return out;
}

Json answer(catalogue::Catalogue& catalogue, const Json& query) {
  try {
    return answer_or_throw(catalogue, query, "query");
  } catch (const InputError& error) {
    Json out;
    if (query.is_object() && query.contains("id")) out["id"] = query["id"];
    out["error"] = error.what();
    return out;
  }
}

}  // namespace linkcast::query
