#pragma once
// Calls that a host issues one behind the other to devices that take them in turn: when they are done.
#include <optional>

#include "sim/base/object_reader.hpp"
#include "sim/forecast/host_costs.hpp"
#include "sim/forecast/terms.hpp"
#include "sim/query/key.hpp"

namespace linkcast::launch {

/// n calls, then a wait for all of them (uncertainty::HostPart). One is the n-th part: for one call from rest the sum,
/// for many max(host, device).
struct Launching {
  Kind kind = Kind::kGraph;
  int calls = 1;
  HostTime host{}, wait{};
  std::string inherited_from{};  ///< machine whose host this is; empty: the machine's own

  [[nodiscard]] bool by_host() const { return launch::by_host(kind); }
  /// Seconds a call. @param device_s  that the devices take for one
  [[nodiscard]] double time_s(double device_s) const;
  /// Adds the host to the terms of the devices.
  void issue(uncertainty::Terms& terms) const;
  /// The devices wait for the host.
  [[nodiscard]] bool host_bound(double device_s) const { return by_host() && host.s > device_s; }
  /// What has to be said of an inherited host; empty where it matters little, or nothing.
  [[nodiscard]] std::string warning(const std::string& machine, double device_s) const;
};

/// launch, of these kinds. @param unset  what holds without it
query::Key launch_key(const std::vector<std::string>& kinds, const std::string& unset);
/// host_scale
query::Key host_scale_key();
/// @throws InputError  not above 0, or nobody issues the calls
std::optional<double> read_host_scale(ObjectReader& r, Kind kind);
/// launch, host_s, device_s
query::KeyTable launch_results();
void put_launch(Json& out, const Launching& launching, double device_s);

}  // namespace linkcast::launch
