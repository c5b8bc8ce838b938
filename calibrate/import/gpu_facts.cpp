#include "calibrate/import/gpu_facts.hpp"

#include <fmt/format.h>

#include "calibrate/import/gpu_models.hpp"
#include "sim/records/topology_writer.hpp"

namespace linkcast::topology_import {
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
    if (!model.empty()) request.fail("gpu", "the files name the GPUs: '" + model + "'");
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
    if (known && option && known->sm != *option)
      request_.fail("sm", fmt::format("'{}' has {}", question_.models[index], known->sm));
    if (known) return known->sm;
    if (option) return *option;
    const std::string& model = question_.models[index];
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
  bool needed = question_.nvlink_needed;
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

}  // namespace linkcast::topology_import
