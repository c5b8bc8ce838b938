#pragma once
// What ranks ask of a machine's links during a replay: operations that start when all their ranks have come, and share
// links with whatever runs at the time.
#include <memory>
#include <string>
#include <vector>

#include "sim/base/index.hpp"
#include "sim/base/object_reader.hpp"
#include "sim/forecast/algorithm.hpp"
#include "sim/machine/catalogue.hpp"
#include "sim/machine/registry.hpp"

namespace linkcast::replay {

/// GPUs are numbers of the machine; on a cluster node * gpus_per_node + GPU of the node.
struct NetworkOp {
  enum class Kind { kCollective, kMessage, kHostToDevice, kDeviceToHost, kLocal, kPeer };
  Kind kind = Kind::kCollective;
  std::string op{};         ///< of a collective
  std::vector<int> gpus{};  ///< of a collective; of a message and a copy kPeer from and to; of another copy the GPU
  double size_B = 0;
  bool nvls = true;       ///< of a collective; false: without multicast by NVSwitch
  std::string library{};  ///< of a collective; empty: the network's
};

/// Which end of its 90 % interval every operation takes.
enum class IntervalEnd { kNone, kLow, kHigh };

/// How busy one link was.
struct LinkUse {
  std::string id;
  double capacity_Bps = 0;
  double carried_B = 0;
};

class ReplayNetwork {
 public:
  ReplayNetwork() = default;
  ReplayNetwork(const ReplayNetwork&) = delete;
  ReplayNetwork& operator=(const ReplayNetwork&) = delete;
  virtual ~ReplayNetwork() = default;

  [[nodiscard]] virtual int gpus() const = 0;
  /// What a GPU computes takes this many times as long: what-if edits.
  [[nodiscard]] virtual double slow(int /*gpu*/) const { return 1; }
  /// @returns a ticket, valid until the operation has ended. @throws InputError  the machine cannot do it
  virtual long start(const NetworkOp& op) = 0;
  /// A number to start the same operation by, again and again. @throws InputError  the machine cannot do it
  virtual int prepare(const NetworkOp& op) {
    prepared_.push_back(op);
    return static_cast<int>(prepared_.size()) - 1;
  }
  /// @returns a ticket, as the other
  virtual long start_prepared(int prepared) { return start(prepared_[at(prepared)]); }
  /// When something happens next, on a clock that starts at 0; infinite when nothing runs.
  virtual double next_event_s() = 0;
  /// Moves the clock to a time that is not beyond next_event_s(). @param ended  tickets, in order of their start
  virtual void advance(double to_s, std::vector<long>& ended) = 0;

  /// Of every link that carried something. The ids are the same in every call.
  [[nodiscard]] virtual std::vector<LinkUse> link_use() = 0;
  /// At the end of a run. @throws InvariantError  something has not ended, or moved too few bytes or too many
  virtual void check_ended() const {}
  /// What every forecast of it rests on and should be said.
  [[nodiscard]] virtual Json warnings() const = 0;

 private:
  std::vector<NetworkOp> prepared_;  ///< where start() alone is given
};

class SharedPlans;

/// What a network is made from.
struct NetworkRequest {
  catalogue::MachinePtr machine;
  std::string library{};    ///< empty: the platform's default
  int nodes = 0;            ///< 0: one node alone
  int gpus_per_node = 0;    ///< 0: all
  std::string transport{};  ///< of messages between nodes; empty: what the library would take
  /// Every operation takes as much longer or shorter as this end of its own interval says: its start-up and its bytes
  /// alike, so that it holds its links for as much longer.
  IntervalEnd end = IntervalEnd::kNone;
  std::shared_ptr<SharedPlans> plans{};  ///< of all networks that are made of the same request; null: it makes its own
  std::shared_ptr<const Algorithm> own{};  ///< a user's schedule, of the collectives that it is for; null: none
};

class NetworkKind {
 public:
  NetworkKind() = default;
  NetworkKind(const NetworkKind&) = delete;
  NetworkKind& operator=(const NetworkKind&) = delete;
  virtual ~NetworkKind() = default;
  /// @throws InputError  not on this platform, or not with these options
  [[nodiscard]] virtual std::unique_ptr<ReplayNetwork> make(catalogue::Catalogue& catalogue,
                                                            const NetworkRequest& request) const = 0;
};

Registry<NetworkKind>& network_kinds();

}  // namespace linkcast::replay
