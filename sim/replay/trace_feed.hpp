#pragma once
#include <deque>
#include <exception>
#include <functional>
#include <string>
#include <unordered_map>
#include <vector>

#include "sim/records/trace.hpp"
#include "sim/replay/fifo.hpp"
#include "sim/replay/name_table.hpp"

namespace linkcast::replay {

/// What of an event is the same in every run.
struct EventPlace {
  int users = 0;  ///< runs that have not done with it
  /// Number of its stream among those of the rank; kNone: it runs on none. Of a sync the one it waits for; kNone: all,
  /// or one that nothing was put on.
  int queue = NameTable::kNone;
  long turn = 0;                              ///< on the lane
  const std::vector<int>* members = nullptr;  ///< of a collective's group
  /// Who is matched with whom: the collectives of a group or the messages of a pair of ranks with one tag, in turn.
  int lane = NameTable::kNone;
};
struct FedEvent : EventPlace, TraceEvent {};

/// Hands each rank its events in order, from a trace that is read as it goes. On more ranks than were recorded, or
/// fewer, rank r does what recorded rank r modulo their number did. Several runs may take the events of one reading,
/// each at its own pace: what one of them is ahead is kept.
class TraceFeed {
 public:
  /// @param ranks  0: as many as recorded
  /// @throws InputError  header; or the trace is not one of ranks that all do the same
  /// @param local  without all that is there only because ranks exchange something
  TraceFeed(std::unique_ptr<TraceReader> reader, int ranks, bool local = false);

  /// The trace so many times, one after the other. @param again  opens it once more
  void repeat(int times, std::function<std::unique_ptr<TraceReader>()> again);
  /// So many runs take its events; before the first.
  void share(int runs);
  /// A run takes no more.
  void leave(int run);

  [[nodiscard]] const TraceHeader& header() const { return header_; }
  [[nodiscard]] const std::string& name() const { return reader_->name(); }
  [[nodiscard]] int ranks() const { return static_cast<int>(names_.size()); }
  /// Ranks of a communicator, in its order.
  [[nodiscard]] const std::vector<int>& group(const std::string& name) const { return groups_.at(name); }
  /// Null after the rank's last. @throws InputError  what the file says is wrong, to every run that comes there
  FedEvent* next(int rank, int run);
  /// A run has no more use for it.
  void done(FedEvent* event) {
    if (--event->users == 0) free_.push_back(event);
  }

 private:
  struct Lane {
    int number = NameTable::kNone;
    long turns = 0;  ///< taken by this rank
  };
  /// What one rank has met so far.
  struct Names {
    NameTable streams{}, groups{};
    std::vector<Lane> of_group{};
    std::unordered_map<long, Lane> of_peer{};           ///< messages without a tag
    std::unordered_map<std::string, Lane> of_tagged{};  ///< the others
  };
  bool read();
  bool read_more();
  void hand_out(FedEvent* event);
  void put(FedEvent* event);
  void number(FedEvent& event);
  Lane& lane_of(const FedEvent& event);
  int new_lane(const std::string& name) {
    return lanes_.try_emplace(name, static_cast<int>(lanes_.size())).first->second;
  }
  FedEvent* take_event();
  void shift_ids(TraceEvent& event);
  bool once_more();

  std::unique_ptr<TraceReader> reader_;
  TraceHeader header_;
  std::map<std::string, std::vector<int>> groups_;
  std::vector<Names> names_;                           ///< per rank
  std::unordered_map<std::string, int> lanes_{};       ///< groups, and pairs of ranks with a tag
  std::vector<std::vector<Fifo<FedEvent*>>> waiting_;  ///< per run and rank: read, not yet asked for; none: it left
  std::deque<FedEvent> events_{};
  std::vector<FedEvent*> free_{};  ///< of these
  int runs_ = 1;
  bool local_ = false, ended_ = false;
  std::exception_ptr failed_{};
  int times_left_ = 0;
  std::function<std::unique_ptr<TraceReader>()> again_{};
  std::int64_t id_shift_ = 0, first_id_ = 0, last_id_ = -1;  ///< ids of each repetition come after those before
};

}  // namespace linkcast::replay
