#include "sim/forecast/link_loads.hpp"

#include <algorithm>
#include <map>

#include "sim/base/limits.hpp"
#include "sim/forecast/collective_run.hpp"

namespace linkcast::collective {
namespace {

constexpr std::size_t kMostLinks = 16384;  // source: ours, 1.2 MB of JSON

}  // namespace

std::vector<LinkLoad> link_loads(const CollectiveJob& job, double time_s, Solver& solver) {
  const SharedRun shared = run_to_share(job, solver);
  std::map<int, double> carried_B;  // by key
  for (const Activity& activity : shared.plan.activities) {
    work::look();
    for (const Use& use : activity.uses)
      if (!activities::is_own_limit(use.constraint)) carried_B[use.constraint] += use.weight * activity.work_B;
  }
  std::vector<LinkLoad> loads;
  for (const auto& [key, bytes] : carried_B) {
    std::string id = name_of(job, key);
    if (bytes > 0 && !id.empty()) loads.push_back({std::move(id), bytes, bytes / job.machine.capacity(key) / time_s});
  }
  std::stable_sort(loads.begin(), loads.end(),
                   [](const LinkLoad& a, const LinkLoad& b) { return a.utilisation > b.utilisation; });
  if (loads.size() > kMostLinks) loads.resize(kMostLinks);
  return loads;
}

query::Key links_result() {
  const auto number = [](const char* name, const char* help) {
    return query::Key{.name = name, .type = query::ValueType::kNumber, .help = help, .required = true};
  };
  return {.name = "links",
          .type = query::ValueType::kObjects,
          .help = "with utilisation: what it puts on each link, the busiest first, 16384 at most",
          .fields = {{.name = "id", .required = true},
                     number("carried_B", "protocol included"),
                     number("utilisation", "share of the time, at its attained bandwidth")}};
}

Json to_json(const std::vector<LinkLoad>& loads) {
  Json rows = Json::array();
  for (const LinkLoad& load : loads)
    rows.push_back({{"id", load.id}, {"carried_B", load.carried_B}, {"utilisation", load.utilisation}});
  return rows;
}

}  // namespace linkcast::collective
