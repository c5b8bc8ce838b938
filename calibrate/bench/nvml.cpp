#include "calibrate/bench/nvml.hpp"

#include <dlfcn.h>

#include <algorithm>
#include <array>
#include <cctype>

namespace linkcast::bench {
namespace {

// source: NVML API reference (docs.nvidia.com/deploy/nvml-api): types and enum values used below.
using Device = void*;
constexpr int kSuccess = 0;
constexpr unsigned kMaxLinks = 36;  // more than NVML_NVLINK_MAX_LINKS (18) of today
constexpr int kClockSm = 1, kClockMemory = 2;
constexpr int kTemperatureGpu = 0;
struct PciInfo {  // nvmlPciInfo_t, version 3
  std::array<char, 16> legacy_bus_id;
  unsigned domain, bus, device, device_id, subsystem_id;
  std::array<char, 32> bus_id;
};

NvlinkEnd::Kind end_kind(int code) {
  switch (code) {
    case 0:
      return NvlinkEnd::Kind::kGpu;
    case 1:
      return NvlinkEnd::Kind::kNpu;
    case 2:
      return NvlinkEnd::Kind::kSwitch;
    default:
      return NvlinkEnd::Kind::kUnknown;
  }
}

}  // namespace

std::string normal_pci(std::string pci) {
  std::transform(pci.begin(), pci.end(), pci.begin(), [](unsigned char c) { return std::tolower(c); });
  const auto colon = pci.find(':');
  if (colon != std::string::npos && colon > 4) pci = pci.substr(colon - 4);
  return pci;
}

template <class Function>
Function Nvml::symbol(const char* name) const {
  return library_ == nullptr ? nullptr : reinterpret_cast<Function>(dlsym(library_, name));
}

Nvml::Nvml() : library_(dlopen("libnvidia-ml.so.1", RTLD_NOW)) {
  const auto init = symbol<int (*)()>("nvmlInit_v2");
  if (library_ == nullptr || (init != nullptr && init() == kSuccess)) return;
  dlclose(library_);
  library_ = nullptr;
}

Nvml::~Nvml() {
  if (const auto shutdown = symbol<int (*)()>("nvmlShutdown")) shutdown();
  if (library_ != nullptr) dlclose(library_);
}

Device Nvml::device(const std::string& pci) const {
  Device device = nullptr;
  const auto find = symbol<int (*)(const char*, Device*)>("nvmlDeviceGetHandleByPciBusId_v2");
  return find != nullptr && find(pci.c_str(), &device) == kSuccess ? device : nullptr;
}

std::string Nvml::driver_version() const {
  std::array<char, 96> text{};
  const auto get = symbol<int (*)(char*, unsigned)>("nvmlSystemGetDriverVersion");
  return get != nullptr && get(text.data(), text.size()) == kSuccess ? text.data() : "unknown";
}

std::vector<NvlinkEnd> Nvml::nvlinks(const std::string& pci) const {
  std::vector<NvlinkEnd> ends;
  const Device gpu = device(pci);
  const auto state = symbol<int (*)(Device, unsigned, int*)>("nvmlDeviceGetNvLinkState");
  const auto remote = symbol<int (*)(Device, unsigned, PciInfo*)>("nvmlDeviceGetNvLinkRemotePciInfo_v2");
  const auto kind = symbol<int (*)(Device, unsigned, int*)>("nvmlDeviceGetNvLinkRemoteDeviceType");
  if (gpu == nullptr || state == nullptr) return ends;
  for (unsigned link = 0; link < kMaxLinks; ++link) {
    int active = 0;
    if (state(gpu, link, &active) != kSuccess || active == 0) continue;
    NvlinkEnd end{static_cast<int>(link), NvlinkEnd::Kind::kUnknown, ""};
    int code = 0;
    if (kind != nullptr && kind(gpu, link, &code) == kSuccess) end.kind = end_kind(code);
    PciInfo info{};
    if (remote != nullptr && remote(gpu, link, &info) == kSuccess) end.pci = normal_pci(info.bus_id.data());
    ends.push_back(end);
  }
  return ends;
}

std::optional<Nvml::Pcie> Nvml::pcie(const std::string& pci) const {
  using Get = int (*)(Device, unsigned*);
  const Device gpu = device(pci);
  const auto generation = symbol<Get>("nvmlDeviceGetMaxPcieLinkGeneration");
  const auto width = symbol<Get>("nvmlDeviceGetMaxPcieLinkWidth");
  unsigned g = 0, w = 0;
  if (gpu == nullptr || generation == nullptr || width == nullptr || generation(gpu, &g) != kSuccess ||
      width(gpu, &w) != kSuccess || g == 0 || w == 0)
    return std::nullopt;
  return Pcie{static_cast<int>(g), static_cast<int>(w)};
}

std::optional<Nvml::Clocks> Nvml::clocks(const std::string& pci) const {
  using Get = int (*)(Device, int, unsigned*);
  const Device gpu = device(pci);
  const auto clock = symbol<Get>("nvmlDeviceGetClockInfo");
  const auto temperature = symbol<Get>("nvmlDeviceGetTemperature");
  Clocks clocks;
  if (gpu == nullptr || clock == nullptr || clock(gpu, kClockSm, &clocks.sm_mhz) != kSuccess ||
      clock(gpu, kClockMemory, &clocks.memory_mhz) != kSuccess)
    return std::nullopt;
  if (temperature != nullptr) temperature(gpu, kTemperatureGpu, &clocks.temperature_c);
  return clocks;
}

}  // namespace linkcast::bench
