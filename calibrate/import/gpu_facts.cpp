#include "calibrate/import/gpu_facts.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <map>
#include <set>
#include <utility>

#include "sim/records/topology_writer.hpp"

namespace linkcast::topology_import {
namespace {

// GB/s that nvidia-smi nvlink -s prints for one link.
// source: 26.562 by the H200 that linkcast-bench measured; the others as public logs of P100, V100, A100, RTX 3090 and
// B200 show them, not seen by this project
constexpr std::array kShown = {std::pair(1, 19.531), std::pair(2, 25.781), std::pair(3, 25.781), std::pair(3, 25.0),
                               std::pair(3, 14.062), std::pair(4, 26.562), std::pair(5, 53.125)};

}  // namespace

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

namespace {

std::string gpu_id(std::size_t index) { return fmt::format("gpu{}", index); }

/// NVLink of a generation, at the rate of this compute capability if that has it; how many links is not known.
NvlinkType type_of_generation(const TopologyRequest& request, int generation, int sm) {
  auto type = nvlink_of(sm);
  if (!type || type->generation != generation) type = nvlink_of_generation(generation);
  if (!type)
    request.fail("nvlink", fmt::format("no NVLink of generation {} is known: {}", generation,
                                       known_generations(CableFamily::kAccelerator)));
  type->links = 0;
  return *type;
}

/// Whether a file's name of a model is what the option calls it: "AMD Instinct MI250X/MI250" is "MI250".
bool named_alike(const std::string& file, const std::string& option) {
  const auto model = find_gpu_model(option);
  return same_gpu_model(file, option) || (model && is_amd_model(*model) && names_model(file, *model));
}

/// Models of lists and option into `models`. @throws InputError  if two of them name different ones
void name_models(const TopologyRequest& request, GpuQuestion& question, const std::vector<SmiList>& lists) {
  auto& models = question.models;
  for (const SmiList& list : lists) {
    if (list.gpus.size() != models.size())
      throw InputError(
          fmt::format("{}: lists {} GPUs, {} has {}", list.file, list.gpus.size(), question.file, models.size()));
    for (std::size_t i = 0; i < models.size(); ++i) {
      if (!models[i].empty() && models[i] != list.gpus[i].model)
        throw InputError(list.file + ": " + gpu_id(i) + " is '" + list.gpus[i].model + "', elsewhere '" + models[i] +
                         "'");
      models[i] = list.gpus[i].model;
    }
  }
  const auto named = request.option("gpu");
  if (!named) return;
  for (std::string& model : models) {
    if (named_alike(model, *named)) continue;
    if (find_gpu_model(model)) request.fail("gpu", "the files name the GPUs: '" + model + "'");
    model = *named;
  }
}

class Resolver {
 public:
  Resolver(const TopologyRequest& request, const GpuQuestion& question, const std::vector<SmiList>& lists)
      : request_(request), question_(question), lists_(lists), pcie_(request.pcie()) {}

  GpuFacts resolve(std::size_t index) const {
    GpuFacts facts;
    facts.model = question_.models[index];
    const auto known = find_gpu_model(facts.model);
    facts.sm = sm_of(index, known);
    if (known) facts.nvswitch = known->nvswitch;
    resolve_links(index, known, facts);
    if (question_.amd && facts.model.find("AMD") == std::string::npos && !known)  // the record's only word of the maker
      facts.model = facts.model.empty() ? "AMD GPU" : "AMD " + facts.model;
    if (pcie_) {
      facts.pcie = pcie_;
      facts.pcie_source = "as option pcie says";
    } else if (known && known->pcie_generation > 0) {
      facts.pcie = PcieLink{known->pcie_generation, 16};
      facts.pcie_source = "assumed: " + facts.pcie->text() + ", the most that " + facts.model + " can do";
    }
    return facts;
  }

