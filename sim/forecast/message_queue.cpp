#include "sim/forecast/message_queue.hpp"

#include <algorithm>
#include <cmath>
#include <utility>

#include "sim/base/index.hpp"
#include "sim/forecast/copy_terms.hpp"
#include "sim/plan/cluster_problem.hpp"
#include "sim/plan/inside_path.hpp"
#include "sim/plan/mpi_costs.hpp"

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

// Windows inside a node.

/// What the process does for each message: it posts it, and gives its copy to a GPU or reaches into that one's memory.
/// Where posting messages of GPU memory was measured, that holds both.
struct ProcessCost {
  double time_s = 0;
  double error_s = 0;
  bool measured = false;
};

ProcessCost process_cost(const Platform& node, const activities::InsideTurn& turn, bool of_gpu) {
  const activities::PostCost own = activities::post_cost(node, !of_gpu);
  if (own.measured || !of_gpu) return {own.time_s, own.error * own.time_s, own.measured};
  const activities::PostCost post = activities::post_cost(node, true);
  const activities::IssueCost issue = activities::issue_cost(node, turn.by_kernel);
  const double more_s = turn.copied ? issue.time_s : activities::access_s();
  return {post.time_s + more_s, std::hypot(post.error * post.time_s, activities::host_spread() * more_s), false};
}

std::string_view source_of(const ProcessCost& process) {
  return process.measured ? uncertainty::kMeasured : uncertainty::kAssumed;
}

std::string warning_of(const Platform& node, const ProcessCost& process) {
  return process.measured ? ""
                          : "what a process pays to post a message was not measured on " + node.topology().name +
                                ": assumed, " + to_text(Seconds{process.time_s});
}

/// Copies of a queue, which the process issues.
CopyForecast of_copies(const Cluster& machine, Solver& solver, const CopyRequest& request,
                       const activities::InsideTurn& turn, const ProcessCost& process) {
  CopyRequest copies = request;
  for (Copy& copy : copies.copies) copy.message = false;
  copies.inside = {};
  copies.inside.by = turn.by_kernel ? activities::MoveBy::kSm : activities::MoveBy::kDma;
  CopyForecast forecast = forecast_planned(machine, solver, copies);
  const auto messages = static_cast<double>(request.copies.size());  // a process posts what it sends and what it gets
  uncertainty::Terms host(machine.node().calibration(), process.time_s * messages);
  host.add(uncertainty::term::kLaunch, process.error_s / process.time_s, source_of(process));
  host.add_part(uncertainty::term::kLaunch, host.time_s());
  if (host.time_s() > forecast.time_s) forecast.terms = host.list();
  forecast.time_s = std::max(forecast.time_s, host.time_s());
  forecast.interval.low_s = std::max(forecast.interval.low_s, host.interval().low_s);
  forecast.interval.high_s = std::max(forecast.interval.high_s, host.interval().high_s);
  return forecast;
}

/// Bytes that the processes move: nothing of them overlaps.
CopyForecast of_processes(const Cluster& machine, const CopyRequest& request, const activities::InsideTurn& turn,
                          const ProcessCost& process) {
  const Copy& copy = request.copies.front();
  const double moving_s = copy.bytes / turn.rate_Bps;
  CopyForecast forecast;
  const Calibration& calibration = machine.node().calibration();
  uncertainty::Terms terms(calibration, process.time_s + moving_s);
  terms.add(uncertainty::term::kMisfit, uncertainty::scatter_of(calibration, turn.transport, copy.bytes),
            uncertainty::scatter_source(calibration, turn.transport));
  const std::string_view rate =
      turn.measured ? uncertainty::message_source(machine.node(), turn.transport, copy.bytes) : uncertainty::kAssumed;
  terms.add(uncertainty::term::kSerialisation, turn.rate_error * moving_s / terms.time_s(), rate);
  terms.add(uncertainty::term::kLaunch, process.error_s / terms.time_s(), source_of(process));
  terms.add_part(uncertainty::term::kLaunch, process.time_s);
  terms.add_part(uncertainty::term::kSerialisation, moving_s);
  set_terms(terms, forecast);
  if (!turn.measured)
    forecast.warnings.insert("no message of the kind " + turn.transport + " was measured on " +
                             machine.node().topology().name + ": assumed, " + to_text(BytesPerSecond{turn.rate_Bps}) +
                             " by the CPU");
  return forecast;
}

}  // namespace

CopyForecast forecast_queue(const Cluster& machine, Solver& solver, const CopyRequest& request) {
  const Queue queue = queue_of(machine, request);
  Stages stages(machine, queue);
  CopyForecast forecast;
  const Calibration& calibration = machine.node().calibration();
  uncertainty::Terms terms(calibration, stages.pace(solver));
  terms.add(uncertainty::term::kMisfit, uncertainty::scatter_of(calibration, queue.transport, queue.bytes),
            uncertainty::scatter_source(calibration, queue.transport));
  terms.add(uncertainty::term::kSerialisation, stages.rate_error(),
            uncertainty::message_source(machine.node(), queue.transport, queue.bytes));
  terms.add_part(uncertainty::term::kSerialisation, terms.time_s());
  terms.bound(stages.wire_s());
  set_terms(terms, forecast);
  forecast.timing = Timing::kBackToBack;
  Queue small = queue;
  small.bytes = 1;
  forecast.alone = LoneCopyForecast{queue.transport};
  forecast.latency_s = Stages(machine, small).pace(solver);
  forecast.bandwidth_Bps = queue.bytes / forecast.time_s;
  forecast.warnings.insert("figures of the NIC's engine are printed ones: " +
                           machine.node().topology().devices[at(machine.nic_device(queue.out_nic))].id);
  return forecast;
}

bool is_window_in_node(const CopyRequest& request) {
  const Copy& copy = request.copies.front();
  const std::string& transport = request.between.transport;
  return copy.message && request.timing == Timing::kBackToBack && copy.from.node == copy.to.node &&
         request.into_nic < 0 && request.via_nic < 0 && (transport.empty() || transport.starts_with("mpi_"));
}

CopyForecast forecast_window(const Cluster& machine, Solver& solver, const CopyRequest& request) {
  const Platform& node = machine.node();
  const Copy& copy = request.copies.front();
  activities::Message message = request.between;
  message.from = copy.from;
  message.to = copy.to;
  message.bytes = copy.bytes;
  const activities::InsideTurn turn = activities::inside_turn(node, message);
  const bool of_gpu = is_gpu(node, copy.from.device) || is_gpu(node, copy.to.device);
  const ProcessCost process = process_cost(node, turn, of_gpu);
  if (!turn.copied && request.copies.size() > 1)
    throw InputError(
        "bidirectional: is not known of messages one behind the other that the CPU moves, as of this size");
  CopyForecast forecast =
      turn.copied ? of_copies(machine, solver, request, turn, process) : of_processes(machine, request, turn, process);
  forecast.timing = Timing::kBackToBack;
  forecast.issued.reset();
  double bytes = 0;
  for (const Copy& one : request.copies) bytes += one.bytes;
  forecast.bandwidth_Bps = bytes / forecast.time_s;
  if (!forecast.alone) forecast.alone.emplace();
  forecast.latency_s = process.time_s;
  forecast.alone->transport = turn.transport;
  if (const std::string warning = warning_of(node, process); !warning.empty()) forecast.warnings.insert(warning);
  return forecast;
}

}  // namespace linkcast::copy
