// linkcast-bench's discovery/1 -> topology/1, the same that linkcast-bench writes while it measures, but for NUMA nodes
// without a GPU, which the record does not hold.
#include "sim/records/discovery.hpp"

#include "calibrate/import/topology_request.hpp"

namespace {

class DiscoveryImporter final : public linkcast::Importer {
 public:
  [[nodiscard]] linkcast::Json run(const linkcast::ImportRequest& request) const override {
    const linkcast::topology_import::TopologyRequest checked(request, {}, 1);
    const std::string& file = request.files.front();
    const linkcast::Discovery discovery = linkcast::read_discovery(file);
    if (discovery.gpus.empty()) throw linkcast::InputError(file, "/points", "no gpu: everything was waived");
    linkcast::Json topology = linkcast::make_topology(discovery, checked.name());
    topology["source"] = topology["source"].get<std::string>() +
                         "; assumed: no NUMA nodes but those that GPUs name, the record does not count them";
    return topology;
  }
};

const bool discovery_registered = linkcast::importers().add(
    {"discovery", "linkcast-bench's discovery/1 record -> topology/1", "linkcast, calibrate/bench/discovery.cpp"},
    [] { return std::make_unique<DiscoveryImporter>(); });

}  // namespace