 private:
  int sm_of(std::size_t index, const std::optional<GpuModel>& known) const {
    const auto option = request_.number("sm");
    const std::string& model = question_.models[index];
    if (known && option && known->sm != *option) request_.fail("sm", fmt::format("'{}' has {}", model, known->sm));
    if (known && is_amd_model(*known) != question_.amd)
      throw InputError(question_.file + ": its GPUs are of " + (question_.amd ? "AMD" : "NVIDIA") + ", and '" + model +
                       "' is not: name their model with option gpu");
    if (known) return known->sm;
    if (option) return *option;
    if (question_.amd)
      throw InputError(question_.file + ": " +
                       (model.empty() ? "does not say which GPUs these are"
                                      : gpu_id(index) + " is '" + model + "', a model not known here") +
                       ": add option gpu=MODEL, one of " + amd_model_names() +
                       ", or option sm=NN of another one, its gfx number without the last digit (gfx90a: 90)");
    if (model.empty())
      throw InputError(question_.file +
                       ": does not say which GPUs these are: add option gpu=MODEL, e.g. gpu=H100, or a "
                       "file with the output of nvidia-smi -L");
    throw InputError(question_.file + ": " + gpu_id(index) + " is '" + model +
                     "', a model not known here: add option sm=NN, its compute capability x 10");
  }
  void resolve_links(std::size_t index, const std::optional<GpuModel>& known, GpuFacts& facts) const;
  void check_rates(std::size_t index, const GpuFacts& facts) const;

