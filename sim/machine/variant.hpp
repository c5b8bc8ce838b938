#pragma once
// A machine that is another one but for a few things, schema variant/1. One with `changes` is what-if: its parameters
// are those of the base. One with `inherits` is a machine of its own, which nobody measured: a board with other GPUs,
// the instance of a cloud with another network; its parameters are inherited as those of any unmeasured machine.
#include <string>
#include <vector>

#include "sim/machine/platform.hpp"

namespace linkcast {

struct Variant {
  struct Change {
    std::string edit;    ///< sim/machine/edit.hpp
    std::string source;  ///< where this cable is known from; "assumed: ..." where it is not
  };
  std::string name, title, source;
  std::string base;                   ///< id of the platform that is another one here, or a file in the same folder
  std::vector<Change> changes;        ///< what-if: cables that are removed and added
  std::vector<std::string> inherits;  ///< calibrated machines, best first; none: what-if
  std::vector<std::string> also;      ///< other names that it goes by
  /// Keys of devices, of cables and of the topology that are others here, and patterns of whose they are.
  Json devices = Json::array(), cables = Json::array(), whole = Json::object();
  std::string network;  ///< that joins nodes, as edit "network" takes it; empty: that of the base
  std::string path, sha256;

  [[nodiscard]] bool is_own_machine() const { return !inherits.empty(); }
};

/// Reads schema "variant/1". @throws InputError
Variant read_variant(const std::string& path);
Variant read_variant(const Json& json, const std::string& path);
/// A what-if machine: the base with the changes; each changed cable carries the change's source behind its own.
/// @throws InputError  which change, what is wrong; also a change that needs rates that the base does not have
Platform variant_platform(const Variant& variant, const Platform& base);
/// Schema "topology/1" of a machine of its own. @param base  the same of the base
/// @throws InputError  a pattern that fits nothing, a wrong value
Json variant_wiring(const Variant& variant, const Json& base);
/// Costs that are assumed of the network of a machine of its own, with the notes that say so. Nothing without a
/// network.
void put_network(const Variant& variant, Topology& topology, Calibration& calibration);

}  // namespace linkcast
