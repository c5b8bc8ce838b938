#include "sim/plan/jobs_beside.hpp"

#include <algorithm>
#include <cstddef>
#include <limits>
#include <map>
#include <memory>
#include <unordered_map>
#include <utility>

#include "sim/base/index.hpp"
#include "sim/base/input_error.hpp"
#include "sim/machine/collective.hpp"

namespace linkcast::congestion {
namespace {

constexpr double kFull = 1 + 1e-9;     // source: ours, against rounding
constexpr double kSettled = 1 - 1e-6;  // source: ours, a part in a million
constexpr int kMostRounds = 1000;      // ours: each round holds back more, so that it ends; far above what is needed

/// Bytes of one flow on one of its routes.
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

namespace {

constexpr int kMostWays = 64;  // ours: of more ways, evenly chosen ones stand for all
// Of all flows: some 400 MiB. source: ours, a tenth of the 4 GiB that a forecast may take
constexpr std::size_t kMostStreams = 2'000'000;

class Flows {
 public:
  explicit Flows(const Cluster& cluster) : cluster_(cluster) {}

  /// @param wanted_Bps  negative: all that the port of the source moves
  void add(int from, int to, int level, double wanted_Bps) {
    std::vector<WeightedLink> links;
    add_fabric_links(cluster_.fabric(), cluster_.routing(), from, to, links, kMostWays, cluster_.flows());
    QueuedFlow flow{from, wanted_Bps, level};
    for (const WeightedLink& passed : links) {
      if (passed.link == links.front().link) flow.ways.emplace_back();  // each way begins at the port
      flow.ways.back().push_back(passed.link);
    }
    if (wanted_Bps < 0)
      flow.wanted_Bps = -wanted_Bps * cluster_.capacity(cluster_.key_of_fabric_link(links.front().link));
    streams_ += flow.ways.size();
    if (streams_ > kMostStreams)
      throw InputError("beside: these jobs have too many messages to follow through the queues; take fewer nodes");
    list.push_back(std::move(flow));
  }
  [[nodiscard]] int endpoint(int node, int gpu) const { return cluster_.endpoint(node, cluster_.nic_of(gpu)); }

  std::vector<QueuedFlow> list;

 private:
  const Cluster& cluster_;
  std::size_t streams_ = 0;  ///< ways of all flows
};

/// All GPUs of its nodes send as fast as their ports: to each other, round a ring of nodes, or of no collective
/// (incast) to the first one.
void add_job(Flows& flows, const JobBeside& job, const std::vector<int>& gpus, int first) {
  const double peers = static_cast<double>((job.nodes - 1) * static_cast<int>(gpus.size()));
  const Collective* op = collectives().find(job.op);
  for (int node = 0; node < job.nodes; ++node)
    for (const int gpu : gpus) {
      const int from = flows.endpoint(first + node, gpu);
      if (op == nullptr) {
        if (node > 0) flows.add(from, flows.endpoint(first, gpus.front()), job.service_level, -1);
      } else if (op->shape() == Shape::kRing) {
        flows.add(from, flows.endpoint(first + (node + 1) % job.nodes, gpu), job.service_level, -1);
      } else {
        for (int other = 0; other < job.nodes; ++other)
          for (const int peer : gpus)
            if (other != node) flows.add(from, flows.endpoint(first + other, peer), job.service_level, -1 / peers);
      }
    }
}

using Ends = std::pair<int, int>;

/// What the job would send from endpoint to endpoint, bytes/s, round by round.
std::vector<std::map<Ends, double>> rates_of(const LoneJob& job) {
  int rounds = 1;
  for (const int round : job.round) rounds = std::max(rounds, round + 1);
  std::vector<std::map<Ends, double>> rates(static_cast<std::size_t>(rounds));
  for (const activities::ClusterProblem::Crossed& crossed : job.made.crossed()) {
    const auto activity = static_cast<std::size_t>(crossed.activity);
    const double work_B = job.made.problem().activities[activity].work_B;
    if (work_B > 0)
      rates[at(job.round[activity])][{crossed.from, crossed.to}] += crossed.weight * work_B / job.moving_s[activity];
  }
  return rates;
}

/// Which flows are whose.
struct Crowd {
  std::vector<QueuedFlow> flows;
  std::vector<std::size_t> begin;  ///< of each of the jobs beside, and one past the last
};

Crowd crowd_of(const LoneJob& job, const NetworkLoad& load, const std::map<Ends, double>& rates) {
  Flows flows(job.made.cluster());
  for (const auto& [ends, rate] : rates) flows.add(ends.first, ends.second, load.service_level, rate);
  Crowd crowd{{}, {flows.list.size()}};
  int first = job.nodes;
  for (const JobBeside& other : load.beside) {
    add_job(flows, other, job.gpus, first);
    first += other.nodes;
    crowd.begin.push_back(flows.list.size());
  }
  crowd.flows = std::move(flows.list);
  return crowd;
}

}  // namespace

CrossingSlowdown slowed_beside(const LoneJob& job, const NetworkLoad& load, Json& out) {
  const Cluster& cluster = job.made.cluster();
  const std::vector<std::map<Ends, double>> rates = rates_of(job);
  auto slow = std::make_shared<std::vector<std::map<Ends, double>>>(rates.size());
  std::vector<double> sends(load.beside.size(), 0);
  for (std::size_t round = 0; round < rates.size(); ++round) {
    const Crowd crowd = crowd_of(job, load, rates[round]);
    const std::vector<double> shares =
        head_of_line_shares(crowd.flows, [&](int link) { return cluster.capacity(cluster.key_of_fabric_link(link)); });
    for (std::size_t i = 0; i < sends.size(); ++i) {
      double sum = 0;
      for (std::size_t flow = crowd.begin[i]; flow < crowd.begin[i + 1]; ++flow) sum += shares[flow];
      sends[i] += sum / static_cast<double>(crowd.begin[i + 1] - crowd.begin[i]);
    }
    std::size_t number = 0;
    for (const auto& [ends, rate] : rates[round]) (*slow)[round][ends] = 1 / shares[number++];
  }
  for (std::size_t i = 0; i < sends.size(); ++i)
    out["beside"].push_back({{"op", load.beside[i].op},
                             {"nodes", load.beside[i].nodes},
                             {"gpus_per_node", job.gpus.size()},
                             {"service_level", load.beside[i].service_level},
                             {"sends_of_port", sends[i] / static_cast<double>(rates.size())}});
  return [slow, rounds = job.round](const NoisyWay& way, int activity) {
    const std::map<Ends, double>& of_round = (*slow)[at(rounds[static_cast<std::size_t>(activity)])];
    const auto found = of_round.find({way.from, way.to});
    return found == of_round.end() ? 1 : found->second;  // moves nothing
  };
}

}  // namespace linkcast::congestion
