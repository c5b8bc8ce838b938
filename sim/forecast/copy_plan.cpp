#include "sim/forecast/copy_plan.hpp"

#include <algorithm>

#include "sim/base/index.hpp"

namespace linkcast::copy {

namespace {

/// Node and device of GPUs that copy over the host in both directions. @returns  bytes that both directions have
std::map<std::pair<int, int>, double> bidirectional_gpus(const Cluster& machine, const CopyRequest& request) {
  std::map<std::pair<int, int>, double> up, both;
  if (request.copies.size() < 2) return both;
  const std::string& named = request.inside.transport;
  const auto over_host = [&](const Copy& copy) {
    return !copy.message && activities::crosses_host(machine.node(), copy.from.device, copy.to.device, named);
  };
  const auto most = [](double& bytes, double more) { bytes = std::max(bytes, more); };
  for (const Copy& copy : request.copies)
    if (over_host(copy)) most(up[{copy.from.node, copy.from.device}], copy.bytes);
  for (const Copy& copy : request.copies) {
    const auto back = up.find({copy.to.node, copy.to.device});
    const bool gpu = machine.node().topology().devices[at(copy.to.device)].kind == DeviceKind::kGpu;
    if (gpu && back != up.end() && over_host(copy)) most(both[back->first], std::min(back->second, copy.bytes));
  }
  return both;
}

}  // namespace

CopyPlan::CopyPlan(const Cluster& machine, const CopyRequest& request, const std::vector<std::size_t>& order)
    : problem_(machine), copies_(request.copies.size()), bidirectional_(bidirectional_gpus(machine, request)) {
  if (request.load.noise) problem_.keep_crossings();
  if (request.host && request.timing == Timing::kSingle) issue(request);
  for (const std::size_t i : order) {
    issue_ = issues_.empty() ? -1 : issues_[i];
    const int first = static_cast<int>(problem_.problem().activities.size());
    copies_[i] = add(request, request.copies[i]);
    copies_[i].first = first;
    copies_[i].end = static_cast<int>(problem_.problem().activities.size());
  }
}

void CopyPlan::issue(const CopyRequest& request) {
  for (std::size_t i = 0; i < request.copies.size(); ++i) {
    Activity activity;
    activity.delay_s = request.host->issue.s;
    if (i > 0) activity.after = {issues_.back()};
    issues_.push_back(problem_.add(std::move(activity)));
  }
}

PlannedCopy CopyPlan::add(const CopyRequest& request, const Copy& copy) {
  if (!copy.message) {
    activities::Transfer transfer = request.inside;
    transfer.source = copy.from.device;
    transfer.target = copy.to.device;
    transfer.bytes = copy.bytes;
    for (const activities::ClusterEnd& end : {copy.from, copy.to}) {
      const auto both = bidirectional_.find({end.node, end.device});
      transfer.bidirectional = transfer.bidirectional || (both != bidirectional_.end() && copy.bytes <= both->second);
    }
    return add_inside(transfer, copy.from.node);
  }
  activities::Message message = request.between;
  message.from = copy.from;
  message.to = copy.to;
  message.bytes = copy.bytes;
  PlannedCopy planned;
  planned.between = activities::add_message(problem_, message);
  planned.node = copy.from.node;
  planned.main = planned.between->network;
  planned.last = planned.between->activity;
  return planned;
}

PlannedCopy CopyPlan::add_inside(const activities::Transfer& transfer, int node) {
  const Platform& platform = problem_.cluster().node();
  const auto [entry, fresh] = nodes_.try_emplace(node, platform);
  activities::ProblemBuilder& builder = entry->second;
  std::vector<int>& number = number_[node];
  PlannedCopy planned;
  planned.inside = builder.add(transfer);
  planned.node = node;
  const std::vector<Activity>& inside = builder.problem().activities;
  if (copies_.size() == 1 && inside.size() == 1)
    problem_.include_used(node, inside.front().uses);
  else if (fresh)
    problem_.include_node(node);
  for (std::size_t i = number.size(); i < inside.size(); ++i) {
    Activity activity = inside[i];
    problem_.pass_constraints(node, activity.uses);
    for (int& before : activity.after) before = number[at(before)];
    if (activity.after.empty() && issue_ >= 0) activity.after = {issue_};
    for (int& queue : activity.queues) queue = activities::queue_of_node(platform, node, queue);
    number.push_back(problem_.add(std::move(activity)));
  }
  planned.main = number[at(planned.inside->main_activity)];
  planned.last = number[at(planned.inside->activities.back())];
  return planned;
}

std::vector<int> CopyPlan::links_of(const PlannedCopy& copy) const {
  if (copy.between) return copy.between->links;
  std::vector<int> keys;
  for (const int link : copy.inside->links) keys.push_back(problem_.cluster().key(copy.node, link));
  return keys;
}

}  // namespace linkcast::copy
