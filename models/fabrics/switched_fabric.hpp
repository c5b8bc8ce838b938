#pragma once
// What every fabric of switches has alike: each NIC has one cable to its switch, everything else is between switches.
#include "models/fabrics/parameters.hpp"
#include "sim/base/index.hpp"

namespace linkcast::fabrics {

/// What a turn makes of a cable, whose ends may change places.
struct Turned {
  int cable = 0;
  bool swapped = false;
};
/// Of cables between groups, each of which becomes the next: `each` for every pair of groups, from `first` on.
Turned turned_pair(const PairNumbers& groups, int count, int cable, int first, int each);

/// Cables are numbered from 0: cable e is that of endpoint e, then those between switches. Cable c is the links 2c
/// (from its first end to its second) and 2c + 1 (back). Class 0 is "host".
class SwitchedFabric : public Fabric {
 public:
  SwitchedFabric(const Placement& placement, std::vector<FabricLinkClass> classes, int switches, int switch_cables)
      : classes_(std::move(classes)), switches_(switches), switch_cables_(switch_cables) {
    for (int endpoint = 0; endpoint < placement.endpoints(); ++endpoint)
      switch_of_.push_back(placement.switch_of(endpoint));
  }

  [[nodiscard]] int endpoints() const override { return static_cast<int>(switch_of_.size()); }
  [[nodiscard]] int switches() const override { return switches_; }
  [[nodiscard]] int links() const override { return 2 * (endpoints() + switch_cables_); }
  [[nodiscard]] const std::vector<FabricLinkClass>& classes() const override { return classes_; }
  [[nodiscard]] FabricLink link(int id) const override;
  [[nodiscard]] std::string vertex_name(int vertex) const override;
  [[nodiscard]] int minimal_ways(int from, int to) const override;
  void minimal_way(int from, int to, int which, std::vector<int>& links) const override;
  [[nodiscard]] int detours(int from, int to) const override;
  void detour(int from, int to, int which, std::vector<int>& links) const override;
  [[nodiscard]] int distance(int from, int to) const override;
  [[nodiscard]] bool ways_of_switches() const final { return true; }
  [[nodiscard]] int turned_switch(int vertex) const final { return endpoints() + turned(vertex - endpoints()); }
  [[nodiscard]] int turned_link(int id) const final {
    const Turned cable = turned_cable(id / 2 - endpoints());
    return 2 * (endpoints() + cable.cable) + (id % 2 ^ (cable.swapped ? 1 : 0));
  }

 protected:
  // All of these speak of switches by number, from 0, and of cables between switches by number, from 0.
  [[nodiscard]] virtual FabricLink switch_cable(int cable) const = 0;
  [[nodiscard]] virtual std::string switch_name(int number) const = 0;
  /// `from` and `to` differ.
  [[nodiscard]] virtual int ways(int from, int to) const = 0;
  virtual void way(int from, int to, int which, std::vector<int>& links) const = 0;
  [[nodiscard]] virtual int far_ways(int /*from*/, int /*to*/) const { return 0; }
  virtual void far_way(int /*from*/, int /*to*/, int /*which*/, std::vector<int>& /*links*/) const {}
  /// Index into distances() of two different switches; 0 is the same switch.
  [[nodiscard]] virtual int switch_distance(int from, int to) const = 0;

  /// What a turn makes of a switch and of a cable; see Fabric::turns().
  [[nodiscard]] virtual int turned(int number) const { return number; }
  [[nodiscard]] virtual Turned turned_cable(int cable) const { return {cable}; }

  /// The link of a cable between switches, forward from its first end.
  [[nodiscard]] int link_of(int cable, bool forward) const { return 2 * (endpoints() + cable) + (forward ? 0 : 1); }

 private:
  [[nodiscard]] int switch_of(int endpoint) const { return switch_of_[at(endpoint)]; }

  std::vector<int> switch_of_;  ///< per endpoint
  std::vector<FabricLinkClass> classes_;
  int switches_, switch_cables_;
};

}  // namespace linkcast::fabrics
