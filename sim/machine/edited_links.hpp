#pragma once
// Cables and fabrics under what-if edits. Factors on single cables become fitted parameters of single cables.
#include <map>
#include <string>
#include <vector>

#include "sim/machine/edit.hpp"
#include "sim/machine/topology.hpp"
#include "sim/records/calibration.hpp"

namespace linkcast {

/// Removes the parameters of cables, kinds and links that the topology no longer has.
void drop_orphans(const Topology& topology, Calibration& calibration);

/// Standard error at least as wide as that of a rate taken over from another machine.
void widen(Parameter& parameter);

/// "nvlink2@gpu0-gpu1": subject of the parameters of one cable as built. Planes of one NVSwitch group share theirs.
std::string fitted_subject(const Topology& topology, const Cable& cable);

/// Per cable of the topology as built: rates of `factor` times as much.
struct RateFactors {
  std::vector<double> factor;
  std::vector<char> wider;  ///< scaling is an assumption: less sure than the fit was
};

/// Fitted rates in proportion. Planes of one NVSwitch group carry equal stripes: the slowest sets the pace.
void scale_rates(const Topology& topology, const RateFactors& factors, Calibration& calibration);

/// Links are named by planes of switches ("gpu0->baseboard0"), cables by their switches: an edit that names a plane, as
/// those of its switches; any other as it is. Links that are removed are taken from one switch after the other.
/// @throws InputError  as many links are not there
std::vector<Edit> edits_of_plane(const Edit& edit, const Topology& wiring);

/// Replaces the fabric object. Keys that are not given stay where the generator stays; links stay where they are named
/// alike. What messages between nodes attain goes with the nominal rate of a node's port.
/// @throws InputError  a key that leads nowhere
void edit_fabric(const Edit& edit, Topology& topology, Calibration& calibration, std::vector<std::string>& notes);
/// Says of a fabric, or of a class of its links, that an edit assumes it.
void set_source(const Edit& edit, Json& part);
/// The class of links of a node's port; null if there is none.
Json port_of(const Json& fabric);
/// Nominal rate of a class of links; 0 if it cannot be read: building the fabric says what is wrong.
double rate_of(const Json& links);
/// "12500000000 B/s": every digit of a rate.
std::string exact(double rate_Bps);
/// Edit "scale KIND:FACTOR" on links between nodes; what messages attain goes with the rate of a node's port.
/// @returns false if no link is of the kind
bool scale_fabric(const Edit& edit, Topology& topology, Calibration& calibration);
/// "fabric GENERATOR:links.CLASS.bandwidth=RATE" for a kind of links between nodes; "" if the fabric has none of it.
std::string fabric_edit_for(const std::string& kind, const Topology& topology);

}  // namespace linkcast
