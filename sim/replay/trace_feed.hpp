#pragma once
#include <deque>
#include <exception>
#include <functional>
#include <limits>
#include <string>
#include <unordered_map>
#include <vector>

#include "sim/base/index.hpp"
#include "sim/records/trace.hpp"
#include "sim/replay/fed_event.hpp"
#include "sim/replay/rank_readers.hpp"

namespace linkcast::replay {

/// Numbers of names, in the order in which they came.
class NameTable {
 public:
  static constexpr int kNone = -1;

  [[nodiscard]] int find(const std::string& name) const {
    if (numbers_.empty()) {
      for (std::size_t i = 0; i < names_.size(); ++i)
        if (names_[i] == name) return static_cast<int>(i);
      return kNone;
    }
    const auto found = numbers_.find(name);
    return found == numbers_.end() ? kNone : found->second;
  }
  [[nodiscard]] const std::string& name(int number) const { return names_[at(number)]; }
  /// The number of one that is there, or the next.
  int add(const std::string& name) {
    const int known = find(name);
    return known != kNone ? known : append(name);
  }

 private:
  static constexpr std::size_t kFew = 8;  // ours: those are looked through

  int append(const std::string& name) {
    names_.push_back(name);
    if (names_.size() > kFew)
      for (std::size_t i = numbers_.size(); i < names_.size(); ++i) numbers_.emplace(names_[i], static_cast<int>(i));
    return static_cast<int>(names_.size()) - 1;
  }

  std::vector<std::string> names_{};
  std::unordered_map<std::string, int> numbers_{};  ///< of more than a few
};

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
  /// The trace is this file: where much of it would have to be kept it may be read once more.
  void is_file(std::string path) { path_ = std::move(path); }
  /// So many runs take its events; before the first.
  void share(int runs);
  /// Each event as it was read too; before the first.
  void keep_whole() { keeps_whole_ = true; }
  /// A run takes no more.
  void leave(int run);

  [[nodiscard]] const TraceHeader& header() const { return header_; }
  [[nodiscard]] const std::string& name() const { return reader_->name(); }
  [[nodiscard]] int ranks() const { return static_cast<int>(names_.size()); }
  /// Of a lane of collectives: the ranks of the group, in its order, and its name. Null, "": of messages.
  [[nodiscard]] const std::vector<int>* members(int lane) const { return lanes_[at(lane)].members; }
  [[nodiscard]] std::string group(int lane) const;
  /// By number of collectives' operations.
  [[nodiscard]] const std::string& op(int number) const { return ops_.name(number); }
  /// Of a collective or copy, else "".
  [[nodiscard]] std::string op_of(const FedEvent& event) const;

  /// Null after the rank's last. @throws InputError  what the file says is wrong, to every run that comes there
  FedEvent* next(int rank, int run) {
    FedEvent*& cursor = cursors_[at(run)][at(rank)];
    while (cursor == nullptr)
      if (!read(rank)) return nullptr;
    FedEvent* event = cursor;
    cursor = event->next;
    __builtin_prefetch(cursor);
    return event;
  }
  /// A run has no more use for it.
  void done(FedEvent* event) {
    if (--event->users == 0) give_back(event);
  }

 private:
  struct Lane {
    std::string group{};
    const std::vector<int>* members = nullptr;
  };
  /// Messages with one rank in one direction and of one tag; or collectives of one group.
  struct Calls {
    std::uint64_t side = 0;  ///< number of the tag, then twice the peer, one more: sends; or kGroup and its number
    int lane = FedEvent::kNone;
    std::uint32_t turns = 0;
  };
  /// What one rank has met so far.
  struct Names {
    std::int64_t last_id = std::numeric_limits<std::int64_t>::min();
    int streams = 0;
    std::vector<int> queue_of{};  ///< by number of the stream's name; kNone: not met
    std::vector<Calls> calls{};
    std::unordered_map<std::uint64_t, std::size_t> place_of{};  ///< in these, by side: of more than a few
  };
  bool read(int rank);
  bool read_more(int rank);
  bool next_event(int rank);
  void look_by_rank();
  void hand_out();
  void put(int rank, bool last);
  void number(int rank, FedEvent& event);
  void number_call(int rank, FedEvent& event);
  int queue_of(Names& names, const std::string& stream, bool add);
  int lane_of_group(int group);
  template <class NewLane>
  Calls& calls_of(Names& names, std::uint64_t side, const NewLane& lane);
  void set_ids(Names& names, FedEvent& event) const;
  [[nodiscard]] bool needs_whole() const;
  int new_lane(const std::string& name, Lane lane);
  FedEvent* take_event();
  TraceEvent* take_whole();
  FedMore* take_more();
  void give_back(FedEvent* event);
  void shift_ids(TraceEvent& event);
  bool once_more();

  std::unique_ptr<TraceReader> reader_;
  std::string path_{};                      ///< empty: it cannot be read by rank
  std::unique_ptr<RankReaders> by_rank_{};  ///< instead of reader_; null: no need, or no use
  std::vector<long> counts_;                ///< by recorded rank: events that were read
  TraceHeader header_;
  std::map<std::string, std::vector<int>> groups_;
  std::vector<Names> names_;  ///< per rank
  NameTable streams_{}, group_names_{}, ops_{}, tags_{};
  std::vector<int> lane_of_group_{};                   ///< by number of its name
  std::unordered_map<std::string, int> lane_names_{};  ///< groups, and pairs of ranks with a tag
  std::vector<Lane> lanes_{};
  std::vector<std::vector<FedEvent*>> cursors_{};  ///< per run and rank: the next one, if it was read; none: it left
  std::vector<FedEvent*> newest_{};                ///< per rank; may be of the past
  std::deque<FedEvent> events_{};
  FedEvent* free_ = nullptr;  ///< of these, one after the other
  std::deque<FedMore> mores_{};
  std::vector<FedMore*> free_mores_{};  ///< of these
  std::deque<TraceEvent> wholes_{};
  std::vector<TraceEvent*> free_wholes_{};  ///< of these
  TraceEvent* read_ = nullptr;              ///< what is read into
  int runs_ = 1;
  bool local_ = false, ended_ = false, keeps_whole_ = false;
  std::exception_ptr failed_{};
  int times_left_ = 0;
  std::function<std::unique_ptr<TraceReader>()> again_{};
  std::int64_t id_shift_ = 0, first_id_ = 0, last_id_ = -1;  ///< ids of each repetition come after those before
};

}  // namespace linkcast::replay
