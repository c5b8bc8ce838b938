// What PCIe cables carry both ways at once, where copies between GPUs were measured one way only.
#include <set>

#include "calibrate/fit/fit_context.hpp"
#include "sim/records/cable_kinds.hpp"

namespace linkcast::fit {
namespace {

/// Share of both directions that one cable of a lender carries at once; 0 where it was not measured.
/// @param error  of the share, relative
double duplex_share(const Calibration& lender, const std::string& kind, double& error) {
  const Parameter* both = lender.find(key::cable_duplex(kind));
  const Parameter *up = lender.find(key::cable_to_host(kind)), *down = lender.find(key::cable_from_host(kind));
  if (!both || !up || !down || both->provenance.rfind("inherited", 0) == 0) return 0;
  error = both->stderr_ / both->value;
  return both->value / (up->value + down->value);
}

/// Of the first lender that measured it on a kind of the same family and generation.
void inherit_share(FitContext& context, const std::string& kind) {
  const CableKind* own = find_cable_kind(kind);
  const CableKind* usual = own ? cable_kind_of(own->family, cable_generation(kind)) : nullptr;
  for (const Calibration* lender : context.inherited)
    for (const std::string& other : {kind, std::string(usual ? usual->name : "")}) {
      double error = 0;
      const double share = duplex_share(*lender, other, error);
      if (share <= 0) continue;
      const Parameter& one_way = context.found.at(key::cable_bandwidth(kind).name);
      Parameter both = one_way;
      both.value = 2 * share * one_way.value;
      both.stderr_ = std::max(error, kOtherCopies) * both.value;
      both.provenance = "inherited:" + lender->name + ", the share of both directions of " +
                        parameter_subject(ParameterOf::kCable, other);
      context.found[key::cable_duplex(kind).name] = both;
      return;
    }
}

}  // namespace

void inherit_peer_duplex(FitContext& context) {
  std::set<std::string> kinds;
  for (const Cable& cable : context.wires->topology().cables)
    if (is_pcie_cable(cable.kind)) kinds.insert(cable.kind);
  for (const std::string& kind : kinds)
    if (context.has(key::cable_bandwidth(kind)) && !context.has(key::cable_duplex(kind))) inherit_share(context, kind);
}

}  // namespace linkcast::fit
