#include "calibrate/import/amd_gpus.hpp"

#include <algorithm>
#include <cctype>
#include <map>

#include "sim/base/regex.hpp"
#include "sim/records/cable_kinds.hpp"
#include "sim/records/gpu_models.hpp"

namespace linkcast::topology_import {
namespace {

std::string words_of_model(const std::string& name) {
  const auto model = find_gpu_model(name);
  return model ? std::string(model->words) : "";
}

}  // namespace

GpuLinkType infinity_fabric_of(int sm, const std::string& model) {
  // One link, one direction. source: AMD Instinct data sheets: MI50, MI60 2 and MI100 3 links of 92 GB/s in both
  // directions together, MI210 3 of 100 GB/s, MI250X 100 GB/s, MI300X and MI325X 7 of 128 GB/s, MI350X and MI355X 7 of
  // 153.6 GB/s, each to one other GPU of the board; CDNA 3 white paper: 4 MI300A joined by 2 links of 128 GB/s each
  // pair
  constexpr double kVega_Bps = 46e9, kMi300_Bps = 64e9, kMi350_Bps = 76.8e9;
  const auto* row = std::find_if(kCableKinds.begin(), kCableKinds.end(),
                                 [](const CableKind& kind) { return kind.trait == CableTrait::kForwarded; });
  const std::string kind(row->name), words = words_of_model(model);
  static const std::map<std::string, int> kOlder = {{"MI50", 2}, {"MI60", 2}, {"MI100", 3}};
  if (const auto older = kOlder.find(words); older != kOlder.end()) return {kind, {kVega_Bps}, older->second};
  if (words == "MI210") return {kind, {row->rate_Bps}, 3};
  if (words == "MI300A") return {kind, {kMi300_Bps}, 8, 2};
  if (sm == 94) return {kind, {kMi300_Bps}, 7};
  if (sm == 95) return {kind, {kMi350_Bps}, 7};
  return {kind, {row->rate_Bps}, 0};
}

bool has_two_dies(const std::string& model) {
  const std::string words = words_of_model(model);
  return words == "MI250X" || words == "MI250" || words == "MI200 MCM OAM";
}

std::string amd_model_of_pci(const std::string& device) {
  // source: pci.ids, devices of vendor 1002
  static const std::map<std::string, std::string> kModels = {
      {"66a0", "MI60"},   {"66a1", "MI50"},         {"7388", "MI100"},  {"738c", "MI100"},  {"738e", "MI100"},
      {"7408", "MI250X"}, {"740c", "MI250X/MI250"}, {"740f", "MI210"},  {"7410", "MI210"},  {"74a0", "MI300A"},
      {"74a1", "MI300X"}, {"74a9", "MI300X"},       {"74b5", "MI300X"}, {"74bd", "MI300X"}, {"74a2", "MI308X"},
      {"74a8", "MI308X"}, {"74b6", "MI308X"},       {"74a5", "MI325X"}, {"74b9", "MI325X"}, {"75a0", "MI350X"},
      {"75b0", "MI350X"}, {"75a3", "MI355X"},       {"75b3", "MI355X"}};
  std::string id = device.starts_with("0x") || device.starts_with("0X") ? device.substr(2) : device;
  std::transform(id.begin(), id.end(), id.begin(), [](unsigned char c) { return std::tolower(c); });
  const auto known = kModels.find(id);
  return known == kModels.end() ? "" : "AMD Instinct " + known->second;
}

std::optional<int> sm_of_gfx(const std::string& text) {
  static const Regex number(R"((?:gfx)?(\d{1,2})(\d)([0-9a-f])(?::.*)?)");  // major, minor, stepping
  if (text == "910") return 90;  // source: HIP, hipDeviceProp_t::gcnArch of gfx90a before ROCm 6
  const Match match = number.whole(text);
  if (!match) return std::nullopt;
  return std::stoi(match[1]) * 10 + std::stoi(match[2]);
}

}  // namespace linkcast::topology_import
