#pragma once
// From "copy n bytes from here to there" to activities of the engine.
#include <limits>
#include <optional>
#include <string>
#include <vector>

#include "sim/engine/problem.hpp"
#include "sim/machine/platform.hpp"

namespace linkcast::activities {

/// Who moves the bytes: a copy engine serves one copy at a time; kernels share.
enum class MoveBy { kDma, kSm };

struct Transfer {
  int source = 0, target = 0;  ///< device indices
  double bytes = 0;
  std::string transport;  ///< empty: what the runtime would take
  int via = -1;           ///< relaying GPU (device index); -1: the best one
  MoveBy by = MoveBy::kDma;
  /// Pulled by the target instead of pushed by the source; not said: the source's engine, parameters as were measured.
  std::optional<bool> read{};
  bool single = false;         ///< starts from rest; false: one of a queue of equal copies
  bool pageable = false;       ///< host copies: memory that is not pinned
  bool bidirectional = false;  ///< host and staged copies: the same GPU copies in the other direction meanwhile
  double chunk_B = 0;          ///< relay: the second copy follows chunk by chunk; 0: after the whole first one
};

/// What a Transfer became.
struct PlannedTransfer {
  std::string transport;
  std::string model;  ///< transport whose parameters were used: peer_read for a pulled peer copy, peer_sm, ...
  int via = -1;
  std::vector<int> links{};       ///< directed links in order, both legs of a staged or relayed copy
  std::vector<int> activities{};  ///< in time order; the last one's finish is the transfer's
  int main_activity = 0;          ///< the one that moves most bytes
  double latency_s = 0;           ///< start-up of the smallest message, from rest if that was asked for
  double delay_error_s = 0;       ///< standard error of the start-ups that entered
  double rate_error_s = 0;        ///< standard error of the time at the transport's own rate; 0: links limit it
  Resolved wait{};                ///< for a copy of the same GPU in the other direction; 0: none
  double waits = 0;               ///< of them before the first byte
  double chunk_waits = 0;         ///< with chunks, hidden where links are slower
  int cap_link = -1;              ///< link that limits every single flow below its own capacity; -1: none
  bool chosen = false;            ///< an engine or a direction was asked for
  bool bidirectional = false;     ///< of Transfer
  int executor = -1;              ///< device whose copy engine takes this copy in turn with others; -1: none
  std::vector<Resolved> used{};   ///< start-up and cap parameters that entered
};

/// Collects transfers of one platform into one Problem. Constraint i is Platform::constraints()[i].
class ProblemBuilder {
 public:
  explicit ProblemBuilder(const Platform& platform);
  /// @throws InputError  the transport cannot join these devices; says why and what can
  PlannedTransfer add(const Transfer& transfer);
  int add_activity(Activity activity);

  [[nodiscard]] const Problem& problem() const { return problem_; }
  [[nodiscard]] const Platform& platform() const { return *platform_; }

  /// Consumption of a list of links: weight 1 each, plus the duplex constraints of their cables.
  /// @param requests  weight on the opposite direction of each, for loads: 0 for stores
  [[nodiscard]] std::vector<Use> uses(const std::vector<int>& links, MoveBy by = MoveBy::kDma,
                                      double requests = 0) const;
  /// Lowest one-flow limit of the cables on the way.
  struct FlowCap {
    double rate_Bps = std::numeric_limits<double>::infinity();
    int link = -1;
  };
  [[nodiscard]] FlowCap flow_cap(const std::vector<int>& links) const;

