#pragma once
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "sim/records/trace.hpp"

namespace linkcast::replay {

inline constexpr std::size_t kCacheLine = 64;  // source: x86-64 and most ARM

/// The rest of an event, of the few that have any.
struct FedMore {
  std::vector<std::int64_t> after{};  ///< FedEvent::After::kMore: the ids that it waits for
  TraceEvent* whole = nullptr;        ///< as it was read; null: nothing more in it matters to whoever is told of events
};

/// What a replay looks at of an event, in one line of the cache: between two events of a rank come those of all others.
/// The rest is in the event as it was read, if it has any.
struct alignas(kCacheLine) FedEvent {
  static constexpr int kNone = -1;
  enum class After : unsigned char { kNothing, kOne, kMore };
  enum class Copy : unsigned char { kToDevice, kToHost, kOnDevice };

  double host_s = 0;
  double amount = 0;          ///< seconds of what computes, else bytes
  std::int64_t known_id = 0;  ///< its own, or the last one of its rank
  FedMore* more = nullptr;
  FedEvent* next = nullptr;  ///< of its rank; the feed's
  std::uint32_t before = 0;  ///< After::kOne: the id that it waits for is known_id less this
  std::uint32_t turn = 0;    ///< on the lane; begins anew where it ends
  /// Who is matched with whom: the collectives of a group or the messages of a pair of ranks with one tag, in turn.
  int lane = kNone;
  /// Number of its stream among those of the rank; kNone: it runs on none. Of a sync the one it waits for; kNone: all,
  /// or one that nothing was put on.
  int queue = kNone;
  int which = kNone;  ///< of a collective its operation's number in the feed; else the peer, kNone: none
  TraceKind kind = TraceKind::kCompute;
  After after = After::kNothing;
  unsigned char users = 0;  ///< runs that have not done with it
  unsigned char flags = 0;

  static constexpr unsigned char kHasId = 1;     ///< known_id is its own
  static constexpr unsigned char kOfStream = 2;  ///< a sync or step that names a stream
  static constexpr unsigned char kCopyShift = 2;
  [[nodiscard]] bool has_id() const { return (flags & kHasId) != 0; }
  [[nodiscard]] bool of_stream() const { return (flags & kOfStream) != 0; }
  /// Of a copy.
  [[nodiscard]] Copy copy() const { return static_cast<Copy>(flags >> kCopyShift); }
  /// Whether it runs on a stream: not a sync, nor a step that its CPU passes.
  [[nodiscard]] bool is_queued() const { return kind != TraceKind::kSync && (kind != TraceKind::kStep || of_stream()); }
  [[nodiscard]] int peer() const { return kind == TraceKind::kCollective ? kNone : which; }
  [[nodiscard]] const TraceEvent* whole() const { return more != nullptr ? more->whole : nullptr; }
  [[nodiscard]] const RecordedTime* recorded() const {
    return whole() != nullptr && whole()->recorded ? &*whole()->recorded : nullptr;
  }
  [[nodiscard]] double recording_s() const { return whole() != nullptr ? whole()->recording_s : 0; }
  [[nodiscard]] double slowdown(double otherwise) const {
    return whole() != nullptr ? whole()->slowdown.value_or(otherwise) : otherwise;
  }
  /// Whether any of the ids that it waits for is so.
  template <class Is>
  [[nodiscard]] bool any_before(const Is& is) const {
    if (after == After::kNothing) return false;
    if (after == After::kOne) return is(known_id - before);
    return std::any_of(more->after.begin(), more->after.end(), is);
  }
};

}  // namespace linkcast::replay
