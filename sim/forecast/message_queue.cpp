#include "sim/forecast/message_queue.hpp"

#include <algorithm>
#include <utility>

#include "sim/base/index.hpp"
#include "sim/forecast/terms.hpp"
#include "sim/plan/cluster_problem.hpp"

namespace linkcast::copy {
namespace {

// Enough for the slowest stage to set the pace: a queue of three stages is filled after three. source: ours
constexpr int kMessages = 16;

enum Server { kHost, kSend, kReceive };  // each takes one message at a time

struct Queue {
  activities::ClusterEnd from, to;
  double bytes = 0;
  bool staged = false;    ///< GPU memory is copied to the host before it is sent
  bool receives = true;   ///< false: the card throws away what it has read
  bool loopback = false;  ///< in by the card that sent it
  int out_nic = 0, in_nic = 0;
  std::string transport{};
};

bool is_gpu(const Platform& node, int device) { return node.topology().devices[at(device)].kind == DeviceKind::kGpu; }

const NicEngine& engine_of(const Cluster& cluster, int nic) {
  const Device& device = cluster.node().topology().devices[at(cluster.nic_device(nic))];
  if (!device.engine)
    throw InputError("timing: nothing is known of how " + device.id + " of " + cluster.node().topology().name +
                     " overlaps messages, only the time of one");
  return *device.engine;
}

const TransportModel& curve(const Cluster& cluster, const char* name) {
  const TransportModel* found = cluster.node().transports().message(name);
  if (!found) throw InputError(std::string("transport: no message of the kind ") + name + " was measured");
  return *found;
}

/// One message by stages, as activities that wait for each other and for their server.
class Stages {
 public:
  Stages(const Cluster& cluster, const Queue& queue)
      : cluster_(cluster), queue_(queue), problem_(cluster), card_(engine_of(cluster, queue.out_nic)) {
    if (queue.receives) {
      // The rate of long messages between two nodes is that of the receiving side, for memory of a host or of a GPU.
      const bool into_gpu = is_gpu(cluster.node(), queue.to.device) && !queue.staged;
      const Regime& last = curve(cluster, into_gpu ? "gpudirect_rdma" : "mpi_network_host").regimes.back();
      if (last.rate_cap) receive_ = *last.rate_cap;
      receive_.value /= cluster.slow_at(cluster.endpoint(queue.to.node, queue.in_nic));
    }
    for (int i = 0; i < kMessages; ++i) ends_.push_back(add_one());
  }

  /// Seconds from the end of one message to the end of the next, once the queue is full.
  double pace(Solver& solver) {
    const Solution solution = solver.run(problem_.problem());
    const auto finish = [&](int i) { return solution.finish_s[at(ends_[at(i)])]; };
    return (finish(kMessages - 1) - finish(kMessages / 2)) / (kMessages - 1 - kMessages / 2);
  }
  /// Least time of a message.
  [[nodiscard]] double wire_s() { return problem_.wire_bound_s() / kMessages; }
  [[nodiscard]] double rate_error() const { return receive_.rel_error; }

 private:
  int add_one() {
    const int sent = is_gpu(cluster_.node(), queue_.from.device) && !queue_.staged ? send_gpu() : send_host();
    if (!queue_.receives) return sent;
    Activity in;
    in.work_B = queue_.bytes;
    in.rate_cap_Bps = receive_.value * queue_.bytes / card_.whole_packets_B(queue_.bytes);
    in.after = {sent};
    in.queues = {kReceive};
    if (!queue_.loopback)
      problem_.pass_fabric(cluster_.endpoint(queue_.from.node, queue_.out_nic),
                           cluster_.endpoint(queue_.to.node, queue_.in_nic));
    std::vector<int> links = cluster_.way_to_nic(memory(queue_.to.device), queue_.in_nic);
    std::reverse(links.begin(), links.end());
    for (int& link : links) link ^= 1;
    problem_.pass_node(queue_.to.node, links, activities::MoveBy::kDma);
    return problem_.add(std::move(in));
  }

  /// The card fetches GPU memory by requests; its own work and the host's precede them. The wait for the first byte is
  /// hidden: the next message is being prepared meanwhile.
  int send_gpu() {
    Activity out;
    out.delay_s = card_.message_overhead.si + card_.transmit_start.si;
    if (!queue_.receives) out.delay_s = card_.transmit_start.si;  // a full queue: the host is ahead
    out.work_B = queue_.bytes;
    out.rate_cap_Bps = card_.steady_read().si;
    out.queues = {kSend};
    problem_.pass_node(queue_.from.node, cluster_.way_to_nic(queue_.from.device, queue_.out_nic),
                       activities::MoveBy::kDma);
    return problem_.add(std::move(out));
  }

