#pragma once
// The few NVML queries that the benches need, from libnvidia-ml.so.1 loaded at run time: no header, no link dependency.
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace linkcast::bench {

struct NvlinkEnd {
  enum class Kind { kGpu, kNpu, kSwitch, kUnknown };
  int link = 0;
  Kind kind = Kind::kUnknown;
  std::string pci;  ///< bus id of the remote end, empty if the driver hides it
};

class Nvml {
 public:
  Nvml();
  ~Nvml();
  Nvml(const Nvml&) = delete;
  Nvml& operator=(const Nvml&) = delete;

  /// False: every query below answers "unknown".
  [[nodiscard]] bool available() const { return library_ != nullptr; }
  [[nodiscard]] std::string driver_version() const;
  /// Active links of the GPU with this PCI bus id.
  [[nodiscard]] std::vector<NvlinkEnd> nvlinks(const std::string& pci) const;
  struct Pcie {
    int generation = 0, width = 0;
  };
  [[nodiscard]] std::optional<Pcie> pcie(const std::string& pci) const;  ///< the most the slot and GPU can do
  struct Clocks {
    unsigned sm_mhz = 0, memory_mhz = 0, temperature_c = 0;
  };
  [[nodiscard]] std::optional<Clocks> clocks(const std::string& pci) const;

 private:
  template <class Function>
  Function symbol(const char* name) const;
  [[nodiscard]] void* device(const std::string& pci) const;

  void* library_ = nullptr;
};

/// Lower case, eight-digit domain cut to four: "0000:1b:00.0". NVML, CUDA and sysfs spell bus ids differently.
std::string normal_pci(std::string pci);

}  // namespace linkcast::bench
