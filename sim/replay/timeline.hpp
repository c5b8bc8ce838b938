#pragma once
#include <ostream>
#include <unordered_map>
#include <vector>

#include "sim/replay/observer.hpp"
#include "sim/replay/utilisation.hpp"

namespace linkcast::replay {

/// Writes what happens as it happens, for ui.perfetto.dev and chrome://tracing: a process a rank, a thread a stream.
/// Inside a collective or message, "waiting" lasts until the others have come. Keeps nothing of events that ended.
/// @source  format: "Trace Event Format", Google,
/// docs.google.com/document/d/1CvAClvFfyA5R-PhYUmn5OOQtYMH4h6I0nSsKchNAySU
class Timeline final : public ReplayObserver {
 public:
  explicit Timeline(std::ostream& out) : out_(out) {}

  void starts(const std::vector<ReplayRank>& ranks) override;
  void begins(int rank, const TraceEvent& event, double now_s) override;
  void meets(int rank, const TraceEvent& event, double now_s) override;
  void ends(int rank, const TraceEvent& event, double now_s) override;
  void step(int rank, int step, double now_s) override;
  /// How busy each link was, and the end of the file.
  void close(const Utilisation& links);

 private:
  struct Stream {
    int thread = 0;
    double began_s = 0, met_s = -1;  ///< of what runs; negative: nothing has met
  };
  using Streams = std::unordered_map<std::string, Stream>;
  void write(const Json& event);
  void name(int process, const char* what, int thread, const std::string& name);
  Stream& stream(int rank, const std::string& name);

  std::ostream& out_;
  std::vector<Streams> streams_;  ///< by rank
  bool first_ = true;
};

}  // namespace linkcast::replay
