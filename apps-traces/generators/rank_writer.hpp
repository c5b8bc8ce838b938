#pragma once
// Writes what one rank does, with ids in order. Each call returns the id that later events wait for.
#include <fmt/format.h>

#include <cstdint>
#include <utility>

#include "sim/machine/trace_source.hpp"

namespace linkcast {

class RankWriter {
 public:
  using Ids = std::vector<std::int64_t>;

  RankWriter(int rank, TraceSink& sink) : rank_(rank), sink_(&sink) {}
  [[nodiscard]] int rank() const { return rank_; }

  /// CPU time before each event that runs on the GPU, besides.
  void issue_takes(double time_s) { issue_s_ = time_s; }
  /// CPU time before whatever comes next.
  void host(double time_s) { host_s_ += time_s; }

  std::int64_t compute(const std::string& stream, const std::string& name, double time_s, Ids after = {}) {
    TraceEvent event = next(TraceKind::kCompute, stream, name, std::move(after));
    event.time_s = time_s;
    return write(event);
  }
  /// @param op  h2d, d2h, d2d
  std::int64_t copy(const std::string& stream, const std::string& op, double size_B, Ids after = {}) {
    TraceEvent event = next(TraceKind::kCopy, stream, "", std::move(after));
    event.op = op;
    event.size_B = size_B;
    return write(event);
  }
  std::int64_t collective(const std::string& stream, const std::string& op, const std::string& group, double size_B,
                          Ids after = {}) {
    TraceEvent event = next(TraceKind::kCollective, stream, "", std::move(after));
    event.op = op;
    event.group = group;
    event.size_B = size_B;
    return write(event);
  }
  std::int64_t send(const std::string& stream, int peer, double size_B, const std::string& tag, Ids after = {}) {
    return message(TraceKind::kSend, stream, peer, size_B, tag, std::move(after));
  }
  std::int64_t recv(const std::string& stream, int peer, double size_B, const std::string& tag, Ids after = {}) {
    return message(TraceKind::kRecv, stream, peer, size_B, tag, std::move(after));
  }
  /// The CPU waits for these, or for all.
  void sync(Ids after = {}) {
    TraceEvent event = next(TraceKind::kSync, "", "", std::move(after));
    event.id.reset();
    sink_->event(event);
  }
  void step() {
    TraceEvent event = next(TraceKind::kStep, "", "", {});
    event.id.reset();
    sink_->event(event);
  }

 private:
  TraceEvent next(TraceKind kind, const std::string& stream, const std::string& name, Ids after) {
    TraceEvent event;
    event.rank = rank_;
    event.kind = kind;
    event.stream = stream;
    event.name = name;
    event.after = std::move(after);
    event.host_s = std::exchange(host_s_, 0);
    event.id = last_ + 1;
    return event;
  }
  std::int64_t write(TraceEvent& event) {
    event.host_s += issue_s_;
    sink_->event(event);
    return ++last_;
  }
  std::int64_t message(TraceKind kind, const std::string& stream, int peer, double size_B, const std::string& tag,
                       Ids after) {
    TraceEvent event = next(kind, stream, "", std::move(after));
    event.peer = peer;
    event.size_B = size_B;
    event.tag = tag;
    return write(event);
  }

  int rank_;
  TraceSink* sink_;
  std::int64_t last_ = 0;
  double host_s_ = 0, issue_s_ = 0;
};

/// Before memory is taken for them.
inline void refuse_many_ranks(double ranks) {
  if (ranks > kMostRanks) throw InputError(fmt::format("options: they make more than {} ranks", kMostRanks));
}

/// Writers of ranks 0 to n - 1, and a group "all" of them in the header.
inline std::vector<RankWriter> start_ranks(TraceHeader& header, int ranks, TraceSink& sink) {
  refuse_many_ranks(ranks);
  header.ranks = ranks;
  std::vector<RankWriter> writers;
  for (int rank = 0; rank < ranks; ++rank) {
    header.groups["all"].push_back(rank);
    writers.emplace_back(rank, sink);
  }
  sink.header(header);
  return writers;
}

}  // namespace linkcast
