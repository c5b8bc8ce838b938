#pragma once
// Facts of a GPU that follow from its name. A new model is one row here. linkcast-bench, which is built without our
// libraries, uses the rows alone.
#include <array>
#include <optional>
#include <string>
#include <string_view>

#include "sim/records/cable_kinds.hpp"

namespace linkcast {

struct GpuModel {
  std::string_view words;  ///< of the name that tools print; the first row that fits counts
  int sm = 0;              ///< compute capability x 10
  int nvlinks = 0;         ///< links that leave the GPU; 0: it has none
  int nvlink_generation = 0;
  int pcie_generation = 0;  ///< of its x16 port; 0: not known here
  bool nvswitch = false;    ///< could hang on an NVSwitch
  double nvlink_Bps = 0;    ///< of one link, one direction; 0: that of its generation
  double memory_Bps = 0;    ///< of its own memory; 0: not known here
  double l2_B = 0;          ///< of one level 2 cache; 0: not known here, or in halves
  double chip_Bps = 0;      ///< of NVLink-C2C to its CPU, one direction; 0: it hangs on PCIe
};

// One link of GA102 at 14.0625 GT/s x 8 lanes: 112.5 GB/s for both directions of four. source: NVIDIA RTX A6000
// datasheet
inline constexpr double kSlowNvlink3_Bps = 14.0625e9;
// Level 2 caches. source: whitepapers of Pascal and Turing (4096 KB of GP100 and TU104) and of Volta (6144 KB of GV100)
inline constexpr double kPascalL2_B = 4194304, kVoltaL2_B = 6291456, kTuringL2_B = 4194304;

// NVLink-C2C. source: NVIDIA GH200 and GB200 data sheets, 900 GB/s of a Grace for both directions; assumed: half of it
// for each of two GPUs at one Grace
inline constexpr double kGraceOfOne_Bps = 450e9, kGraceOfTwo_Bps = 225e9;

// source: NVIDIA datasheets of these products (PCIe, links, memory), the CUDA GPUs page (compute capability) and the
// whitepapers of their generations. NVSwitch: assumed impossible for cards, for SXM2 boards and for NVLink 1.
inline constexpr std::array kGpuModels = {
    GpuModel{"GH200", 90, 18, 4, 5, true, 0, 4e12, 0, kGraceOfOne_Bps},  // before H100, which its name may hold too
    GpuModel{"K40", 35, 0, 0, 3, false, 0, 2.88e11},
    GpuModel{"K40M", 35, 0, 0, 3, false, 0, 2.88e11},
    GpuModel{"K80", 37, 0, 0, 3, false},
    GpuModel{"M40", 52, 0, 0, 3, false, 0, 2.88e11},
    GpuModel{"M60", 52, 0, 0, 3, false, 0, 1.6e11},
    GpuModel{"P100 PCIE", 60, 0, 0, 3, false, 0, 7.32e11, kPascalL2_B},
    GpuModel{"P100", 60, 4, 1, 3, false, 0, 7.32e11, kPascalL2_B},
    GpuModel{"P4", 61, 0, 0, 3, false, 0, 1.92e11},
    GpuModel{"P40", 61, 0, 0, 3, false},
    GpuModel{"GTX 1080 Ti", 61, 0, 0, 3, false, 0, 4.84e11},
    GpuModel{"GTX 1080", 61, 0, 0, 3, false, 0, 3.2e11},
    GpuModel{"TITAN Xp", 61, 0, 0, 3, false, 0, 5.477e11},
    GpuModel{"TITAN V", 70, 0, 0, 3, false, 0, 6.53e11},
    GpuModel{"V100S PCIE", 70, 0, 0, 3, false, 0, 1.134e12, kVoltaL2_B},
    GpuModel{"V100 PCIE", 70, 0, 0, 3, false, 0, 9e11, kVoltaL2_B},
    GpuModel{"V100 SXM2", 70, 6, 2, 3, false, 0, 9e11, kVoltaL2_B},
    GpuModel{"V100", 70, 6, 2, 3, true, 0, 9e11, kVoltaL2_B},
    GpuModel{"T4", 75, 0, 0, 3, false, 0, 3.2e11},
    GpuModel{"T4G", 75, 0, 0, 3, false, 0, 3.2e11},
    GpuModel{"TITAN RTX", 75, 2, 2, 3, false, 0, 6.72e11},
    GpuModel{"Quadro RTX 8000", 75, 2, 2, 3, false, 0, 6.72e11},
    GpuModel{"Quadro RTX 6000", 75, 2, 2, 3, false, 0, 6.72e11},
    GpuModel{"RTX 2080 Ti", 75, 2, 2, 3, false, 0, 6.16e11},
    GpuModel{"RTX 2080", 75, 1, 2, 3, false, 0, 4.48e11, kTuringL2_B},
    GpuModel{"A100 PCIE 80GB", 80, 12, 3, 4, false, 0, 1.935e12},
    GpuModel{"A100 PCIE", 80, 12, 3, 4, false, 0, 1.555e12},
    GpuModel{"A100 80GB PCIE", 80, 12, 3, 4, false, 0, 1.935e12},
    GpuModel{"A100 SXM4 80GB", 80, 12, 3, 4, true, 0, 2.039e12},
    GpuModel{"A100", 80, 12, 3, 4, true, 0, 1.555e12},
    GpuModel{"A800 80GB PCIE", 80, 8, 3, 4, false, 0, 1.935e12},
    GpuModel{"A800", 80, 8, 3, 4, true, 0, 2.039e12},
    GpuModel{"A30", 80, 4, 3, 4, false, 0, 9.33e11},
    GpuModel{"A10", 86, 0, 0, 4, false, 0, 6e11},
    GpuModel{"A10G", 86, 0, 0, 4, false, 0, 6e11},
    GpuModel{"A16", 86, 0, 0, 4, false, 0, 2e11},
    GpuModel{"A4000", 86, 0, 0, 4, false, 0, 4.48e11},
    GpuModel{"A4500", 86, 4, 3, 4, false, kSlowNvlink3_Bps, 6.4e11},
    GpuModel{"A5500", 86, 4, 3, 4, false, kSlowNvlink3_Bps, 7.68e11},
    GpuModel{"A5000", 86, 4, 3, 4, false, kSlowNvlink3_Bps, 7.68e11},
    GpuModel{"A40", 86, 4, 3, 4, false, kSlowNvlink3_Bps, 6.96e11},
    GpuModel{"A6000", 86, 4, 3, 4, false, kSlowNvlink3_Bps, 7.68e11},
    GpuModel{"RTX 3090", 86, 4, 3, 4, false, kSlowNvlink3_Bps, 9.36e11},
    GpuModel{"RTX 3080", 86, 0, 0, 4, false, 0, 7.6e11},
    GpuModel{"RTX 3070", 86, 0, 0, 4, false, 0, 4.48e11},
    GpuModel{"L4", 89, 0, 0, 4, false, 0, 3e11},
    GpuModel{"L20", 89, 0, 0, 4, false, 0, 8.64e11},
    GpuModel{"L40", 89, 0, 0, 4, false, 0, 8.64e11},
    GpuModel{"L40S", 89, 0, 0, 4, false, 0, 8.64e11},
    GpuModel{"RTX 4090", 89, 0, 0, 4, false, 0, 1.008e12},
    GpuModel{"RTX 4080", 89, 0, 0, 4, false, 0, 7.168e11},
    GpuModel{"RTX 5880 Ada", 89, 0, 0, 4, false, 0, 9.6e11},
    GpuModel{"RTX 5000 Ada", 89, 0, 0, 4, false, 0, 5.76e11},
    GpuModel{"RTX 4500 Ada", 89, 0, 0, 4, false, 0, 4.32e11},
    GpuModel{"RTX 4000 Ada", 89, 0, 0, 4, false, 0, 3.6e11},
    GpuModel{"RTX 6000 Ada", 89, 0, 0, 4, false, 0, 9.6e11},
    GpuModel{"RTX PRO 6000", 120, 0, 0, 5, false, 0, 1.792e12},
    GpuModel{"RTX PRO 5000", 120, 0, 0, 5, false, 0, 1.344e12},
    GpuModel{"RTX PRO 4500", 120, 0, 0, 5, false, 0, 8.96e11},
    GpuModel{"RTX 5080", 120, 0, 0, 5, false, 0, 9.6e11},
    GpuModel{"RTX 5090", 120, 0, 0, 5, false, 0, 1.792e12},
    GpuModel{"H100 PCIE", 90, 12, 4, 5, false, 0, 2e12},
    GpuModel{"H100 80GB PCIE", 90, 12, 4, 5, false, 0, 2e12},
    GpuModel{"H100 NVL", 90, 12, 4, 5, false, 0, 3.9e12},
    GpuModel{"H100", 90, 18, 4, 5, true, 0, 3.35e12},
    GpuModel{"H200 NVL", 90, 18, 4, 5, false, 0, 4.8e12},
    GpuModel{"H200", 90, 18, 4, 5, true, 0, 4.8e12},
    GpuModel{"H800", 90, 8, 4, 5, true, 0, 3.35e12},
    GpuModel{"H20", 90, 18, 4, 5, true, 0, 4e12},
    GpuModel{"B200", 100, 18, 5, 5, true, 0, 8e12},
    GpuModel{"GB200", 100, 18, 5, 5, true, 0, 8e12, 0, kGraceOfTwo_Bps},
    GpuModel{"B300", 103, 18, 5, 6, true, 0, 8e12},
    GpuModel{"GB300", 103, 18, 5, 6, true, 0, 8e12, 0, kGraceOfTwo_Bps},
    GpuModel{"GB10", 121, 0, 0, 0, false, 0, 2.73e11},  // on its CPU's package, no PCIe port
    // source: AMD Instinct data sheets; of MI250 and MI250X one GCD
    GpuModel{"MI50", 90, 0, 0, 4, false, 0, 1.024e12},
    GpuModel{"MI60", 90, 0, 0, 4, false, 0, 1.024e12},
    GpuModel{"MI100", 90, 0, 0, 4, false, 0, 1.2288e12},
    GpuModel{"MI210", 90, 0, 0, 4, false, 0, 1.638e12},
    GpuModel{"MI250X", 90, 0, 0, 4, false, 0, 1.638e12},
    GpuModel{"MI250", 90, 0, 0, 4, false, 0, 1.638e12},
    GpuModel{"MI200 MCM OAM", 90, 0, 0, 4, false, 0, 1.638e12},  // as firmware calls MI250 and MI250X
    GpuModel{"MI300A", 94, 0, 0, 5, false, 0, 5.3e12},
    GpuModel{"MI300X", 94, 0, 0, 5, false, 0, 5.3e12},
    GpuModel{"MI308X", 94, 0, 0, 5, false, 0, 5.3e12},
    GpuModel{"MI325X", 94, 0, 0, 5, false, 0, 6e12},
    GpuModel{"MI350X", 95, 0, 0, 5, false, 0, 8e12},
    GpuModel{"MI355X", 95, 0, 0, 5, false, 0, 8e12},
};

/// AMD's models are those whose name begins so.
inline bool is_amd_model(const GpuModel& model) { return model.words.starts_with("MI"); }
/// "MI50, MI60, ...": the models of AMD.
inline std::string amd_model_names() {
  std::string names;
  for (const GpuModel& model : kGpuModels)
    if (is_amd_model(model)) names += (names.empty() ? "" : ", ") + std::string(model.words);
  return names;
}

struct NvlinkType {
  int generation = 0;
  BytesPerSecond rate;
  int links = 0;  ///< that leave a GPU
  [[nodiscard]] std::string kind() const {
    return std::string(cable_kind_of(CableFamily::kAccelerator, generation)->name);
  }
};

namespace detail {
/// Of the model with the most links among those that `fits` takes, the first of equals.
template <class Condition>
std::optional<NvlinkType> largest_nvlink(Condition fits) {
  std::optional<NvlinkType> most;
  for (const GpuModel& model : kGpuModels) {
    const CableKind* cable = cable_kind_of(CableFamily::kAccelerator, model.nvlink_generation);
    if (!cable || !fits(model) || (most && most->links >= model.nvlinks)) continue;
    most =
        NvlinkType{model.nvlink_generation, {model.nvlink_Bps > 0 ? model.nvlink_Bps : cable->rate_Bps}, model.nvlinks};
  }
  return most;
}
}  // namespace detail

/// Of the largest GPU with a compute capability (x 10). @returns nothing where none with NVLink is known here
inline std::optional<NvlinkType> nvlink_of(int sm) {
  return detail::largest_nvlink([sm](const GpuModel& model) { return model.sm == sm; });
}

/// A generation of GPUs: figures that hold for all models from a compute capability on.
struct GpuGeneration {
  int sm = 0;                        ///< least compute capability x 10
  std::string_view usual_library{};  ///< NCCL that owners of such machines ran when they were new
  int multiprocessors = 0;           ///< of the largest GPU
  int shared_memory_B = 0;           ///< most of one thread block
};

// source: release dates: P100 2016, V100 2017 and Turing 2018 (NCCL 2.0 to 2.4), A100 2020 (NCCL 2.7, 2.8), Hopper and
// Ada 2022 (2.15 to 2.18), Blackwell 2024 and 2025 (2.23 to 2.27), as far as the catalogue has them; NVIDIA's data
// sheets (multiprocessors); CUDA C++ Programming Guide, compute capabilities (shared memory)
inline constexpr std::array kGpuGenerations = {
    GpuGeneration{0, "nccl-2.3", 56, 49152},     GpuGeneration{70, "nccl-2.3", 80, 98304},
    GpuGeneration{80, "nccl-2.8", 108, 166912},  GpuGeneration{89, "nccl-2.18", 108, 166912},
    GpuGeneration{90, "nccl-2.18", 132, 232448}, GpuGeneration{100, "nccl-2.27", 148, 232448}};

/// @param sm  compute capability x 10
inline const GpuGeneration& gpu_generation(int sm) {
  const GpuGeneration* found = kGpuGenerations.data();
  for (const GpuGeneration& one : kGpuGenerations)
    if (sm >= one.sm) found = &one;
  return *found;
}

/// Of the largest GPU of a generation of NVLink, at the generation's own rate; 0 links where no GPU of it is listed.
/// @returns nothing for an unknown generation
inline std::optional<NvlinkType> nvlink_of_generation(int generation) {
  const CableKind* cable = cable_kind_of(CableFamily::kAccelerator, generation);
  if (!cable) return std::nullopt;
  const auto most =
      detail::largest_nvlink([generation](const GpuModel& model) { return model.nvlink_generation == generation; });
  return NvlinkType{generation, {cable->rate_Bps}, most ? most->links : 0};
}

/// The newest generation listed: a machine is described though its GPU is newer than this table.
inline NvlinkType newest_nvlink() {
  NvlinkType newest;
  for (const CableKind& row : kCableKinds)
    if (row.family == CableFamily::kAccelerator && row.generation > newest.generation)
      newest = *nvlink_of_generation(row.generation);
  return newest;
}

/// @param name  as nvidia-smi or CUDA print it ("NVIDIA H200", "Tesla V100-SXM2-16GB"), only the model ("H200"), or
///              glued ("RTX4090", "H100SXM5")
/// @returns nothing for a model not listed here
std::optional<GpuModel> find_gpu_model(const std::string& name);

/// Whether both are of one listed model: "H100" and "NVIDIA H100 80GB HBM3", but not "NVIDIA H100 PCIe", whose links
/// are others.
bool same_gpu_model(const std::string& one, const std::string& other);

/// Whether a GPU is meant by a name: one of the same model, or words of its own name. "H100" means "NVIDIA H100 PCIe"
/// too, "H100 SXM5" does not.
bool means_gpu(const std::string& name, const std::string& gpu);

/// Whether a name holds all words of a model, in their order.
bool names_model(const std::string& name, const GpuModel& model);

}  // namespace linkcast