 private:
  /// For copies of the same GPU in the other direction.
  struct Waits {
    Resolved each{};                                           ///< not calibrated: none is known
    double before = 0;                                         ///< of them before the first byte
    double chunk_B = std::numeric_limits<double>::infinity();  ///< each but the first waits once
  };
  /// Who moves the bytes of one leg.
  struct Mover {
    MoveBy by = MoveBy::kDma;
    bool pulled = false;           ///< requests go the other way
    std::vector<int> queues = {};  ///< held by copy engines
    double slow = 1;               ///< of the slower end: everything but the links takes this many times as long
    bool host = false;             ///< to, from or through host memory
    Waits waits{};
  };
  PlannedTransfer add_local(const Transfer& transfer);
  PlannedTransfer add_peer(const Transfer& transfer);
  PlannedTransfer add_relay(const Transfer& transfer);
  PlannedTransfer add_staged(const Transfer& transfer);
  PlannedTransfer add_host(const Transfer& transfer);
  int choose_relay(const Transfer& transfer) const;
  /// Adds the start-up of the smallest copy over these links: the transport's, times `slow`, and what is sent again.
  void add_latency(PlannedTransfer& plan, const TransportModel& model, double slow,
                   const std::vector<int>& links) const;
  /// What a packet is held up by links that send again, seconds.
  [[nodiscard]] double resend_s(const std::vector<int>& links) const;
  /// Remembers that a start-up entered, and how sure it is.
  static void enter(PlannedTransfer& plan, const Resolved& delay);
  /// Adds the rate that a range of sizes has of its own. @param links_Bps  that its links alone would give
  static void enter_rate(PlannedTransfer& plan, const Regime& regime, double bytes, double slow, double links_Bps);
  /// @param delay_s  passes before the bytes flow. @param rate_cap_Bps  of the payload
  int add_leg(PlannedTransfer& plan, const std::vector<int>& links, double bytes, double delay_s, double rate_cap_Bps,
              const Mover& mover);
  /// @param copied  uses() of the links by copy engines
  int add_leg(PlannedTransfer& plan, const std::vector<int>& links, std::vector<Use> copied, double bytes,
              double delay_s, double rate_cap_Bps, const Mover& mover);
  /// A leg of a transport that has parameters of its own: never shorter than the longest copy of an earlier regime.
  int add_copy(PlannedTransfer& plan, const std::vector<int>& links, double bytes, const TransportModel& model,
               const Mover& mover, bool single);
  /// @param model  whose waits they are. @param slow  Mover::slow
  static Waits waits_of(const Transfer& transfer, const TransportModel& model, double slow);
  /// How a copy runs with its waits. @param rate_Bps  that the links alone would give
  static Pace with_waits(PlannedTransfer& plan, const Waits& waits, double bytes, double rate_Bps, Pace pace);
  /// Enters what a copy from rest needs more than one of a queue of equal copies. @returns  seconds
  double start_extra(PlannedTransfer& plan, const TransportModel& model, const Mover& mover);
  [[nodiscard]] double lone_rate(const std::vector<int>& links) const;
  /// @param uses  of the links by copy engines
  [[nodiscard]] double lone_rate(const std::vector<int>& links, const std::vector<Use>& uses) const;
  /// What one copy with nothing else going on gets of payload, bytes/s.
  [[nodiscard]] double payload_rate(const std::vector<int>& links, const std::vector<Use>& uses,
                                    const Mover& mover) const;

  const Platform* platform_;
  Problem problem_;
  std::vector<char> engine_used_;  ///< per queue: a copy was planned on it
};

/// Copy engines of a device of a node as queues: the one for data that leaves it, and for data from host memory.
int out_queue(int device);
int in_queue(int device);

/// Transport that the runtime takes: local, peer where peer access exists, host to or from a CPU, else staged.
std::string runtime_transport(const Platform& platform, int source, int target);
/// Whether a copy goes to, from or through host memory. @param named  its transport; empty: the runtime's
bool crosses_host(const Platform& platform, int source, int target, const std::string& named);

/// Share of an accelerator link's copy-engine rate that kernels reach, because they store in smaller packets.
double kernel_link_share();
/// The same of the rate of a cable: where the maker's links were measured with kernels, whose stores they carry at one
/// rate whether a bundle has one link or four, what was measured.
double kernel_link_share(const Platform& platform, int cable);
/// Of the cable with the least, accelerator cables alone.
double kernel_link_share(const Platform& platform, const std::vector<int>& links);
/// Most that one kernel gets of links whose share does not say it.
double kernel_rate(const Platform& platform, const std::vector<int>& links, bool loads);
/// Bytes of requests there per byte that kernels load here.
double kernel_request_share();

/// Links a staged copy takes: to the source's socket; then, if another, across; then to the target.
struct StagedRoute {
  std::vector<int> up, down;
};
StagedRoute staged_route(const Platform& platform, int source, int target);

}  // namespace linkcast::activities
