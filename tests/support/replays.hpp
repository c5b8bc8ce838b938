#pragma once
// Traces written in a test, replayed on a network that the test makes up.
#include <memory>
#include <sstream>

#include "sim/replay/replay.hpp"
#include "sim/replay/summary.hpp"

namespace linkcast::test {

/// Each operation takes as many seconds as it has bytes, whatever else runs.
class SecondAByte final : public replay::ReplayNetwork {
 public:
  [[nodiscard]] int gpus() const override { return 64; }
  long start(const replay::NetworkOp& op) override {
    ends_.emplace(now_s_ + op.size_B, tickets_);
    return tickets_++;
  }
  double next_event_s() override {
    return ends_.empty() ? std::numeric_limits<double>::infinity() : ends_.begin()->first;
  }
  void advance(double to_s, std::vector<long>& ended) override {
    ended.clear();
    now_s_ = to_s;
    for (; !ends_.empty() && ends_.begin()->first <= to_s; ends_.erase(ends_.begin()))
      ended.push_back(ends_.begin()->second);
  }
  [[nodiscard]] std::vector<replay::LinkUse> link_use() override { return {}; }
  [[nodiscard]] Json warnings() const override { return Json::array(); }

 private:
  std::multimap<double, long> ends_;
  double now_s_ = 0;
  long tickets_ = 0;
};

struct Replayed {
  double makespan_s = 0;
  std::vector<replay::RankTimes> ranks{};
  std::vector<double> steps_s{};
  replay::CriticalPath path{};
};

/// @param more  keys of the header besides. @param lines  events, one a line. @param ranks  0: two, as in the header
inline Replayed replay_text(const std::string& more, const std::string& lines, int ranks = 0) {
  const std::string header = R"({"schema":"trace/1","name":"t","ranks":2,"source":"test","groups":{"all":[0,1]})" +
                             (more.empty() ? "" : "," + more) + "}\n";
  std::vector<replay::ReplayJob> jobs;
  jobs.push_back({std::make_unique<replay::TraceFeed>(
                      std::make_unique<TraceReader>(std::make_unique<std::istringstream>(header + lines), "t"), ranks),
                  {}});
  for (int rank = 0; rank < jobs[0].feed->ranks(); ++rank) jobs[0].gpus.push_back(rank);
  const auto count = jobs[0].gpus.size();
  SecondAByte network;
  replay::ReplaySummary summary(count);
  replay::Replay replay(std::move(jobs), network, {&summary});
  replay.run();
  Replayed result{summary.makespan_s(), {}, replay.steps(0), replay.critical_path()};
  for (std::size_t rank = 0; rank < count; ++rank) result.ranks.push_back(summary.times(rank));
  return result;
}

}  // namespace linkcast::test