  int send_host() {
    Activity post;
    post.delay_s = queue_.staged ? card_.staged_overhead.si : card_.message_overhead.si;
    post.queues = {kHost};
    if (queue_.staged) {  // the copy holds the host up: it is synchronous
      post.work_B = queue_.bytes;
      problem_.pass_node(queue_.from.node, cluster_.node().to_host(queue_.from.device).links, activities::MoveBy::kDma);
    }
    const int posted = problem_.add(std::move(post));
    Activity out;
    out.work_B = queue_.bytes;
    out.rate_cap_Bps = card_.host_read.si;
    out.after = {posted};
    out.queues = {kSend};
    problem_.pass_node(queue_.from.node, cluster_.way_to_nic(memory(queue_.from.device), queue_.out_nic),
                       activities::MoveBy::kDma);
    return problem_.add(std::move(out));
  }

  /// Device whose memory the card reads or writes.
  [[nodiscard]] int memory(int device) const {
    return queue_.staged && is_gpu(cluster_.node(), device) ? cluster_.node().socket_of(device) : device;
  }

  const Cluster& cluster_;
  const Queue& queue_;
  activities::ClusterProblem problem_;
  const NicEngine& card_;
  Resolved receive_{kInfinity, 0, true, "", false};
  std::vector<int> ends_;
};

/// Of one message sent by the NICs that its transport takes.
Queue network_queue(const Cluster& cluster, const activities::Message& message) {
  const Platform& node = cluster.node();
  if (message.from.node == message.to.node)
    throw InputError(
        "transport: of messages one behind the other in a node mpi is known; by a NIC: name both ends without the "
        "node, "
        "and the NIC as via");
  const bool staged = message.transport == "pinned";
  if (!message.transport.empty() && !staged && message.transport != "gpudirect_rdma")
    throw InputError("transport: of messages one behind the other gpudirect_rdma and pinned are known");
  const auto [from, to] = activities::endpoints_of(cluster, message);
  Queue queue{message.from, message.to, message.bytes, staged};
  queue.out_nic = from % cluster.nics();
  queue.in_nic = to % cluster.nics();
  const bool gpu = is_gpu(node, message.from.device) || is_gpu(node, message.to.device);
  queue.transport = staged ? "pinned" : gpu ? "gpudirect_rdma" : "mpi_network_host";
  return queue;
}

Queue queue_of(const Cluster& cluster, const CopyRequest& request) {
  const Copy& copy = request.copies.front();
  if (request.into_nic < 0 && request.via_nic < 0) {
    activities::Message message = request.between;
    message.from = copy.from;
    message.to = copy.to;
    message.bytes = copy.bytes;
    return network_queue(cluster, message);
  }
  Queue queue{copy.from, copy.to, copy.bytes};
  queue.out_nic = queue.in_nic = std::max(request.into_nic, request.via_nic);
  queue.receives = queue.loopback = request.via_nic >= 0;
  queue.transport = is_gpu(cluster.node(), copy.from.device) ? "gpudirect_rdma" : "mpi_network_host";
  return queue;
}

}  // namespace

CopyForecast forecast_queue(const Cluster& machine, Solver& solver, const CopyRequest& request) {
  const Queue queue = queue_of(machine, request);
  Stages stages(machine, queue);
  CopyForecast forecast;
  const Calibration& calibration = machine.node().calibration();
  uncertainty::Terms terms(calibration, stages.pace(solver));
  terms.add(uncertainty::term::kMisfit, uncertainty::scatter_of(calibration, queue.transport, queue.bytes),
            uncertainty::kScatter);
  terms.add(uncertainty::term::kSerialisation, stages.rate_error());
  terms.add_part(uncertainty::term::kSerialisation, terms.time_s());
  terms.bound(stages.wire_s());
  set_terms(terms, forecast);
  forecast.timing = Timing::kBackToBack;
  Queue small = queue;
  small.bytes = 1;
  forecast.alone = LoneCopyForecast{Stages(machine, small).pace(solver), queue.transport};
  forecast.bandwidth_Bps = queue.bytes / forecast.time_s;
  forecast.warnings.insert("figures of the NIC's engine are printed ones: " +
                           machine.node().topology().devices[at(machine.nic_device(queue.out_nic))].id);
  return forecast;
}

}  // namespace linkcast::copy
