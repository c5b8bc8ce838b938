#include "sim/machine/cpu_identity.hpp"

#include "sim/base/input_error.hpp"
#include "sim/base/regex.hpp"

namespace linkcast {
namespace {

/// Model number of family 6. @source  Intel's list of processor signatures; E5 and E7 by their suffix
int intel_model(const std::string& name) {
  const auto has = [&](const char* part) { return name.find(part) != std::string::npos; };
  static const Regex scalable("(Platinum|Gold|Silver|Bronze) [0-9]([0-9])[0-9]{2}");
  if (has("Emerald")) return 207;
  if (has("Sapphire")) return 143;
  if (has("Westmere")) return 44;
  if (has("E5-") || has("E7-")) return has("v4") ? 79 : has("v3") ? 63 : has("v2") ? 62 : 45;
  const Match found = scalable.find(name);
  if (!found) return 85;
  const int generation = std::stoi(found[2]);
  return generation <= 2 ? 85 : generation == 3 ? 106 : generation == 4 ? 143 : 207;
}

}  // namespace

CpuIdentity cpu_identity(const Device& cpu) {
  if (cpu.vendor == "ibm") return {{"arch", "ppc64"}};
  if (cpu.vendor == "arm") return {{"arch", "arm64"}};
  if (cpu.vendor != "intel" && cpu.vendor != "amd")
    throw InputError(cpu.id + ": NCCL's topology needs the CPU's vendor, which the topology does not say");
  const bool intel = cpu.vendor == "intel";
  std::string family = intel ? "6" : "175", model = intel ? std::to_string(intel_model(cpu.model)) : "1";
  if (const Match found = Regex("family ([0-9]+) model ([0-9]+)").find(cpu.model)) {
    family = found[1];
    model = found[2];
  }
  return {{"arch", "x86_64"},
          {"vendor", intel ? "GenuineIntel" : "AuthenticAMD"},
          {"familyid", family},
          {"modelid", model}};
}

}  // namespace linkcast
