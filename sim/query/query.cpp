#include "sim/query/query.hpp"

#include <algorithm>

#include "sim/collective/cluster_collective.hpp"
#include "sim/collective/collective_run.hpp"
#include "sim/collective/mpi_collective.hpp"
#include "sim/congestion/network_load.hpp"
#include "sim/copy/copies.hpp"
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

/// By one node alone, or the cluster where the query needs its network.
Json copies_answer(catalogue::Catalogue& catalogue, const Json& query, const std::string& kind,
                   const std::string& platform, Solver& solver, ObjectReader& r) {
  const bool networked =
      copy::names_nodes(query) || (kind == "p2p" && copy::names_nic(catalogue.platform(platform), query));
  const Cluster& machine = networked ? catalogue.cluster(platform) : catalogue.lone_node(platform);
  if (kind == "p2p") return copy::p2p_answer(machine, solver, r);
  return kind == "flows" ? copy::flows_answer(machine, solver, r) : copy::routes_answer(machine, solver, r);
}

Json dispatch(catalogue::Catalogue& catalogue, const Json& query, const std::string& kind, const std::string& platform,
              Solver& solver, ObjectReader& r) {
  const bool copies = kind == "p2p" || kind == "flows";
  if (!copies && kind != "collective")
    congestion::refuse_network_keys(query, "is of p2p and flows between nodes and of collectives");
  if (copies && !copy::names_nodes(query))
    congestion::refuse_network_keys(query, "needs two nodes: name node0/gpu0, node1/gpu0");
  if (kind == "collective" && collective::is_mpi(query))
    congestion::refuse_network_keys(query, "is not modelled for rounds of MPI messages");
  if (kind == "collective" && !query.contains("nodes"))
    congestion::refuse_network_keys(query, "needs several nodes: give nodes");
  if (copies || kind == "routes") return copies_answer(catalogue, query, kind, platform, solver, r);
  if (kind == "collective" && collective::is_mpi(query))
    return collective::mpi_collective_answer(catalogue, platform, solver, r);
  if (kind == "collective" && query.contains("nodes"))
    return collective::cluster_collective_answer(catalogue, platform, solver, r);
  if (kind == "collective") return collective::collective_answer(catalogue, platform, solver, r);
  if (kind == "rings") return collective::rings_answer(catalogue, platform, r);
  if (std::find(kOwnKinds.begin(), kOwnKinds.end(), kind) == kOwnKinds.end())
    return query_kinds().get(kind).answer(catalogue, platform, r);
  r.finish();
  if (kind == "fabric") {
    const Topology& wiring = catalogue.platform(platform).wiring();
    return fabric_answer(wiring, build_fabric(wiring), false);
  }
  return show_answer(catalogue.platform(platform));
}

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
