#include "sim/engine/plan_record.hpp"

#include <algorithm>
#include <utility>

namespace linkcast {
namespace {

thread_local PlanRecord* recording = nullptr;

}  // namespace

PlanRecord::PlanRecord(std::size_t most) : most_(most), before_(std::exchange(recording, this)) {}
PlanRecord::~PlanRecord() { recording = before_; }
PlanRecord* PlanRecord::current() { return recording; }

void PlanRecord::name_links(const Problem& problem, const std::function<std::string(int)>& name_of) {
  if (problem.activities.size() > most_) return;
  std::erase_if(named_, [&](const Named& one) { return one.capacity_Bps == problem.capacity_Bps; });
  Named named{problem.capacity_Bps, {}};
  for (std::size_t c = 0; c < problem.capacity_Bps.size(); ++c) named.links.push_back(name_of(static_cast<int>(c)));
  named_.push_back(std::move(named));
}

void PlanRecord::add(const Problem& problem, const Solution& solution) {
  if (problem.activities.size() > most_) {
    too_large_ = std::max(too_large_, problem.activities.size());
    return;
  }
  if (plans_.size() == kMostPlans) return;
  std::vector<std::string> links;
  for (const Named& one : named_)
    if (one.capacity_Bps == problem.capacity_Bps) links = one.links;
  for (std::size_t c = links.size(); c < problem.capacity_Bps.size(); ++c) links.push_back("link" + std::to_string(c));
  plans_.push_back({problem, solution, std::move(links)});
}

}  // namespace linkcast
