#pragma once
// A machine that nobody measured: every parameter is another machine's, at the share of the nominal rate that was
// measured there, or is left to what data sheets say.
#include <map>
#include <string>
#include <vector>

#include "sim/machine/topology.hpp"
#include "sim/records/calibration.hpp"

namespace linkcast::lending {

struct Lender {
  Calibration calibration;
  Topology topology;  ///< of the same machine
};

/// Whether a machine found this parameter itself.
inline bool own(const Parameter& parameter) { return !parameter.provenance.starts_with("inherited"); }

/// Parameters of a machine from others, best first, with errors that are at least those between machines of different
/// kinds.
std::map<std::string, Parameter> lend(const Topology& borrower, const std::vector<Lender>& lenders);

}  // namespace linkcast::lending
