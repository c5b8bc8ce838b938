#include "sim/plan/inside_path.hpp"

#include <algorithm>
#include <cmath>

#include "sim/base/index.hpp"
#include "sim/records/cable_kinds.hpp"
#include "sim/records/parameters.hpp"

namespace linkcast::activities {
namespace {

// What tells another process of the node that a message is there, and where, through memory of the host.
// source: as key::inside_startup, a message between two processes of a socket
constexpr double kTell_s = 0.7e-6;
// To issue a copy, and from its end to the return of the call that waits for it, where the machine's were not measured.
// source: models/params/hgx-h200.json, calls of copy, kernel and synchronise
constexpr double kIssue_s = 2e-6, kIssueKernel_s = 3.2e-6, kWait_s = 3.7e-6;
constexpr double kHostSpread = 0.5;  // source: hosts of one kind differ by 1.65 (docs/launch.md), others by more
// A core of the CPU loads what is in the memory of one GPU and stores it into that of another one.
// source: assumed, half a microsecond each, as an access over PCIe takes
constexpr double kAccess_s = 1e-6, kAccessSpread = 0.7;
// Its loads go one cache line after the other, of which a core has some ten under way. source: assumed, 64 bytes each
constexpr double kAccess_Bps = 1.3e9;
// source: paper 002 (SC24), section III-B: below it Cray MPICH copies without IPC unless told otherwise
constexpr double kAccessedUpTo_B = 4096;

double known(const Platform& node, const ParameterKey& key, double otherwise) {
  const Parameter* found = node.calibration().find(key);
  return found ? found->value : otherwise;
}

Regime copied(const Platform& node) {
  const Resolved& copy = node.transports().get("peer").regimes.front().startup;
  // A start-up that nobody measured is that of a copy as its host sees it.
  const double sum = kTell_s + copy.value + (copy.calibrated ? issue_and_wait_s(node, false) : 0);
  const double error = std::hypot(kHostSpread * (sum - copy.value), copy.rel_error * copy.value);
  return {kInfinity, {sum, copy.calibrated ? error / sum : kHostSpread, false, "assumed"}, false, std::nullopt};
}

}  // namespace

std::optional<CpuAccess> cpu_access(const Platform& node, int gpu) {
  for (const Cable& cable : node.topology().cables) {
    if (cable.a != gpu && cable.b != gpu) continue;
    const CableKind* kind = find_cable_kind(cable.kind);
    if (kind != nullptr && kind->maker == "amd" && is_accelerator_cable(cable.kind))
      return CpuAccess{kAccess_s, kAccess_Bps, kAccessedUpTo_B};
  }
  return std::nullopt;
}

IssueCost issue_cost(const Platform& node, bool kernel) {
  const ParameterKey call = key::launch_call(kernel ? "kernel" : "copy");
  return {known(node, call, kernel ? kIssueKernel_s : kIssue_s), node.calibration().find(call) != nullptr};
}

double host_spread() { return kHostSpread; }

double access_s() { return kAccess_s / 2; }  // to load or to store: kAccess_s holds both

double issue_and_wait_s(const Platform& node, bool kernel) {
  return issue_cost(node, kernel).time_s + known(node, key::launch_call("synchronise"), kWait_s);
}

InsidePath inside_path(const Platform& node, int from, int to) {
  InsidePath path{{"mpi_socket", {}}, false};
  const auto access = cpu_access(node, from);
  if (access && cpu_access(node, to)) {
    path.by_kernel = true;
    path.model.regimes.push_back({access->up_to_B,
                                  {kTell_s + access->start_s, kAccessSpread, false, "assumed"},
                                  false,
                                  Resolved{access->rate_Bps, 1, false, "assumed"}});
  }
  path.model.regimes.push_back(copied(node));
  return path;
}

}  // namespace linkcast::activities
