#include "sim/congestion/jobs_beside.hpp"

#include <map>
#include <memory>
#include <utility>

#include "sim/congestion/head_of_line.hpp"
#include "sim/records/input_error.hpp"

namespace linkcast::congestion {
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
    add_fabric_links(cluster_.fabric(), cluster_.routing(), from, to, links, kMostWays);
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

/// All GPUs of its nodes send as fast as their ports: to the first one, to each other, or round a ring of nodes.
void add_job(Flows& flows, const JobBeside& job, const std::vector<int>& gpus, int first) {
  const double peers = static_cast<double>((job.nodes - 1) * static_cast<int>(gpus.size()));
  for (int node = 0; node < job.nodes; ++node)
    for (const int gpu : gpus) {
      const int from = flows.endpoint(first + node, gpu);
      if (job.op == "incast" && node > 0) flows.add(from, flows.endpoint(first, gpus.front()), job.service_level, -1);
      if (job.op == "all_reduce")
        flows.add(from, flows.endpoint(first + (node + 1) % job.nodes, gpu), job.service_level, -1);
      if (job.op != "alltoall") continue;
      for (int other = 0; other < job.nodes; ++other)
        for (const int peer : gpus)
          if (other != node) flows.add(from, flows.endpoint(first + other, peer), job.service_level, -1 / peers);
    }
}

}  // namespace

Slowdown slowed_beside(const LoneJob& job, const NetworkLoad& load, Json& out) {
  const Cluster& cluster = job.made.cluster();
  Flows flows(cluster);
  std::map<std::pair<int, int>, double> rates;
  for (const activities::ClusterProblem::Crossed& crossed : job.made.crossed())
    rates[{crossed.from, crossed.to}] +=
        crossed.weight * job.made.problem().activities[static_cast<std::size_t>(crossed.activity)].work_B / job.flow_s;
  for (const auto& [ends, rate] : rates) flows.add(ends.first, ends.second, load.service_level, rate);
  std::vector<std::size_t> begin = {flows.list.size()};
  int first = job.nodes;
  for (const JobBeside& other : load.beside) {
    add_job(flows, other, job.gpus, first);
    first += other.nodes;
    begin.push_back(flows.list.size());
  }
  const std::vector<double> shares =
      head_of_line_shares(flows.list, [&](int link) { return cluster.capacity(cluster.key_of_fabric_link(link)); });
  for (std::size_t i = 0; i < load.beside.size(); ++i) {
    double sum = 0;
    for (std::size_t flow = begin[i]; flow < begin[i + 1]; ++flow) sum += shares[flow];
    out["beside"].push_back({{"op", load.beside[i].op},
                             {"nodes", load.beside[i].nodes},
                             {"gpus_per_node", job.gpus.size()},
                             {"service_level", load.beside[i].service_level},
                             {"sends_of_port", sum / static_cast<double>(begin[i + 1] - begin[i])}});
  }
  auto slow = std::make_shared<std::map<std::pair<int, int>, double>>();
  std::size_t number = 0;
  for (const auto& [ends, rate] : rates) (*slow)[ends] = 1 / shares[number++];
  return [slow](const NoisyWay& way) { return slow->at({way.from, way.to}); };
}

}  // namespace linkcast::congestion
