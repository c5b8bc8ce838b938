#include "sim/forecast/scheduled_run.hpp"

#include <algorithm>
#include <utility>

#include "sim/base/index.hpp"
#include "sim/forecast/algorithm.hpp"
#include "sim/plan/cluster_message.hpp"

namespace linkcast::collective {
namespace {

/// Node by node.
std::vector<ClusterGpu> ranks_of(const Communicator& communicator) {
  std::vector<ClusterGpu> ranks;
  for (int node = 0; node < communicator.nodes; ++node)
    for (const int gpu : communicator.gpus) ranks.push_back({node, gpu});
  return ranks;
}

/// Library whose parameters the messages have.
std::string message_library(const CollectiveJob& job) {
  const std::string other = job.library.schedules()->messages_of();
  return other.empty() ? job.communicator.library : other;
}

/// Messages between GPUs, or between the CPUs next to them.
activities::ScheduleJob messages_of(const CollectiveJob& job, Staging staging) {
  const Platform& node = job.node();
  const bool host = staging != Staging::kNone;
  const int per_node = static_cast<int>(job.communicator.gpus.size());
  const std::string library = message_library(job);
  activities::ScheduleJob messages{job.machine,
                                   {},
                                   per_node,
                                   job.size_B,
                                   activities::combine_cost(node, library, host),
                                   job.transport,
                                   activities::message_costs(node, library, host)};
  for (const ClusterGpu& rank : ranks_of(job.communicator)) {
    const int gpu = node.gpu(rank.gpu);
    messages.ranks.push_back({rank.node, host ? node.socket_of(gpu) : gpu, rank.gpu});
  }
  return messages;
}

activities::StagedBuffers staging_of(const CollectiveJob& job, Staging staging) {
  return {ranks_of(job.communicator), job.op, job.size_B, staging,
          activities::staging_costs(job.node(), job.communicator.library, staging == Staging::kPinned)};
}

Schedule schedule_of(const CollectiveJob& job, const std::string& algorithm) {
  Schedule schedule = algorithms().get(algorithm).schedule(scheduled_operation(job), job.ranks());
  const std::vector<double>& parts_B = job.op.parts_B();
  return parts_B.empty() ? schedule : with_parts(std::move(schedule), parts_B, job.size_B);
}

/// Bytes of the send buffer that a rank copies to its receive buffer before it sends: all of it where they are combined
/// there. source: MPICH 4.0.2, src/mpi/coll (MPIR_Localcopy); Open MPI 4.1.4, ompi/mca/coll/base
double own_B(const CollectiveJob& job) {
  const CollectiveTraits traits = job.op.traits();
  if (traits.root) return 0;
  if (const std::vector<double>& parts_B = job.op.parts_B(); !parts_B.empty()) {  // of the rank that keeps most
    const auto step = static_cast<std::size_t>(traits.parts == PartSizes::kOfPairs ? job.ranks() + 1 : 1);
    double most_B = 0;
    for (std::size_t own = 0; own < parts_B.size(); own += step) most_B = std::max(most_B, parts_B[own]);
    return most_B;
  }
  if (traits.reduces) return job.size_B;
  const bool parts = traits.gathers || job.op.every_pair() || traits.parts == PartSizes::kOfPairs;
  return parts ? job.size_B / job.ranks() : 0;
}

/// One activity for messages that are too many: alone it takes the time of the run. Start-ups of later messages pass
/// while earlier ones move, so that the bytes take no less than those of the fullest link.
activities::Plan average_to_share(const Cluster& machine, const ScheduledRun& run) {
  activities::Plan plan;
  Activity flow;
  flow.work_B = run.times.chain_B;
  double flow_s = std::max(0.0, run.time_s() - run.times.latency_s - run.inside_s());
  run.times.load_B.each([&](int key, double bytes) { flow_s = std::max(flow_s, bytes / machine.capacity(key)); });
  if (flow.work_B <= 0 || flow_s <= 0) {
    flow.delay_s = run.time_s();
    flow.work_B = 0;
  } else {
    flow.delay_s = std::max(0.0, run.time_s() - flow_s);
    flow.rate_cap_Bps = flow.work_B / flow_s;
    run.times.load_B.each([&](int key, double bytes) { flow.uses.push_back({key, bytes / flow.work_B}); });
  }
  plan.activities.push_back(std::move(flow));
  return plan;
}

/// Adds the activities of a problem to a plan: those that wait for nothing wait for `before`.
void append(activities::ClusterProblem& problem, const std::vector<int>& before, activities::Plan& plan) {
  const int first = static_cast<int>(plan.activities.size());
  for (Activity activity : problem.problem().activities) {
    for (Use& use : activity.uses) use.constraint = problem.key(use.constraint);
    for (int& earlier : activity.after) earlier += first;
    if (activity.after.empty()) activity.after = before;
    plan.activities.push_back(std::move(activity));
  }
}

/// A moment that comes when all activities from `first` on have ended.
std::vector<int> all_ended(int first, activities::Plan& plan) {
  const int moment = static_cast<int>(plan.activities.size());
  Activity ended;
  for (int activity = first; activity < moment; ++activity) ended.after.push_back(activity);
  plan.activities.push_back(std::move(ended));
  return {moment};
}

}  // namespace

Communicator schedule_ranks(const std::string& library, int nodes, std::vector<int> gpus) {
  Communicator ranks;
  ranks.library = library;
  ranks.nodes = nodes;
  ranks.gpus = std::move(gpus);
  return ranks;
}

std::string scheduled_operation(const CollectiveJob& job) {
  const std::string equal = job.op.equal_parts();
  return equal.empty() ? job.op_name : equal;
}

std::string algorithm_of(const CollectiveJob& job) {
  const double version = activities::library_version(job.node().calibration(), message_library(job));
  const std::string takes = job.library.schedules()->algorithm({job.op_name, {job.size_B}, job.ranks(), version});
  return job.algorithm.empty() ? takes : job.algorithm;
}

ScheduledRun run_scheduled(const CollectiveJob& job, const std::string& algorithm, Solver& solver) {
  ScheduledRun run{algorithm, job.library.schedules()->staging(job.op), {}, {}};
  run.times = activities::run_schedule(messages_of(job, run.staging), schedule_of(job, algorithm), solver);
  if (!job.op.parts_B().empty() && run.times.steady)
    throw InputError("sizes_B: too many messages of " + algorithm +
                     " to forecast each, and none stands for others that differ in size: take fewer ranks");
  const double own = own_B(job);
  if (run.staging != Staging::kNone)
    run.copies = activities::staging_times(job.machine, staging_of(job, run.staging), solver);
  else if (own > 0)
    run.own_s = activities::own_copy_s(job.node(), own);
  // The rate of pageable buffers, fitted to whole collectives, has it already.
  if (run.staging == Staging::kPinned)
    run.own_s = own / activities::host_copy_Bps(job.node(), message_library(job), own);
  return run;
}

activities::ClusterProblem scheduled_problem(const CollectiveJob& job, const ScheduledRun& run) {
  return activities::schedule_problem(messages_of(job, run.staging), schedule_of(job, run.algorithm));
}

activities::Plan scheduled_to_share(const CollectiveJob& job, const ScheduledRun& run) {
  if (run.times.steady) return average_to_share(job.machine, run);
  activities::ClusterProblem in(job.machine), out(job.machine), messages = scheduled_problem(job, run);
  if (run.staging != Staging::kNone)
    activities::add_staging_copies(staging_of(job, run.staging), job.communicator.nodes, in, out);
  activities::Plan plan;
  append(in, {}, plan);
  if (run.own_s > 0) plan.activities[at(all_ended(0, plan).front())].delay_s = run.own_s;
  const std::vector<int> begin = plan.activities.empty() ? std::vector<int>{} : all_ended(0, plan);
  const int first = static_cast<int>(plan.activities.size());
  append(messages, begin, plan);
  if (!out.problem().activities.empty()) append(out, all_ended(first, plan), plan);
  return plan;
}

}  // namespace linkcast::collective
