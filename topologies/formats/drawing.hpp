#pragma once
#include <functional>
#include <string>
#include <vector>

#include "sim/machine/schedule.hpp"
#include "sim/machine/topology.hpp"

namespace linkcast::exporters {

/// Graphviz text: rows by kind of device, cables with number, kind and rate.
std::string to_dot(const Topology& wiring);

/// The wiring as a picture, made without other programs and the same on every machine: NVSwitches above the GPUs, below
/// them PCIe switches and adapters, then CPUs. Cables between GPUs are arcs; the key names number, kind and rate.
std::string to_svg(const Topology& wiring);

/// Links that a message of a schedule crosses.
enum class Medium { kPeerLink, kHostMemory, kNetwork };

/// Who runs a schedule.
struct ScheduleRanks {
  std::string title{};
  std::vector<std::string> names{};  ///< of the device of each rank
  std::function<Medium(int from, int to)> medium;
};

/// A schedule over time: a line downwards for each rank, round after round, an arrow for each message, as wide as its
/// share of the bytes; a round head where the receiver reduces.
/// @throws InputError  more messages than a picture shows
std::string to_svg(const Schedule& schedule, const ScheduleRanks& ranks);

/// The same as Graphviz text: an edge for each two ranks, with the rounds that it is used in.
std::string to_dot(const Schedule& schedule, const ScheduleRanks& ranks);

}  // namespace linkcast::exporters
