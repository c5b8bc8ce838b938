#include "sim/forecast/message_window.hpp"

#include <algorithm>
#include <cmath>

#include "sim/base/index.hpp"
#include "sim/forecast/terms.hpp"
#include "sim/plan/inside_path.hpp"
#include "sim/plan/mpi_costs.hpp"

namespace linkcast::copy {
namespace {

bool in_gpu(const Platform& node, int device) { return node.topology().devices[at(device)].kind == DeviceKind::kGpu; }

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
  CopyForecast forecast = forecast_copies(machine, solver, copies);
  const auto messages = static_cast<double>(request.copies.size());  // a process posts what it sends and what it gets
  uncertainty::Terms host(machine.node().calibration(), process.time_s * messages);
  host.add(uncertainty::term::kLaunch, process.error_s / process.time_s);
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
            uncertainty::kScatter);
  terms.add(uncertainty::term::kSerialisation,
            std::hypot(process.error_s, turn.rate_error * moving_s) / terms.time_s());
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
  const bool of_gpu = in_gpu(node, copy.from.device) || in_gpu(node, copy.to.device);
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
  forecast.alone->latency_s = process.time_s;
  forecast.alone->transport = turn.transport;
  if (const std::string warning = warning_of(node, process); !warning.empty()) forecast.warnings.insert(warning);
  return forecast;
}

}  // namespace linkcast::copy
