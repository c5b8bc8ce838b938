#include "calibrate/import/topology_parts.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <set>

namespace linkcast::topology_import {

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

void join_cpus(TopologyWriter& writer, const std::vector<CpuPart>& cpus) {
  for (std::size_t a = 0; a < cpus.size(); ++a)
    for (std::size_t b = a + 1; b < cpus.size(); ++b) {
      const CpuPart& cpu = cpus[a];
      const bool known = cpu.vendor == "intel" || cpu.vendor == "amd" || cpu.vendor == "ibm";
      const SocketLink link =
          cpu.link_kind.empty() ? socket_link(cpu.vendor) : SocketLink{cpu.link_kind, cpu.link_rate};
      writer.cable(cpu.id, cpus[b].id, link.kind, 1, link.rate,
                   known ? "assumed: kind and rate from the CPU's maker and family, one link"
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
