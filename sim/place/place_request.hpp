#pragma once
// Request of a scheduler: GPUs of one node for a job, or whole nodes of a machine, given what is busy and what the
// neighbours do.
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "sim/base/object_reader.hpp"
#include "sim/forecast/algorithm.hpp"
#include "sim/machine/catalogue.hpp"
#include "sim/place/named_nodes.hpp"

namespace linkcast::placement {

/// A collective over and over, or an application.
struct JobSpec {
  std::string op;                                ///< of a collective; empty: a trace
  double size_B = 0;                             ///< of the collective
  std::string trace;                             ///< file, shipped trace or application
  std::map<std::string, std::string> options{};  ///< of the application
  std::vector<double> parts_B{};                 ///< of a collective whose parts differ: Collective::parts_B()
  int sized_ranks = 0;                           ///< that sizes of parts were given for; 0: for any
  [[nodiscard]] bool is_trace() const { return op.empty(); }
  /// As written on a command line: "all_reduce:67108864B", or the trace.
  [[nodiscard]] std::string text() const;
};

/// Key job: "all_reduce:64MiB", "allgatherv:1MiB,2MiB", a trace, {op, size_B or sizes_B} or {trace, options}. @throws
/// InputError
JobSpec read_job(ObjectReader& r);

/// @throws InputError  sizes of parts were given for another number of ranks
void check_sizes(const JobSpec& job, int ranks, const ObjectReader& r);

/// A job that runs already.
struct Neighbour {
  JobSpec job;
  std::vector<int> gpus{}, nodes{};  ///< in rank order: on one node its GPUs, over nodes its nodes
};

enum class PlaceObjective { kTime, kNeighbours, kBoth };
const std::string& to_text(PlaceObjective objective);
/// Key objective; of time if there is none.
PlaceObjective read_objective(ObjectReader& r);

/// Nodes of a machine, of which a job gets some whole.
struct WholeNodes {
  int count = 0;                      ///< nodes of the machine
  int gpus_each = 0;                  ///< that the job uses of each node, the first ones
  std::vector<char> free{};           ///< per node of the fabric; neighbours' nodes are not
  std::optional<NamedNodes> named{};  ///< by what the resource manager calls them
};

struct PlaceRequest {
  catalogue::MachinePtr machine;           ///< edits included
  std::string library;                     ///< empty, of whole nodes: usual_library_across()
  std::shared_ptr<const Algorithm> own{};  ///< a user's schedule of the job's collectives; null: as the library chooses
  JobSpec job;
  int ranks = 0;
  std::vector<int> busy{};              ///< GPUs, ascending; neighbours' GPUs are among them
  std::optional<WholeNodes> whole{};    ///< nothing: GPUs of one node
  std::vector<Neighbour> neighbours{};  ///< over nodes their calls follow each other without a pause
  PlaceObjective objective = PlaceObjective::kTime;
  int top = 0;
  std::vector<std::string> warnings{};  ///< of the request itself, whatever is found
  [[nodiscard]] int nodes() const { return ranks / whole->gpus_each; }
  /// Key algorithm_file, for `job` and `ranks`. @throws InputError  it is not for the job
  void read_own(ObjectReader& r);
};

inline constexpr int kUsualTop = 10;

/// Jobs that run on a node already.
struct NodeUse {
  std::vector<int> busy{};  ///< ascending; neighbours' GPUs are among them
  std::vector<Neighbour> neighbours{};
};

/// Keys busy? [int or "gpu3"], with? [{job, gpus}]. @throws InputError
NodeUse read_node_use(const Platform& platform, ObjectReader& r);

/// Keys job (as read_job()), ranks, those of read_node_use(), objective? (time, neighbours, both), top?, library?,
/// algorithm_file?. With nodes (of the machine: the first ones of its fabric) or groups (node-groups/1: its nodes by
/// name, laid onto the fabric as NamedNodes does; nodes are then named everywhere) whole nodes: gpus_per_node? (all),
/// busy? [node numbers or "node3"], with? [{job, nodes}].
/// @throws InputError
PlaceRequest read_place_request(const catalogue::MachinePtr& machine, ObjectReader& r);

}  // namespace linkcast::placement
