#pragma once
// A replay as asked for: traces by name or file, a platform, placements; and its result as JSON.
#include <map>
#include <optional>
#include <ostream>
#include <string>
#include <vector>

#include "sim/catalogue/catalogue.hpp"
#include "sim/replay/observer.hpp"

namespace linkcast::replay {

/// One application of a replay.
struct ReplayPart {
  std::string trace;                             ///< a file, a shipped trace, or an application
  std::vector<int> gpus{};                       ///< of each rank; empty: the first ones that no part before has taken
  int ranks = 0;                                 ///< 0: as many as recorded
  std::map<std::string, std::string> options{};  ///< of the application
};

struct ReplayRequest {
  std::string platform;
  std::vector<ReplayPart> parts;
  std::string library{};    ///< empty: the platform's default
  std::string network{};    ///< a kind of network_kinds(); empty: "node", or "cluster" of several nodes
  int nodes = 0;            ///< of the platform, on its fabric; 0: one node
  int gpus_per_node = 0;    ///< 0: all
  std::string transport{};  ///< of messages between nodes; empty: what the library would take
  /// Instead of the traces' own: CPU times are multiplied by it.
  std::optional<double> host_scale{};
  bool local = false;    ///< without all that is there only because ranks exchange something
  int repeat = 1;        ///< of the first part
  bool interval = true;  ///< two more runs, with the network at either end of its intervals
  bool utilisation = false;
  std::ostream* timeline = nullptr;
  ReplayObserver* watcher = nullptr;  ///< is told what happens in the runs for the interval too
};

/// @param observers  are told what happens, besides
/// @returns  time_s, makespan_s, their 90 % interval time_low_s, time_high_s, step_time_s (median over steps; null
///           without markers), its interval step_time_low_s, step_time_high_s, steps_s,
///           exposed_communication_s (median over ranks), ranks [{rank, job, gpu, compute_s, communication_s,
///           exposed_s, waiting_s, idle_s}], links [{id, carried_B, utilisation}], critical_path {host_s, launch_s,
///           compute_s, copy_s, network_s}, bottleneck, events, jobs (of several; step times and
///           exposed communication above are those of the first), utilisation (if asked), warnings. Intervals are null
///           where a trace can be read only once.
/// @throws InputError  wrong trace, or one that the machine cannot run
Json replay(catalogue::Catalogue& catalogue, const ReplayRequest& request, std::vector<ReplayObserver*> observers = {});

}  // namespace linkcast::replay
