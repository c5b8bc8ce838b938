// Links of an InfraGraph file as cables: kinds from names, numbers and rates from the GPU's model where nothing is
// said.
#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <cmath>

#include "calibrate/import/amd_gpus.hpp"
#include "calibrate/import/infragraph_graph.hpp"
#include "sim/base/regex.hpp"
#include "sim/machine/topology.hpp"
#include "sim/records/gpu_models.hpp"

namespace linkcast::infragraph {
namespace {

using topology_import::PcieLink;
using topology_import::TopologyRequest;

constexpr int kLanes = 16;  // of a GPU or adapter, where nothing says

std::string words(const Link& link) {
  std::string text = link.name + " " + link.description;
  std::transform(text.begin(), text.end(), text.begin(), [](unsigned char c) { return std::tolower(c); });
  return text;
}

[[noreturn]] void refuse(const Device& device, const Link& link, const std::string& what) {
  throw InputError(device.file, link.pointer, "link '" + link.name + "': " + what);
}

/// First group of a pattern in the words of a link, as a number; 0 without a match.
int number_in(const std::string& text, const char* pattern) {
  const Match match = Regex(pattern).find(text);
  return match ? std::stoi(match[1]) : 0;
}

/// A kind in full; of those of several generations with its number.
bool is_kind(const std::string& text) {
  const CableKind* row = find_cable_kind(text);
  return row && row->family != CableFamily::kNetwork && (!row->open() || cable_generation(text) > 0);
}

CableFacts one_link(std::string_view kind) { return {std::string(kind), 1, {find_cable_kind(kind)->rate_Bps}, ""}; }
CableFacts one_link(const SocketLink& socket) { return {socket.kind, 1, socket.rate, ""}; }

/// Names that linkcast's own export writes: "2 x nvlink2", "pcie3", "nvlink2 (2)".
std::optional<CableFacts> own_name(const Link& link) {
  static const Regex pattern("(?:([1-9][0-9]{0,2}) x )?([a-z0-9_]+)(?: \\([0-9]+\\))?");
  Match match;
  if (!link.bytes_per_s || !(match = pattern.whole(link.name)) || !is_kind(match[2])) return std::nullopt;
  const int count = match.has(1) ? std::stoi(match[1]) : 1;
  return CableFacts{match[2], count, {*link.bytes_per_s / count}, ""};
}

/// How many NVLinks an edge stands for that says nothing: the GPU's model has so many on all its edges.
void number_of_model(const Ends& ends, CableFacts& cable) {
  const int links = ends.gpu_links, edges = ends.gpu_edges;
  cable.note = "assumed: one link at its nominal rate, the file gives none";
  if (ends.trunk > 0) {
    cable.rate.si *= ends.trunk;
    cable.note = fmt::format(
        "assumed: as fast as {:.4g} links, those of the GPUs on its switch for each edge to others", ends.trunk);
  } else if (edges == 0 || links <= edges) {
    return;
  } else if (links % edges == 0 || ends.switched) {
    cable.count = links / edges + (ends.gpu_edge < links % edges ? 1 : 0);
    cable.note = fmt::format("assumed: {} links, of the {} of the GPU's model on its {} edges, at their nominal rate",
                             cable.count, links, edges);
  } else {
    cable.note += fmt::format("; the GPU's model has {} for {} edges", links, edges);
  }
}

CableFacts nvlink(const Device& device, const Link& link, const std::string& text, const Ends& ends,
                  const TopologyRequest& request) {
  const auto type = nvlink_of(ends.sm);
  const int named = number_in(text, "nv-?link[ _-]?(?:gen)?[ _-]?([1-9])");
  const int generation = request.number("nvlink").value_or(named > 0 ? named : type ? type->generation : 0);
  if (generation == 0) refuse(device, link, "does not say which NVLink this is: add option nvlink=GENERATION");
  const auto of_generation = nvlink_of_generation(generation);
  if (!of_generation)
    refuse(device, link, "NVLink is known of generation " + known_generations(CableFamily::kAccelerator));
  const bool of_gpu = type && type->generation == generation;
  const double nominal = (of_gpu ? type : of_generation)->rate.si;
  CableFacts cable{of_generation->kind(), 1, {nominal}, ""};
  if (!link.bytes_per_s) {
    number_of_model(ends, cable);
    if (named > 0 && type && type->generation != named && generation == named)
      cable.note +=
          fmt::format("; assumed: NVLink {}, as the file says, though {} has {}", named, ends.gpu, type->generation);
    if (text.find("c2c") != std::string::npos)
      cable.note += "; assumed: NVLink of the GPU, though the file says C2C, which leads to CPUs";
    return cable;
  }
  const double links = *link.bytes_per_s / nominal, whole = std::round(links);
  if (whole >= 1 && std::abs(links - whole) < 1e-6) {  // source: rates are decimal fractions of GB/s
    cable.count = static_cast<int>(whole);
    if (cable.count > 1) cable.note = "assumed: so many links, from the rate of all together";
  } else {
    cable.rate.si = *link.bytes_per_s;
    cable.note = "assumed: one link";
  }
  return cable;
}

CableFacts pcie(const Device& device, const Link& link, const std::string& text, const Ends& ends,
                const TopologyRequest& request) {
  const auto told = request.pcie();
  PcieLink port{number_in(text, "(?:pcie|pci express|\\bgen)[ _-]*(?:gen)?[ _-]*([1-9])(?:[^0-9]|$)"),
                number_in(text, "\\bx([1-9][0-9]?)\\b")};
  if (link.transfers_GT)
    for (int g = 1; pcie_lane(g); ++g)
      if (*link.transfers_GT == pcie_transfers_GT(g)) port.generation = g;
  if (!pcie_lane(port.generation)) port.generation = 0;
  std::string note;
  if (port.generation == 0 && told) port = *told;
  if (port.generation == 0 && ends.pcie > 0) {
    port.generation = ends.pcie;
    note = fmt::format("assumed: PCIe {}, the generation of the GPU's model", ends.pcie);
  }
  if (port.generation == 0) refuse(device, link, "does not say which PCIe this is: add option pcie=4x16");
  if (port.width == 0) {
    port.width = told ? told->width : kLanes;
    if (!told && !link.bytes_per_s) note += fmt::format("{}{} lanes", note.empty() ? "assumed: " : ", ", port.width);
  }
  const BytesPerSecond rate = link.bytes_per_s ? BytesPerSecond{*link.bytes_per_s} : port.rate();
  return {port.kind(), 1, rate, note};
}

/// Kinds that their name alone tells, with the nominal rate of its links where the file gives none.
std::optional<CableFacts> named(const std::string& text, const Ends& ends) {
  const auto has = [&](const char* pattern) { return bool{Regex(pattern).find(text)}; };
  if (has("c2c") && (ends.a_cpu || !ends.a_gpu)) {  // a C2C from GPU to switch or GPU is its NVLink
    CableFacts cable = one_link("c2c");
    if (ends.a_gpu && ends.chip_Bps > 0) cable.rate.si = ends.chip_Bps;
    return cable;
  }
  if (has("\\bqpi\\b")) return one_link("qpi");
  if (has("\\bupi\\b|ultra path")) return one_link(socket_link("intel"));
  if (has("x-?bus")) return one_link(socket_link("ibm"));
  if (!has("infinity|xgmi")) return std::nullopt;
  if (ends.cpus) return one_link(socket_link("amd"));
  if (ends.a_cpu) return one_link("infinity_fabric_host");
  const auto links = topology_import::infinity_fabric_of(ends.sm, ends.gpu);
  return CableFacts{links.kind, links.a_pair, links.rate, ""};
}

}  // namespace

bool is_accelerator_link(const Link& link) {
  return bool{Regex("nv-?link|nvswitch|c2c|xgmi|infinity").find(words(link))};
}

CableFacts cable_of(const Device& device, const Link& link, const Ends& ends, const TopologyRequest& request) {
  if (auto own = own_name(link)) return *own;
  const std::string text = words(link);
  std::optional<CableFacts> cable = named(text, ends);
  const bool nv{Regex("nv-?link|c2c").find(text)};
  if (!cable && nv && ends.cpus) refuse(device, link, "NVLink between CPUs: call it 'nvlink_cpu' and give its rate");
  if (!cable && nv) return nvlink(device, link, text, ends, request);
  if (!cable && text.find("pci") != std::string::npos) return pcie(device, link, text, ends, request);
  if (!cable && ends.cpus) {
    const SocketLink socket = socket_link(ends.vendor);
    cable = CableFacts{socket.kind, 1, socket.rate, "assumed: " + socket.kind + " from the CPU's maker, one link"};
  }
  if (!cable)
    refuse(device, link,
           "neither name nor description says what it is: one of " + known_cable_kinds() + ", as in '2 x nvlink2'");
  if (link.bytes_per_s)
    cable->rate.si = *link.bytes_per_s / cable->count;
  else if (cable->note.empty())
    cable->note = cable->count == 1
                      ? "assumed: one link at its nominal rate, the file gives none"
                      : fmt::format("assumed: {} links of the GPU's model at their nominal rate", cable->count);
  return *cable;
}

}  // namespace linkcast::infragraph
