#pragma once
// Algorithms of collectives, each one file of models/algorithms: routes over the channels of a communicator, whose
// bytes flow in steady state, or rounds of messages between ranks, or both. Nothing else knows one by its name.
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "sim/base/index.hpp"
#include "sim/forecast/collective_cost.hpp"
#include "sim/machine/registry.hpp"
#include "sim/machine/schedule.hpp"
#include "sim/plan/channel_route.hpp"
#include "sim/records/parameters.hpp"

namespace linkcast {

namespace collective {
struct CollectiveJob;
struct CollectivePlan;
}  // namespace collective

/// Operations that an algorithm runs by routes: none, those of rings and chains, or messages between pairs of ranks.
enum class Routes { kNone, kChannels, kPairs };

/// Hardware without which an algorithm does not run.
struct Needs {
  bool multicast = false;        ///< NVSwitches that reduce and multicast
  bool reducing_fabric = false;  ///< switches between nodes that reduce
};

/// An operation, a number of ranks, and the sizes ("size" of nccl-tests) from min_B on and below max_B.
struct OnlyCall {
  std::string operation{};
  int ranks = 0;
  double min_B = 0, max_B = kInfinity;
  /// "all_reduce of 8 GPUs from 1 MiB on, below 4 MiB"
  [[nodiscard]] std::string text() const;
  /// "is for all_reduce of 8 GPUs, not all_gather of 2"; empty: it is for these
  [[nodiscard]] std::string refusal(const std::string& wanted, int of_ranks) const;
  [[nodiscard]] bool takes(double size_B) const { return size_B >= min_B && size_B < max_B; }
  /// Of a call of another size: who runs it, and why.
  [[nodiscard]] std::string left_to_library(double size_B) const;
};
/// Why a user's schedule is not wanted, from what its file says first; empty: it is.
using CallRefusal = std::function<std::string(const OnlyCall&)>;

class Algorithm {
 public:
  Algorithm() = default;
  Algorithm(const Algorithm&) = delete;
  Algorithm& operator=(const Algorithm&) = delete;
  virtual ~Algorithm() = default;

  // Rounds of messages. `size` is the "size" column of nccl-tests, as in Collective; the root is rank 0.

  /// Operations that it has as rounds.
  [[nodiscard]] virtual std::vector<std::string> operations() const { return {}; }
  /// @param operation  one of operations(). @param ranks  at least 2
  [[nodiscard]] virtual Schedule schedule(const std::string& operation, int ranks) const;

  // Routes, for those whose routes() are not kNone.

  [[nodiscard]] virtual Routes routes() const { return Routes::kNone; }
  /// The only call that it is written for, as a user's schedule is; nothing: any.
  [[nodiscard]] virtual std::optional<OnlyCall> only_call() const { return std::nullopt; }
  /// Whether versions of libraries that have no cost model run it, whatever the size.
  [[nodiscard]] virtual bool without_cost_model() const { return false; }
  [[nodiscard]] virtual Needs needs(int /*nodes*/) const { return {}; }
  /// Why it cannot be forced on so many nodes; empty where it can. @param collnet  the switches between nodes may
  /// reduce
  [[nodiscard]] virtual std::string refusal(int /*nodes*/, bool /*collnet*/) const { return ""; }
  /// Costs without the bytes on the links: fitted on this machine, else the library's table and wide assumptions.
  [[nodiscard]] virtual collective::CollectiveCost cost(const collective::CostRequest& request) const;
  /// Adds one activity for each route, and to `plan`, which has the choice, costs, the first byte's latency and steps.
  /// @throws InputError  the library has no such operation or algorithm
  virtual void plan(const collective::CollectiveJob& job, activities::ClusterProblem& problem,
                    collective::CollectivePlan& plan) const;
  /// Sum of `delay_s` over the hops between nodes that the first byte makes one after the other, seconds.
  [[nodiscard]] virtual double first_byte_s(const collective::CollectiveJob& job,
                                            const activities::HopDelay& delay_s) const;
  /// Factor by which the time of the bytes, flow_s, grows where they wait for each other: filling, turns, tails.
  [[nodiscard]] virtual double stretch(const collective::CollectiveJob& /*job*/,
                                       const collective::CollectivePlan& /*plan*/, double /*flow_s*/) const {
    return 1;
  }
  /// Part of ln(time of the bytes) that the rate of thread blocks makes: d ln(flow_s) / -d ln(channel_Bps).
  /// @param limited  whether it is their limit that some activity runs at
  [[nodiscard]] virtual double block_share(const collective::CollectiveJob& /*job*/,
                                           const collective::CollectivePlan& /*plan*/, bool limited) const {
    return limited ? 1 : 0;
  }
  /// Part of the hops between nodes that passes while bytes flow, seconds. @param flow_s  time of the bytes
  [[nodiscard]] virtual double hidden_s(const collective::CollectiveJob& /*job*/,
                                        const collective::CollectivePlan& /*plan*/, double /*flow_s*/) const {
    return 0;
  }
  /// Spread of ln(time) for what was never measured of it, without that of its parameters.
  [[nodiscard]] virtual double unmeasured_spread(const collective::CollectiveJob& /*job*/) const { return 0; }
  /// Assumptions that the user has to know of.
  [[nodiscard]] virtual std::vector<std::string> warnings(const collective::CollectiveJob& /*job*/,
                                                          const collective::CollectivePlan& /*plan*/) const {
    return {};
  }
  /// GPUs of each distinct route as an answer names them; those of the rings unless it says otherwise.
  [[nodiscard]] virtual std::vector<std::vector<int>> orders(const Communicator& communicator) const;
  /// Rows of parameters that it alone has; they join parameter_rows() when it is registered.
  [[nodiscard]] virtual std::vector<const ParameterRow*> parameters() const { return {}; }
};

class Algorithms : public Registry<Algorithm> {
 public:
  Algorithms() : Registry<Algorithm>("algorithm") {}
  bool add(PluginInfo info, const Factory& factory);
  /// Names of those with such routes.
  [[nodiscard]] std::vector<std::string> names_of(Routes routes) const;
};

Algorithms& algorithms();

/// Reads algorithms that users write.
class AlgorithmReader {
 public:
  AlgorithmReader() = default;
  AlgorithmReader(const AlgorithmReader&) = delete;
  AlgorithmReader& operator=(const AlgorithmReader&) = delete;
  virtual ~AlgorithmReader() = default;
  /// Whether a file that begins so is of this format.
  [[nodiscard]] virtual bool reads(const std::string& text) const = 0;
  /// @throws InputError  with file and line: no algorithm of this format, or it does not end with the collective's
  /// result
  [[nodiscard]] virtual std::unique_ptr<Algorithm> read(const std::string& text, const std::string& path,
                                                        const CallRefusal& refusal) const = 0;
};

Registry<AlgorithmReader>& algorithm_readers();
/// @param refusal  asked before the schedule is checked
/// @throws InputError  no file, none of the formats, refused
std::unique_ptr<Algorithm> read_algorithm(const std::string& path, const CallRefusal& refusal);

}  // namespace linkcast
