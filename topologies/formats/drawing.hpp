#pragma once
#include <string>

#include "sim/machine/topology.hpp"

namespace linkcast::exporters {

/// Graphviz text: rows by kind of device, cables with number, kind and rate.
std::string to_dot(const Topology& wiring);

/// The wiring as a picture, made without other programs and the same on every machine: NVSwitches above the GPUs, below
/// them PCIe switches and adapters, then CPUs. Cables between GPUs are arcs; the key names number, kind and rate.
std::string to_svg(const Topology& wiring);

}  // namespace linkcast::exporters
