#pragma once
// A replay as asked for: traces by name or file, a platform, placements.
#include <map>
#include <memory>
#include <optional>
#include <ostream>
#include <string>
#include <vector>

#include "sim/base/object_reader.hpp"
#include "sim/forecast/algorithm.hpp"
#include "sim/machine/machine.hpp"

namespace linkcast::replay {

class ReplayObserver;

/// One application of a replay.
struct ReplayPart {
  std::string trace;                             ///< a file, a shipped trace, or an application
  std::vector<int> gpus{};                       ///< of each rank; empty: the first ones that no part before has taken
  int ranks = 0;                                 ///< 0: as many as recorded
  std::map<std::string, std::string> options{};  ///< of the application
  std::shared_ptr<const std::string> text{};     ///< the whole trace, of which `trace` then is only the name
};

struct ReplayRequest {
  catalogue::MachinePtr machine;
  std::vector<ReplayPart> parts;
  std::string library{};                        ///< empty: the platform's default
  std::string library_topology{}, p2p_level{};  ///< query::library_topology_keys(); empty: none
  std::string network{};    ///< a kind of network_kinds(); empty: "node", or "cluster" of several nodes
  int nodes = 0;            ///< of the platform, on its fabric; 0: one node
  int gpus_per_node = 0;    ///< 0: all
  std::string transport{};  ///< of messages between nodes; empty: what the library would take
  /// Instead of the traces' own: CPU times are multiplied by it.
  std::optional<double> host_scale{};
  /// Instead of the traces' own: whether NVSwitches multicast and reduce, where machine and library have it.
  std::optional<bool> nvls{};
  /// A user's schedule, in the place of the library's choice for the collectives that it is for; null: none.
  std::shared_ptr<const Algorithm> own{};
  bool local = false;    ///< without all that is there only because ranks exchange something
  int repeat = 1;        ///< of the first part
  bool interval = true;  ///< two more runs, with the network at either end of its intervals
  bool utilisation = false;
  std::ostream* timeline = nullptr;
  ReplayObserver* watcher =
      nullptr;  ///< is told what happens; of the runs for the interval what is not beside the own one
};

/// A trace that comes through a pipe: it is read once, and its length is not known before its end. Empty if there is
/// none.
std::string piped_trace(const ReplayRequest& request);

/// Key options: {key: text or number}, as `--option key=value` on a command line; empty if there is none.
/// @throws InputError
std::map<std::string, std::string> read_part_options(ObjectReader& r);

/// Keys of a query of kind replay, see sim/replay/query/replay_query.cpp. @param machine  with the edits
/// @throws InputError
ReplayRequest read_replay_request(const catalogue::MachinePtr& machine, ObjectReader& r);

}  // namespace linkcast::replay
