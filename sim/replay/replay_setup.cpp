#include "sim/replay/replay_setup.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "sim/machine/trace_source.hpp"

namespace linkcast::replay {
namespace {

/// GPUs of a part, checked. @param taken  by the parts before. @param key  that says where the part goes
std::vector<int> place(const ReplayPart& part, int ranks, int gpus, std::set<int>& taken, const std::string& key) {
  std::vector<int> placed = part.gpus;
  for (int gpu = 0; gpu < gpus && part.gpus.empty() && static_cast<int>(placed.size()) < ranks; ++gpu)
    if (taken.count(gpu) == 0) placed.push_back(gpu);
  if (static_cast<int>(placed.size()) != ranks) {
    const std::string has = fmt::format("{} has {} ranks and", part.trace, ranks);
    if (!part.gpus.empty()) throw InputError(fmt::format("{}: {} {} GPUs are named", key, has, placed.size()));
    if (key == "also") throw InputError(fmt::format("{}: {} {} GPUs are left for it", key, has, placed.size()));
    throw InputError(fmt::format("{} the machine has {} GPUs", has, placed.size()));
  }
  std::set<int> own;
  for (const int gpu : placed) {
    if (gpu < 0 || gpu >= gpus)
      throw InputError(fmt::format("{}: there is no GPU {}, the machine has 0 to {}", key, gpu, gpus - 1));
    if (!own.insert(gpu).second) throw InputError(fmt::format("{}: GPU {} is named twice", key, gpu));
    if (taken.count(gpu) > 0)
      throw InputError(fmt::format("also: GPU {} has a rank of another job: a GPU computes for one", gpu));
  }
  taken.insert(own.begin(), own.end());
  return placed;
}

}  // namespace

std::vector<ReplayJob> jobs_of(const ReplayRequest& request, const std::string& data_dir, int gpus, int runs) {
  std::vector<ReplayJob> jobs;
  std::set<int> taken;
  for (const ReplayPart& part : request.parts) {
    const auto open = [part, data_dir] {
      return part.text ? catalogue::open_text(*part.text, part.trace)
                       : catalogue::open_trace(data_dir, part.trace, part.options);
    };
    auto feed = std::make_unique<TraceFeed>(open(), part.ranks, request.local);
    if (jobs.empty() && request.repeat > 1) feed->repeat(request.repeat, open);
    feed->share(runs);
    std::vector<int> placed = place(part, feed->ranks(), gpus, taken, jobs.empty() ? "placement" : "also");
    const std::optional<bool> recorded = feed->header().nvls;
    jobs.push_back(
        {std::move(feed), std::move(placed), request.host_scale, request.nvls.value_or(recorded.value_or(true))});
  }
  return jobs;
}

std::size_t ranks_of(const std::vector<ReplayJob>& jobs) {
  std::size_t ranks = 0;
  for (const ReplayJob& job : jobs) ranks += static_cast<std::size_t>(job.feed->ranks());
  return ranks;
}

std::unique_ptr<ReplayNetwork> network_of(catalogue::Catalogue& catalogue, const ReplayRequest& request,
                                          IntervalEnd end, std::shared_ptr<SharedPlans> plans) {
  const auto& known = Transports::message_names();
  if (!request.transport.empty() && std::find(known.begin(), known.end(), request.transport) == known.end()) {
    std::string names;
    for (const std::string& name : known) names += (names.empty() ? "" : ", ") + name;
    throw InputError("transport: '" + request.transport + "' is no kind of message: one of " + names);
  }
  const std::string usual = request.nodes == 0 ? "node" : "cluster";
  return network_kinds()
      .get(request.network.empty() ? usual : request.network)
      .make(catalogue, {request.machine, request.library, request.nodes, request.gpus_per_node, request.transport, end,
                        std::move(plans), request.own});
}

}  // namespace linkcast::replay
