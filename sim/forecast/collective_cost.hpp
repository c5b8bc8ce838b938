#pragma once
// Costs of a collective without the bytes on the links: fitted on this machine, else the library's own table.
#include <limits>
#include <string>
#include <utility>
#include <vector>

#include "sim/forecast/terms.hpp"
#include "sim/machine/library.hpp"
#include "sim/machine/platform.hpp"
#include "sim/records/calibration.hpp"
#include "sim/records/parameters.hpp"

namespace linkcast::collective {

/// Figures that terms of a cost are of: start-up, hop inside a node, both together, hop between nodes, storing and
/// adding in a hop; rate of a thread block, what storing, adding and loading take of its steps, its rate between
/// nodes, what bytes take longer where there are many of these, share of the links' rate.
enum class Figure {
  kBase,
  kHop,
  kSteps,
  kNetworkHop,
  kCopy,
  kReduce,
  kRead,
  kBlock,
  kCopySteps,
  kReduceSteps,
  kReadSteps,
  kNetwork,
  kGrowth,
  kLinks
};

/// Hops of the first byte one after the other: inside nodes, between them. Of the former: those that store what came
/// besides sending it, those that add it to their own; and steps that send nothing.
struct Hops {
  double inside = 0, between = 0, storing = 0, adding = 0, reading = 0;
};

/// Values, and the terms of their logarithms' errors.
struct CollectiveCost {
  double base_s = 0, hop_s = 0, network_hop_s = 0;
  double channel_Bps = std::numeric_limits<double>::infinity();  ///< payload that one thread block moves
  double network_Bps = std::numeric_limits<double>::infinity();  ///< the same between nodes
  double growth = 1;                                             ///< of the bytes' time, by the number of nodes
  double link_share = 1;                                         ///< of multicast: RingLibrary::multicast_share()
  double host_wait = 1;                                          ///< RingLibrary::host_wait()
  double copy_s = 0, reduce_s = 0;                               ///< what a hop takes longer that stores, or adds
  double read_s = 0;                                             ///< what the step takes that sends nothing
  double copy_steps = 0, reduce_steps = 0, read_steps = 0;       ///< key::ring_copy_steps and so on

  /// In the place of the figure's terms so far.
  void set(Figure of, const std::vector<uncertainty::Term>& terms);
  void add(Figure of, const uncertainty::Term& term) { terms_.emplace_back(of, term); }
  [[nodiscard]] std::vector<uncertainty::Term> terms(Figure of) const;
  /// First term of a figure; of none, one without spread.
  [[nodiscard]] uncertainty::Term term(Figure of) const;
  /// It has terms, all of them from measurements, here or on another machine. kBase stands for hops inside nodes too.
  [[nodiscard]] bool measured(Figure of) const;

  /// Latency of the first byte.
  [[nodiscard]] double latency_s(const Hops& hops) const {
    return base_s + hops.inside * hop_s + hops.storing * copy_s + hops.adding * reduce_s + hops.reading * read_s +
           hops.between * network_hop_s;
  }
  /// Its parts, with standard errors in seconds; hops between nodes last.
  [[nodiscard]] std::vector<uncertainty::Term> latency_terms(const Hops& hops) const;

 private:
  std::vector<std::pair<Figure, uncertainty::Term>> terms_{};
};

/// Question for the costs of an algorithm.
struct CostRequest {
  const Platform& platform;
  const RingLibrary& library;
  const Communicator& communicator;
  std::string protocol;
  int blocks = 1;          ///< channels in use: they slow each other down
  double in_flight_B = 0;  ///< TunerChoice::in_flight_B
};

// For algorithms, which put their costs together from these.

/// The library's table is no measurement: standard deviation of the logarithm of what it says.
// source: it differs by up to a factor of 2 between versions for the same GPU (ring LL base 3.6 to 6.6 us, hop 0.4 to
// 0.6 us), and measured bases by more: calls of 8 B on 4 GPUs of V100, A100 and GH200 take 8.2, 11.9 and 7.8 us where
// it says 5 to 10
inline constexpr double kTableSpread = 0.7;

/// Base and hops of a ring inside a node: parameters `nccl.ring.<protocol>.*` of the machine, else the library's table.
void set_latency(const CostRequest& request, CollectiveCost& cost);
/// Sets how much of a ring's steps and hops storing and adding take.
void set_step_costs(const CostRequest& request, CollectiveCost& cost);
/// Rate of a thread block as a ring's, and its wait at host memory.
void set_block_rate(const CostRequest& request, CollectiveCost& cost);
/// Rate of a thread block between nodes; nothing in one node.
void set_network_rate(const CostRequest& request, CollectiveCost& cost);
/// Growth of the bytes' time with more than two nodes.
void set_growth(const CostRequest& request, CollectiveCost& cost);
/// Both rates, growth, and hops between nodes.
void set_rates(const CostRequest& request, CollectiveCost& cost);

/// Rows of an algorithm that is no ring and no tree: its latency before the bytes, at the start, of each hop inside
/// nodes and between them, and of each rank. They are the algorithm's Algorithm::parameters().
struct LatencyRows {
  LibraryRow base, hop, network_hop, rank;
  /// @param subject  of the algorithm's parameters. @param base_of  the algorithm whose base it has
  constexpr LatencyRows(std::string_view subject, std::string_view base_of)
      : base(one(base_of, key::library_base)),
        hop(one(subject, key::library_hop)),
        network_hop(
            one(subject,
                {.what = "network_hop_s", .unit = "s", .meaning = key::library_network_hop.meaning, .addable = true})),
        rank(one(
            subject,
            {.what = "rank_s", .unit = "s", .meaning = "NCCL: what each rank adds to the cost before the bytes"})) {}
  constexpr explicit LatencyRows(std::string_view subject) : LatencyRows(subject, subject) {}
  /// Without a base that is another algorithm's.
  [[nodiscard]] std::vector<const ParameterRow*> own() const;

 private:
  static constexpr LibraryRow one(std::string_view subject, ParameterRow row) {
    row.subject = subject;
    return LibraryRow(row);
  }
};
/// All steps in base_s, by the library's table until they were measured. @param algorithm  as the table names it
void set_table_latency(const CostRequest& request, const std::string& algorithm, const LatencyRows& rows,
                       CollectiveCost& cost);

/// How many times as long the slowest member's kernels take; the mean of all.
double slowest_member(const Platform& platform, const Communicator& communicator);
double mean_slowness(const Platform& platform, const Communicator& communicator);
/// Kernels that take `slow` times as long; `hops` for the steps.
void slow_down(CollectiveCost& cost, double slow, double hops);
/// Kernels that wait for the slowest member in every step.
void wait_for_slowest(const CostRequest& request, CollectiveCost& cost);

/// Share of a thread block's rate that is left to an operation whose last step sends nothing: a reduce_scatter.
/// @param steps  that do send
double tail_share(const Platform& platform, const Communicator& communicator, const std::string& protocol,
                  const CollectiveTraits& traits, int steps);

/// Spread of a figure that follows from one parameter, of which its logarithm grows by `factor` with that one's.
uncertainty::Term term_of(std::string_view label, const Learned& value, const ParameterRow& row, double factor = 1);

}  // namespace linkcast::collective
