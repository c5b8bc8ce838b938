// What is wired to what, as far as the driver and sysfs say.
// Writes the raw answers (one point a GPU, one a pair) and, beside them, a topology/1 file made from them; whatever the
// machine did not say is marked "assumed: ..." in the source of that cable.
// Limits: virtual machines often hide PCIe bridges, NUMA nodes and the remote ends of NVLinks. PCIe switches above the
// nearest one are left out.
#include <algorithm>

#include "calibrate/bench/bench.hpp"
#include "calibrate/bench/cuda_check.hpp"
#include "calibrate/bench/machine_facts.hpp"
#include "calibrate/bench/record_file.hpp"
#include "sim/base/atomic_file.hpp"

namespace linkcast::bench {
namespace {

Json to_json(const GpuFacts& gpu) {
  Json links = Json::array();
  for (const NvlinkEnd& end : gpu.nvlinks)
    links.push_back({{"link", end.link}, {"remote_kind", to_text(end.kind)}, {"remote_pci", end.pci}});
  return {{"status", "ok"},
          {"model", gpu.model},
          {"sm", gpu.sm},
          {"multiprocessors", gpu.multiprocessors},
          {"copy_engines", gpu.copy_engines},
          {"pci", gpu.pci},
          {"pci_path", gpu.pci_path},
          {"pcie_generation", gpu.pcie.generation},
          {"pcie_width", gpu.pcie.width},
          {"numa_node", gpu.numa_node},
          {"nvlinks", links}};
}

class Discovery final : public Bench {
 public:
  std::optional<std::string> can_run(const Context&) const override { return std::nullopt; }
  std::vector<Point> points(Context& context) override {
    std::vector<Point> all;
    const auto facts = gather_facts(context.gpus);
    for (int gpu = 0; gpu < context.gpus; ++gpu)
      all.push_back({{{"device", gpu_id(gpu)}}, "gpus", [fact = facts.gpus[static_cast<std::size_t>(gpu)]] {
                       return to_json(fact);
                     }});
    for (const PairFacts& pair : facts.pairs)
      all.push_back({{{"source", gpu_id(pair.device)}, {"target", gpu_id(pair.owner)}}, "pairs", [pair] {
                       return Json{{"status", "ok"},
                                   {"peer_access", pair.peer_access},
                                   {"native_atomics", pair.native_atomics},
                                   {"performance_rank", pair.performance_rank}};
                     }});
    return all;
  }
  Json method(const Context&) const override {
    return {{"from", "CUDA runtime, NVML, /sys/bus/pci/devices, /sys/devices/system/node"}};
  }
  void finish(Context& context) override {
    const Json topology = make_topology(gather_facts(context.gpus), context.options.topology);
    write_atomically(context.options.out + "/" + context.options.topology + "-topology.json", topology.dump(1) + "\n");
  }
};

const bool registered =
    add_bench({"discovery", "GPUs, links, PCIe and sockets; writes a topology file", "single", 0, true, "discovery/1"},
              [] { return std::make_unique<Discovery>(); });

}  // namespace
}  // namespace linkcast::bench
