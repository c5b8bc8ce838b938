#include "calibrate/bench/machine_facts.hpp"

#include <algorithm>
#include <filesystem>

#include "calibrate/bench/cuda_check.hpp"
#include "calibrate/bench/environment.hpp"

namespace linkcast::bench {
namespace {

bool is_pci_address(const std::string& text) {  // "0000:1b:00.0"
  return text.size() == 12 && text[4] == ':' && text[7] == ':' && text[10] == '.';
}

std::vector<std::string> pci_path(const std::string& pci) {
  std::error_code error;
  const auto real = std::filesystem::canonical("/sys/bus/pci/devices/" + pci, error);
  std::vector<std::string> path;
  for (const auto& part : real)
    if (is_pci_address(part.string())) path.push_back(part.string());
  return path;
}

int count_numa_nodes() {
  int nodes = 0;
  std::error_code error;
  while (std::filesystem::exists("/sys/devices/system/node/node" + std::to_string(nodes), error)) ++nodes;
  return std::max(1, nodes);
}

PairFacts pair_facts(int device, int owner) {
  int access = 0, atomics = 0, rank = 0;
  CUDA_CHECK(cudaDeviceCanAccessPeer(&access, device, owner));
  CUDA_CHECK(cudaDeviceGetP2PAttribute(&atomics, cudaDevP2PAttrNativeAtomicSupported, device, owner));
  CUDA_CHECK(cudaDeviceGetP2PAttribute(&rank, cudaDevP2PAttrPerformanceRank, device, owner));
  return {device, owner, access != 0, atomics != 0, rank};
}

}  // namespace

const char* to_text(NvlinkEnd::Kind kind) {
  switch (kind) {
    case NvlinkEnd::Kind::kGpu:
      return "gpu";
    case NvlinkEnd::Kind::kNpu:
      return "npu";
    case NvlinkEnd::Kind::kSwitch:
      return "switch";
    case NvlinkEnd::Kind::kUnknown:
      break;
  }
  return "unknown";
}

MachineFacts gather_facts(int gpus) {
  MachineFacts facts{cpu_model(), count_numa_nodes(), {}, {}};
  const Nvml nvml;
  for (int gpu = 0; gpu < gpus; ++gpu) {
    cudaDeviceProp properties{};
    CUDA_CHECK(cudaGetDeviceProperties(&properties, gpu));
    GpuFacts one;
    one.model = properties.name;
    one.pci = pci_of(gpu);
    one.sm = properties.major * 10 + properties.minor;
    one.multiprocessors = properties.multiProcessorCount;
    one.copy_engines = properties.asyncEngineCount;
    one.numa_node = numa_node_of(one.pci);
    one.pci_path = pci_path(one.pci);
    one.pcie = nvml.pcie(one.pci).value_or(Nvml::Pcie{});
    one.nvlinks = nvml.nvlinks(one.pci);
    facts.gpus.push_back(one);
    for (int owner = 0; owner < gpus; ++owner)
      if (owner != gpu) facts.pairs.push_back(pair_facts(gpu, owner));
  }
  return facts;
}

}  // namespace linkcast::bench
