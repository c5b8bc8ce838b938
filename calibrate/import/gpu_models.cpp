#include "calibrate/import/gpu_models.hpp"

#include <array>
#include <cctype>
#include <cmath>
#include <utility>

namespace linkcast::topology_import {
namespace {

struct Row {
  const char* words;  ///< of the name; the first row that fits counts
  GpuModel model;
};

// source: NVIDIA datasheets of these products (PCIe, links), the CUDA GPUs page (compute capability) and the
// whitepapers of their generations. NVSwitch: assumed impossible for cards, for SXM2 boards and for NVLink 1.
constexpr std::array kModels = {
    Row{"K80", {37, 0, 3, false}},         Row{"P100 PCIE", {60, 0, 3, false}},
    Row{"P100", {60, 4, 3, false}},        Row{"P40", {61, 0, 3, false}},
    Row{"V100 PCIE", {70, 0, 3, false}},   Row{"V100 SXM2", {70, 6, 3, false}},
    Row{"V100", {70, 6, 3, true}},         Row{"T4", {75, 0, 3, false}},
    Row{"RTX 2080 Ti", {75, 2, 3, false}}, Row{"RTX 2080", {75, 1, 3, false}},
    Row{"A100 PCIE", {80, 12, 4, false}},  Row{"A100 80GB PCIE", {80, 12, 4, false}},
    Row{"A100", {80, 12, 4, true}},        Row{"A800", {80, 8, 4, true}},
    Row{"A30", {80, 4, 4, false}},         Row{"A10", {86, 0, 4, false}},
    Row{"A40", {86, 4, 4, false}},         Row{"A6000", {86, 4, 4, false}},
    Row{"RTX 3090", {86, 4, 4, false}},    Row{"L4", {89, 0, 4, false}},
    Row{"L40", {89, 0, 4, false}},         Row{"L40S", {89, 0, 4, false}},
    Row{"RTX 4090", {89, 0, 4, false}},    Row{"H100 PCIE", {90, 12, 5, false}},
    Row{"H100 NVL", {90, 12, 5, false}},   Row{"H100", {90, 18, 5, true}},
    Row{"H200", {90, 18, 5, true}},        Row{"GH200", {90, 18, 5, true}},
    Row{"H800", {90, 8, 5, true}},         Row{"H20", {90, 18, 5, true}},
    Row{"B200", {100, 18, 5, true}},       Row{"GB200", {100, 18, 5, true}},
};

/// Upper case, words of letters and digits with one blank before and after each: " TESLA V100 SXM2 16GB ".
std::string words_of(const std::string& text) {
  std::string words = " ";
  for (const char c : text)
    if (std::isalnum(static_cast<unsigned char>(c)))
      words += static_cast<char>(std::toupper(static_cast<unsigned char>(c)));
    else if (words.back() != ' ')
      words += ' ';
  return words.back() == ' ' ? words : words + " ";
}

// GB/s that nvidia-smi nvlink -s prints for one link.
// source: 26.562 by the H200 that linkcast-bench measured; the others as public logs of P100, V100, A100, RTX 3090 and
// B200 show them, not seen by this project
constexpr std::array kShown = {std::pair(1, 19.531), std::pair(2, 25.781), std::pair(3, 25.781), std::pair(3, 25.0),
                               std::pair(3, 14.062), std::pair(4, 26.562), std::pair(5, 53.125)};

}  // namespace

std::optional<GpuModel> find_gpu_model(const std::string& name) {
  const std::string words = words_of(name);
  for (const Row& row : kModels)
    if (words.find(words_of(row.words)) != std::string::npos) return row.model;
  return std::nullopt;
}

int nvlink_generation_of(double shown_GBps) {
  int generation = 0;
  for (const auto& [candidate, shown] : kShown) {
    if (std::abs(shown - shown_GBps) > 0.002) continue;  // cut or rounded to three digits. source: nvidia-smi
    if (generation != 0) return 0;
    generation = candidate;
  }
  return generation;
}

bool shows_as(const NvlinkType& type, double shown_GBps) {
  const int only = nvlink_generation_of(shown_GBps);
  if (only != 0 && only != type.generation) return false;
  // source: the rates above lie between 2.4 % below (NVLink 1) and 6.3 % above (NVLink 4, 5) the nominal rate
  const double per_nominal = shown_GBps * 1e9 / type.rate.si;
  return per_nominal > 0.95 && per_nominal < 1.07;
}

}  // namespace linkcast::topology_import
