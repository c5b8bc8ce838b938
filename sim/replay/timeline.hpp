#pragma once
#include <deque>
#include <map>
#include <ostream>
#include <string>
#include <unordered_map>
#include <vector>

#include "sim/replay/network.hpp"
#include "sim/replay/observer.hpp"
#include "sim/replay/summary.hpp"

namespace linkcast::replay {

/// How busy ranks and links were over time, in at most kMostBins bins of equal width: when they are full, two become
/// one.
class Utilisation final : public ReplayObserver {
 public:
  static constexpr std::size_t kMostBins = 200;

  /// @param summary  of the same replay
  Utilisation(const ReplaySummary& summary, std::size_t ranks, ReplayNetwork& network);

  [[nodiscard]] double looks_at_s() const override;
  void looks(double now_s) override;
  /// Of the last, partly filled bin. @param end_s  when the last event ended
  void close(double end_s);

  [[nodiscard]] double bin_s() const { return bin_s_; }
  [[nodiscard]] std::size_t bins() const { return bins_; }
  struct Link {
    std::vector<double> carried_B{};  ///< by bin
    double capacity_Bps = 0, until_now_B = 0;
  };
  [[nodiscard]] const std::map<std::string, Link>& links() const { return links_; }
  /// {bin_s, ranks: [{compute, communication, exposed}], links: {id: []}}: shares of each bin.
  [[nodiscard]] Json to_json() const;

 private:
  struct Rank {
    RankTimes until_now{};
    std::vector<double> compute_s{}, communication_s{}, exposed_s{};  ///< by bin
  };
  void fill(double now_s);
  void merge();

  const ReplaySummary& summary_;
  ReplayNetwork& network_;
  double bin_s_;
  std::size_t bins_ = 0;
  std::vector<Rank> ranks_;
  std::map<std::string, Link> links_;
};

/// Writes what happens as it happens, for ui.perfetto.dev and chrome://tracing: a process a rank, in it the CPU, the
/// steps and a thread a stream, and arrows from where the CPU issues work to where it runs. Inside a collective or
/// message, "waiting" lasts until the others have come. What the trace says of the recording is a process of its own
/// beside that of the rank. Keeps nothing of events that ended.
/// @source  format: "Trace Event Format", Google,
/// docs.google.com/document/d/1CvAClvFfyA5R-PhYUmn5OOQtYMH4h6I0nSsKchNAySU
class Timeline final : public ReplayObserver {
 public:
  explicit Timeline(std::ostream& out) : out_(out) {}

  [[nodiscard]] bool reads_whole() const override { return true; }
  void starts(const std::vector<ReplayRank>& ranks) override;
  void issues(int rank, const FedEvent& event, const IssueTimes& times) override;
  void begins(int rank, const FedEvent& event, double now_s) override;
  void meets(int rank, const FedEvent& event, double now_s) override;
  void ends(int rank, const FedEvent& event, double now_s) override;
  void step(int rank, const FedEvent& event, int step, double now_s) override;
  /// How busy each link was, and the end of the file.
  void close(const Utilisation& use);

 private:
  static constexpr long kNoArrow = -1;
  struct Stream {
    int thread = 0;
    double began_s = 0, met_s = -1;  ///< of what runs; negative: nothing has met
    std::deque<long> arrows{};       ///< to what was issued and does not run yet
  };
  /// Threads of a process: those of streams behind the two that every process may have.
  struct Process {
    std::string name{};
    bool named = false, has_cpu = false, has_steps = false;
    std::unordered_map<std::string, Stream> streams{};
    double step_ended_s = 0;
    std::unordered_map<int, double> until_s{};  ///< recorded: what was written of each thread ends here
  };
  void write(const Json& event);
  /// @param what  "process_name" or "thread_name"
  void name(int process, const char* what, int thread, const std::string& name);
  void name_process(int number, Process& process);
  /// The thread is given its name where it is new.
  void name_once(int process, bool& named, int thread, const char* name);
  Stream& stream(int number, Process& process, const std::string& name);
  void arrow(const char* phase, long id, int process, int thread, double time_s);
  void recorded(int rank, const TraceEvent& event, const std::string& title);
  [[nodiscard]] int ranks() const { return static_cast<int>(forecast_.size()); }
  /// Numbers of processes.
  static int forecast_of(int rank) { return rank + 1; }
  [[nodiscard]] int links() const { return ranks() + 1; }
  [[nodiscard]] int recorded_of(int rank) const { return links() + 1 + rank; }

  std::ostream& out_;
  std::vector<Process> forecast_, recorded_;  ///< by rank
  long arrows_ = 0;
  bool first_ = true;
};

}  // namespace linkcast::replay
