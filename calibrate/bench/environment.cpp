#include "calibrate/bench/environment.hpp"

#include <sys/utsname.h>

#include <array>
#include <cstdint>
#include <cstdio>
#include <ctime>
#include <fstream>
#include <thread>

#include "calibrate/bench/cuda_check.hpp"

namespace linkcast::bench {
namespace {

// FNV-1a, 64 bits: enough to tell GPUs apart without publishing their UUID.
std::string hash_text(const std::string& bytes) {
  std::uint64_t hash = 0xcbf29ce484222325u;  // source: FNV-1a offset basis and prime (Fowler, Noll, Vo)
  for (const char byte : bytes) hash = (hash ^ static_cast<unsigned char>(byte)) * 0x100000001b3u;
  std::array<char, 17> text{};
  std::snprintf(text.data(), text.size(), "%016llx", static_cast<unsigned long long>(hash));
  return text.data();
}

std::string version_text(int version) {  // CUDA codes 13.0 as 13000
  return std::to_string(version / 1000) + "." + std::to_string(version % 1000 / 10);
}

std::string utc_now() {
  const std::time_t now = std::time(nullptr);
  std::tm parts{};
  gmtime_r(&now, &parts);
  std::array<char, 32> text{};
  std::strftime(text.data(), text.size(), "%Y-%m-%dT%H:%M:%SZ", &parts);
  return text.data();
}

}  // namespace

std::string pci_of(int gpu) {
  std::array<char, 32> text{};
  CUDA_CHECK(cudaDeviceGetPCIBusId(text.data(), text.size(), gpu));
  return normal_pci(text.data());
}

std::string cpu_model() {
  std::ifstream file("/proc/cpuinfo");
  for (std::string line; std::getline(file, line);)
    for (const char* key : {"model name", "cpu\t"})  // x86 and Arm, POWER
      if (line.rfind(key, 0) == 0 && line.find(": ") != std::string::npos) return line.substr(line.find(": ") + 2);
  return "unknown";
}

int numa_node_of(const std::string& pci) {
  std::ifstream file("/sys/bus/pci/devices/" + pci + "/numa_node");
  int node = -1;
  file >> node;
  return file ? node : -1;
}

Json describe_environment(int gpus, const Nvml& nvml) {
  Json names = Json::array(), uuids = Json::array(), numa = Json::array();
  for (int gpu = 0; gpu < gpus; ++gpu) {
    cudaDeviceProp properties{};
    CUDA_CHECK(cudaGetDeviceProperties(&properties, gpu));
    names.push_back(properties.name);
    uuids.push_back(hash_text(std::string(properties.uuid.bytes, sizeof properties.uuid.bytes)));
    numa.push_back(numa_node_of(pci_of(gpu)));
  }
  int driver = 0, runtime = 0;
  CUDA_CHECK(cudaDriverGetVersion(&driver));
  CUDA_CHECK(cudaRuntimeGetVersion(&runtime));
  utsname kernel{};
  uname(&kernel);
  return Json{{"gpu_names", names},
              {"gpu_uuids_hashed", uuids},
              {"gpu_numa_nodes", numa},
              {"driver", nvml.driver_version()},
              {"cuda_driver", version_text(driver)},
              {"cuda_runtime", version_text(runtime)},
              {"host_cpu", cpu_model()},
              {"host_cores", std::thread::hardware_concurrency()},
              {"host_kernel", std::string(kernel.sysname) + " " + kernel.release + " " + kernel.machine},
              {"date", utc_now()},
              {"clocks_before", describe_clocks(gpus, nvml)}};
}

Json describe_clocks(int gpus, const Nvml& nvml) {
  Json all = Json::array();
  for (int gpu = 0; gpu < gpus; ++gpu) {
    const auto clocks = nvml.clocks(pci_of(gpu));
    if (!clocks) return "unknown: NVML does not say";
    all.push_back(
        {{"sm_mhz", clocks->sm_mhz}, {"memory_mhz", clocks->memory_mhz}, {"temperature_c", clocks->temperature_c}});
  }
  return all;
}

}  // namespace linkcast::bench
