// MachineFacts -> topology/1. Pure: no device is touched here.
#include "calibrate/bench/machine_facts.hpp"
#include "sim/records/discovery.hpp"

namespace linkcast::bench {

Json make_topology(const MachineFacts& facts, const std::string& name) {
  Discovery discovery;
  discovery.cpu = facts.cpu;
  discovery.numa_nodes = facts.numa_nodes;
  for (const GpuFacts& gpu : facts.gpus) {
    DiscoveredGpu one{gpu.model, gpu.pci, gpu.sm, gpu.numa_node, gpu.pci_path, gpu.pcie.generation, gpu.pcie.width, {}};
    for (const NvlinkEnd& end : gpu.nvlinks) one.nvlinks.push_back({to_text(end.kind), end.pci});
    discovery.gpus.push_back(std::move(one));
  }
  for (const PairFacts& pair : facts.pairs)
    discovery.pairs.push_back({pair.device, pair.owner, pair.peer_access, pair.native_atomics});
  return linkcast::make_topology(discovery, name);
}

}  // namespace linkcast::bench
