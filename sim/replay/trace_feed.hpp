#pragma once
#include <functional>
#include <string>
#include <vector>

#include "sim/records/trace.hpp"
#include "sim/replay/fifo.hpp"

namespace linkcast::replay {

/// Hands each rank its events in order, from a trace that is read as it goes. On more ranks than were recorded, or
/// fewer, rank r does what recorded rank r modulo their number did.
class TraceFeed {
 public:
  /// @param ranks  0: as many as recorded
  /// @throws InputError  header; or the trace is not one of ranks that all do the same
  /// @param local  without all that is there only because ranks exchange something
  TraceFeed(std::unique_ptr<TraceReader> reader, int ranks, bool local = false);

  /// The trace so many times, one after the other. @param again  opens it once more
  void repeat(int times, std::function<std::unique_ptr<TraceReader>()> again);

  [[nodiscard]] const TraceHeader& header() const { return reader_->header(); }
  [[nodiscard]] const std::string& name() const { return reader_->name(); }
  [[nodiscard]] int ranks() const { return static_cast<int>(waiting_.size()); }
  /// Ranks of a communicator, in its order.
  [[nodiscard]] const std::vector<int>& group(const std::string& name) const { return groups_.at(name); }
  /// nullopt after the rank's last. @throws InputError  what the file says is wrong
  std::optional<TraceEvent> next(int rank);
  [[nodiscard]] long lines() const { return reader_->line(); }

 private:
  void hand_out(TraceEvent event);
  void shift_ids(TraceEvent& event);
  bool once_more();

  std::unique_ptr<TraceReader> reader_;
  std::map<std::string, std::vector<int>> groups_;
  std::vector<Fifo<TraceEvent>> waiting_;  ///< per rank: read, not yet asked for
  bool local_ = false, ended_ = false;
  int times_left_ = 0;
  std::function<std::unique_ptr<TraceReader>()> again_{};
  std::int64_t id_shift_ = 0, first_id_ = 0, last_id_ = -1;  ///< ids of each repetition come after those before
};

}  // namespace linkcast::replay
