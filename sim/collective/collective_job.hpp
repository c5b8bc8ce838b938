#pragma once
// One collective of one communicator as activities of a problem, and its times from the solution. Several may be
// prepared into the same problem: they start together and share its links.
#include <string>
#include <vector>

#include "sim/activities/transfer.hpp"
#include "sim/collective/collective_cost.hpp"
#include "sim/plugin/collective.hpp"
#include "sim/plugin/communicator.hpp"

namespace linkcast::collective {

/// What the library takes, whichever of its interfaces says so.
struct Taken {
  std::string algorithm = "ring", protocol;
  int blocks = 0;  ///< thread blocks in use
  double payload_share = 1;
};

/// source: NVIDIA/nccl-tests README, -n, --iters: 20 by default
inline constexpr int kUsualCalls = 20;

/// What is asked: an operation of a size by a communicator that a library has built.
struct Job {
  const Platform& platform;
  const Library& library;
  const Communicator& communicator;
  const Collective& op;
  std::string op_name;
  double size_B = 0;
  std::string algorithm{}, protocol{};  ///< empty, or forced
  bool nvls = false;                    ///< the machine offers multicast by NVSwitch
  int calls = kUsualCalls;              ///< made one behind the other; the time is that of one
  [[nodiscard]] int ranks() const { return static_cast<int>(communicator.gpus.size()); }
};

/// One collective as the library would run it.
struct Run {
  Taken taken;
  CollectiveCost cost;
  double latency_s = 0;                  ///< before and beside the bytes: base and hops of the first byte
  int steps = 1;                         ///< hops one after the other
  int most_blocks = 1;                   ///< thread blocks on the ring or tree that has most
  double busiest_B = 0;                  ///< payload on each hop of the ring or tree that carries most
  std::vector<int> activities{};         ///< its own, by their index in the problem
  std::vector<std::vector<Hop>> hops{};  ///< of each of them
  double flow_s = 0;                     ///< time of the bytes
  double stretch = 1;                    ///< of which this part is waiting: what the links and blocks take, times this
  std::vector<int> limited_by{};         ///< each of its activities; empty if the solver cannot tell
  [[nodiscard]] double time_s() const { return latency_s + flow_s; }
};

/// Thread blocks in use on distinct ring or tree number i of `distinct`: they go round all of them.
int blocks_on(int i, int distinct, int blocks);
/// What a chain's time grows by: once in a row of calls its last rank waits until each before it has passed on a whole
/// chunk of every block. @param hops  of the chain
double chain_fill(double size_B, int blocks, int hops, int calls);

/// Adds the collective's activities to the problem. Their bytes flow from the problem's beginning on: what comes before
/// them is `latency_s`.
/// @throws InputError  the library has no such operation or algorithm
Run prepare(const Job& job, activities::ProblemBuilder& builder);

/// The last of its activities' ends, and what limited each.
void read_times(const Solution& solution, Run& run);

/// Reads the collective's times from the solution of the problem that it was prepared into with nothing else in it,
/// and adds what its blocks wait for each other.
void finish(const Job& job, const Solution& solution, Run& run);

/// Both for a collective with nothing else going on.
Run run_alone(const Job& job, Solver& solver);

}  // namespace linkcast::collective