  const TopologyRequest& request_;
  const GpuQuestion& question_;
  const std::vector<SmiList>& lists_;
  std::optional<PcieLink> pcie_;
};

void Resolver::resolve_links(std::size_t index, const std::optional<GpuModel>& known, GpuFacts& facts) const {
  int shown = 0;
  bool needed = !question_.nvlinks.empty() && question_.nvlinks[index];
  for (const SmiList& list : lists_) {
    if (!list.has_links) continue;
    const auto& links = list.gpus[index].link_GBps;
    facts.active_links = static_cast<int>(links.size());
    needed = needed || !links.empty();
    if (!links.empty()) shown = nvlink_generation_of(links.front());
  }
  const auto option = request_.number("nvlink");
  if (known && known->nvlinks > 0) {
    facts.nvlink = nvlink_of(known->sm);
    facts.nvlink->links = known->nvlinks;
    facts.nvlink_source = "of " + facts.model;
    if (option && *option != facts.nvlink->generation)
      request_.fail("nvlink", fmt::format("'{}' has NVLink {}", facts.model, facts.nvlink->generation));
  } else if (known && needed) {
    throw InputError(question_.file + ": " + gpu_id(index) + " has NVLinks, but '" + facts.model + "' has none");
  } else if (option) {
    facts.nvlink = type_of_generation(request_, *option, facts.sm);
    facts.nvlink_source = "generation as option nvlink says";
  } else if (shown > 0) {
    facts.nvlink = type_of_generation(request_, shown, facts.sm);
    facts.nvlink_source = "generation from the rate that nvidia-smi nvlink -s shows";
  } else if (needed && nvlink_of(facts.sm)) {
    facts.nvlink = type_of_generation(request_, nvlink_of(facts.sm)->generation, facts.sm);
    facts.nvlink_source = "generation of the compute capability";
  } else if (needed) {
    throw InputError(question_.file + ": " + gpu_id(index) + " has NVLinks of unknown generation: add option nvlink=N" +
                     (facts.model.empty() ? " or option gpu=MODEL" : ""));
  }
  check_rates(index, facts);
}

void Resolver::check_rates(std::size_t index, const GpuFacts& facts) const {
  for (const SmiList& list : lists_)
    for (const double shown : list.gpus[index].link_GBps) {
      if (!facts.nvlink || !shows_as(*facts.nvlink, shown))
        throw InputError(list.file + ": " + gpu_id(index) + ": " + rate_text({shown * 1e9}) + " is no rate of " +
                         (facts.nvlink
                              ? fmt::format("NVLink {}, {}", facts.nvlink->generation, rate_text(facts.nvlink->rate))
                              : "a GPU without NVLink"));
    }
}

}  // namespace

std::vector<GpuFacts> resolve_gpus(const TopologyRequest& request, GpuQuestion question,
                                   const std::vector<SmiList>& lists) {
  name_models(request, question, lists);
  const Resolver resolver(request, question, lists);
  std::vector<GpuFacts> facts;
  for (std::size_t i = 0; i < question.models.size(); ++i) facts.push_back(resolver.resolve(i));
  for (const SmiList& list : lists)
    for (std::size_t i = 0; i < facts.size(); ++i) {
      const std::string& uuid = list.gpus[i].uuid;
      if (!uuid.empty() && !facts[i].uuid.empty() && facts[i].uuid != uuid)
        throw InputError(list.file + ": " + gpu_id(i) + " has UUID " + uuid + ", elsewhere " + facts[i].uuid);
      if (!uuid.empty()) facts[i].uuid = uuid;
    }
  return facts;
}

std::string sources_of(const std::vector<SmiList>& lists) {
  std::string text;
  for (const SmiList& list : lists) text += "; " + list.command;
  return text;
}

void add_gpus(TopologyWriter& writer, const std::vector<GpuFacts>& gpus) {
  const auto distinct = [&](auto member) {  // people paste lists with every UUID made the same
    std::set<std::string> seen;
    return std::all_of(gpus.begin(), gpus.end(), [&](const GpuFacts& gpu) { return seen.insert(gpu.*member).second; });
  };
  const bool uuids = distinct(&GpuFacts::uuid), bus_ids = distinct(&GpuFacts::bus_id);
  for (std::size_t i = 0; i < gpus.size(); ++i)
    writer.gpu(static_cast<int>(i), gpus[i].model, gpus[i].sm, uuids ? gpus[i].uuid : "",
               bus_ids ? gpus[i].bus_id : "");
}

void add_cpus(TopologyWriter& writer, const std::vector<CpuPart>& cpus) {
  for (const CpuPart& cpu : cpus) writer.cpu(cpu.id, cpu.model, cpu.vendor);
}

std::string vendor_of_cpuid(const std::string& said) {
  static const std::map<std::string, std::string> kVendors{
      {"GenuineIntel", "intel"}, {"AuthenticAMD", "amd"}, {"ARM", "arm"}};
  const auto known = kVendors.find(said);
  return known == kVendors.end() ? "" : known->second;
}

void join_cpus(TopologyWriter& writer, const std::vector<CpuPart>& cpus) {
  for (std::size_t a = 0; a < cpus.size(); ++a)
    for (std::size_t b = a + 1; b < cpus.size(); ++b) {
      const CpuPart& cpu = cpus[a];
      static const std::set<std::string> kKnown{"intel", "amd", "ibm"};
      const bool known = kKnown.count(cpu.vendor) > 0;
      const SocketLink link =
          cpu.link_kind.empty() ? socket_link(cpu.vendor) : SocketLink{cpu.link_kind, cpu.link_rate};
      writer.cable(cpu.id, cpus[b].id, link.kind, 1, link.rate,
                   known ? "assumed: kind and rate from the CPU's maker and family, one link"
                   : cpu.vendor == "arm" && !cpu.link_kind.empty()
                       ? "assumed: NVLink from Grace to Grace, at its rate on alps"
                       : "assumed: upi stands for whatever joins these CPUs, one link");
    }
}

std::string title_of(const std::vector<GpuFacts>& gpus) {
  const GpuFacts& first = gpus.front();
  const auto all = [&](auto member) {
    return std::all_of(gpus.begin(), gpus.end(), [&](const GpuFacts& gpu) { return gpu.*member == first.*member; });
  };
  const std::string count = std::to_string(gpus.size());
  if (!first.model.empty() && all(&GpuFacts::model)) return count + " x " + first.model;
  if (all(&GpuFacts::sm))
    return fmt::format("{} GPUs of compute capability {}.{}", count, first.sm / 10, first.sm % 10);
  return count + " GPUs";
}

}  // namespace linkcast::topology_import
