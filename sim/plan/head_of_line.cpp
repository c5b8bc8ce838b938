#include "sim/plan/head_of_line.hpp"

#include <algorithm>
#include <cstddef>
#include <limits>
#include <map>
#include <unordered_map>
#include <utility>

namespace linkcast::congestion {
namespace {

constexpr double kFull = 1 + 1e-9;     // source: ours, against rounding
constexpr double kSettled = 1 - 1e-6;  // source: ours, a part in a million
constexpr int kMostRounds = 1000;      // ours: each round holds back more, so that it ends; far above what is needed

/// Bytes of one flow on one of its ways.
struct Stream {
  std::size_t flow = 0;
  int port = 0;
  double wanted_Bps = 0;
  std::vector<std::size_t> queues;                                ///< in order
  double share = 1;                                               ///< of what it wants
  std::size_t held_at = std::numeric_limits<std::size_t>::max();  ///< place in `queues` of what holds it back
  [[nodiscard]] double rate_Bps() const { return share * wanted_Bps; }
  [[nodiscard]] bool held() const { return held_at < queues.size(); }
};

class Queues {
 public:
  Queues(const std::vector<QueuedFlow>& flows, const std::function<double(int)>& capacity_Bps) {
    for (std::size_t i = 0; i < flows.size(); ++i)
      for (const std::vector<int>& way : flows[i].ways) {
        Stream stream{i, flows[i].port, flows[i].wanted_Bps / static_cast<double>(flows[i].ways.size()), {}};
        for (const int link : way) stream.queues.push_back(number(link, flows[i].service_level));
        streams_.push_back(std::move(stream));
      }
    wanted_.assign(names_.size(), 0);
    share_.assign(names_.size(), 1);
    for (const Stream& stream : streams_)
      for (const std::size_t queue : stream.queues) wanted_[queue] += stream.wanted_Bps;
    for (std::size_t queue = 0; queue < names_.size(); ++queue) link_[names_[queue].first].push_back(queue);
    for (const auto& [link, queues] : link_) serve(queues, capacity_Bps(link));
    for (const double share : share_) hot_spot_ = std::min(hot_spot_, share);
  }

  void run() {
    for (Stream& stream : streams_)
      for (std::size_t i = 0; i < stream.queues.size(); ++i) hold(stream, i, share_[stream.queues[i]]);
    for (int round = 0; round < kMostRounds && block(); ++round) {
    }
  }

  [[nodiscard]] std::vector<double> shares(const std::vector<QueuedFlow>& flows) const {
    std::vector<double> sum(flows.size(), 0);
    for (const Stream& stream : streams_)
      sum[stream.flow] += stream.share / static_cast<double>(flows[stream.flow].ways.size());
    return sum;
  }

 private:
  std::size_t number(int link, int level) {
    const auto [entry, fresh] = number_.try_emplace({link, level}, names_.size());
    if (fresh) names_.emplace_back(link, level);
    return entry->second;
  }

  /// Levels in turn: each gets what it wants or an equal part of what the others leave.
  void serve(const std::vector<std::size_t>& queues, double capacity_Bps) {
    std::vector<std::size_t> rising = queues;
    std::sort(rising.begin(), rising.end(), [&](std::size_t a, std::size_t b) { return wanted_[a] < wanted_[b]; });
    for (std::size_t i = 0; i < rising.size(); ++i) {
      const double given = std::min(wanted_[rising[i]], capacity_Bps / static_cast<double>(rising.size() - i));
      if (wanted_[rising[i]] > kFull * given) share_[rising[i]] = given / wanted_[rising[i]];
      capacity_Bps -= given;
    }
  }

  static bool hold(Stream& stream, std::size_t at, double share) {
    if (share >= stream.share * kSettled) return false;
    stream.share = share;
    stream.held_at = at;
    return true;
  }

  /// One round of step 2. @returns  whether anything was held back further
  bool block() {
    std::vector<std::map<int, double>> through(names_.size());  // by port
    std::vector<std::map<int, double>> stuck(names_.size());
    for (const Stream& stream : streams_)
      for (std::size_t i = 0; i < stream.queues.size(); ++i) {
        through[stream.queues[i]][stream.port] += stream.rate_Bps();
        if (stream.held() && i < stream.held_at) stuck[stream.queues[i]][stream.port] += stream.rate_Bps();
      }
    std::vector<double> pace(names_.size(), 0);
    for (std::size_t queue = 0; queue < names_.size(); ++queue)
      for (const auto& [port, rate] : stuck[queue]) pace[queue] = std::max(pace[queue], rate);
    bool changed = false;
    for (Stream& stream : streams_)
      for (std::size_t i = 0; i < stream.queues.size(); ++i) {
        const std::size_t queue = stream.queues[i];
        if (stuck[queue].empty() || stuck[queue].count(stream.port) > 0) continue;
        const double all = through[queue][stream.port];
        if (all <= kFull * pace[queue]) continue;
        changed = hold(stream, i, std::max(hot_spot_, stream.share * pace[queue] / all)) || changed;
      }
    return changed;
  }

  std::map<std::pair<int, int>, std::size_t> number_;
  std::vector<std::pair<int, int>> names_;  ///< link and level
  std::map<int, std::vector<std::size_t>> link_;
  std::vector<Stream> streams_;
  std::vector<double> wanted_, share_;  ///< per queue
  double hot_spot_ = 1;                 ///< share that the fullest queue leaves its flows
};

}  // namespace

std::vector<double> head_of_line_shares(const std::vector<QueuedFlow>& flows,
                                        const std::function<double(int link)>& capacity_Bps) {
  Queues queues(flows, capacity_Bps);
  queues.run();
  return queues.shares(flows);
}

}  // namespace linkcast::congestion
