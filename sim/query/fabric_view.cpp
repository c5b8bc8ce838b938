#include "sim/query/fabric_view.hpp"

#include "sim/base/limits.hpp"
#include "sim/machine/fabric_facts.hpp"

namespace linkcast::query {
namespace {

Json classes_json(const Fabric& fabric, const bounds::FabricFacts& facts, int nics) {
  Json list = Json::array();
  for (std::size_t c = 0; c < fabric.classes().size(); ++c) {
    const bounds::ClassPorts ports = bounds::class_ports(fabric, static_cast<int>(c));
    const FabricLinkClass& link = fabric.classes()[c];
    list.push_back({{"name", link.name},
                    {"cable", link.cable},
                    {"cables", facts.cables[c]},
                    {"bandwidth_Bps", link.bandwidth.si},
                    {"latency_s", link.latency.si},
                    {"forwarding_index", facts.loads[c].most},
                    {"mean_ways", facts.loads[c].mean},
                    {"switches", ports.switches},
                    {"ports_of_a_switch", ports.most},
                    {"parts_without", ports.parts_without},
                    {"nodes_of_a_part", ports.endpoints_of_a_part / nics},
                    {"source", link.source}});
  }
  return list;
}

Json distances_json(const Fabric& fabric, const bounds::FabricFacts& facts) {
  Json list = Json::array();
  const double all = static_cast<double>(fabric.endpoints()) * (fabric.endpoints() - 1);
  for (std::size_t d = 0; d < facts.pairs.size(); ++d)
    list.push_back({{"name", fabric.distances()[d]}, {"share_of_pairs", all > 0 ? facts.pairs[d] / all : 0}});
  return list;
}

Json links_json(const Fabric& fabric) {
  Json list = Json::array();
  for (int id = 0; id < fabric.links(); ++id) {
    work::look();
    const FabricLink link = fabric.link(id);
    list.push_back({{"id", id},
                    {"from", fabric.vertex_name(link.from)},
                    {"to", fabric.vertex_name(link.to)},
                    {"class", fabric.classes()[static_cast<std::size_t>(link.link_class)].name}});
  }
  return list;
}

}  // namespace

BuiltFabric fabric_of(Topology topology, const std::string& file) {
  if (!file.empty()) {
    const Json json = read_json_file(file);
    if (!json.is_object() || !json.contains("fabric")) throw InputError(file, "/fabric", "missing key");
    topology.fabric = json["fabric"];
    topology.path = file;
  }
  return build_fabric(topology);
}

Json fabric_answer(const Topology& topology, const BuiltFabric& built, bool links) {
  const Fabric& fabric = *built.fabric;
  const auto nics = static_cast<int>(built.nics.size());
  const bounds::FabricFacts facts = [&] {
    try {
      return bounds::fabric_facts(fabric, nics);
    } catch (const InputError& error) {
      throw InputError(topology.path, "/fabric", error.what());
    }
  }();
  const double per_gpu = static_cast<double>(nics) / static_cast<double>(topology.gpus().size());
  Json answer{{"platform", topology.name},
              {"generator", built.generator},
              {"source", built.source},
              {"routing", built.routing},
              {"endpoints", fabric.endpoints()},
              {"nodes", fabric.endpoints() / nics},
              {"nics_per_node", nics},
              {"switches", fabric.switches()},
              {"links", fabric.links()},
              {"diameter_links", facts.diameter},
              {"average_links", facts.average_links},
              {"bisection", {{"cables", facts.bisection.cables}, {"bandwidth_Bps", facts.bisection.bandwidth.si}}},
              {"classes", classes_json(fabric, facts, nics)},
              {"distances", distances_json(fabric, facts)},
              {"expected",
               {{"alltoall_Bps", facts.alltoall.si},
                {"alltoall_limit", fabric.classes()[static_cast<std::size_t>(facts.alltoall_limit)].name},
                {"alltoall_per_gpu_Bps", per_gpu * facts.alltoall.si},
                {"allreduce_Bps", facts.allreduce.si},
                {"allreduce_per_gpu_Bps", per_gpu * facts.allreduce.si}}}};
  if (const auto peaks = bounds::node_peaks(topology))
    answer["inside_a_node"] = {{"forwarding_index", peaks->forwarding_index},
                               {"alltoall_Bps", peaks->alltoall.si},
                               {"rings", peaks->rings},
                               {"allreduce_Bps", peaks->allreduce.si}};
  if (links) answer["link_list"] = links_json(fabric);
  return answer;
}

}  // namespace linkcast::query
