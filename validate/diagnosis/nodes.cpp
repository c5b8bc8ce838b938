#include "validate/diagnosis/nodes.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <optional>
#include <set>

#include "sim/base/statistics.hpp"
#include "sim/base/table.hpp"

namespace linkcast::diagnosis {
namespace {

constexpr std::size_t kLeastLogs = 3;   // source: ours, of two either may be the odd one
constexpr double kSigmas = 3;           // source: ours, the usual three
constexpr std::size_t kLeastSizes = 3;  // source: ours, as of a curve

using Values = std::vector<std::optional<double>>;  // of each log

/// Each log's ln(time) over the median of all, in the middle of the sizes that count.
template <class Counts>
Values levels_of(const std::vector<FleetLog>& logs, Counts counts) {
  std::map<std::string, std::vector<double>> all;
  for (const FleetLog& log : logs)
    for (const auto& [key, time_s] : log.time_s)
      if (counts(log.points.at(key))) all[key].push_back(std::log(time_s));
  Values levels;
  for (const FleetLog& log : logs) {
    std::vector<double> over;
    for (const auto& [key, time_s] : log.time_s)
      if (const auto found = all.find(key); found != all.end() && found->second.size() > 1)
        over.push_back(std::log(time_s) - median(found->second));
    levels.push_back(over.size() < kLeastSizes ? std::nullopt : std::optional(median(over)));
  }
  return levels;
}

struct Split {
  std::vector<double> with, without;
};

Split split_by(const std::vector<FleetLog>& logs, const Values& levels, const std::vector<bool>& left,
               const std::string& host) {
  Split split;
  for (std::size_t i = 0; i < logs.size(); ++i) {
    if (!left[i] || !levels[i]) continue;
    const bool has = std::binary_search(logs[i].hosts.begin(), logs[i].hosts.end(), host);
    (has ? split.with : split.without).push_back(*levels[i]);
  }
  return split;
}

/// The usual difference of logs of healthy nodes: their own scatter, and two machines of one type.
double least_of(const Split& split) {
  std::vector<double> apart;
  for (const auto* side : {&split.with, &split.without})
    for (const double level : *side) apart.push_back(level - median(*side));
  const double sigma = updated_sigma(box_sigma(false), robust_sigma(apart), apart.size());
  return kSigmas * sigma *
         std::sqrt(1 / static_cast<double>(split.with.size()) + 1 / static_cast<double>(split.without.size()));
}

double misfit(const Split& split) {
  double sum = 0;
  for (const auto* side : {&split.with, &split.without})
    for (const double level : *side) sum += std::abs(level - median(*side));
  return sum;
}

/// The node without which the others are most alike; nothing: none is slow.
std::optional<SlowNode> slowest(const std::vector<FleetLog>& logs, const Values& levels,
                                const std::vector<bool>& left) {
  std::set<std::string> hosts;
  for (const FleetLog& log : logs) hosts.insert(log.hosts.begin(), log.hosts.end());
  std::optional<SlowNode> best;
  double least = 0;
  for (const std::string& host : hosts) {
    const Split split = split_by(logs, levels, left, host);
    if (split.with.empty() || split.without.empty()) continue;
    const double slower = median(split.with) - median(split.without);
    const double lowest = *std::min_element(split.with.begin(), split.with.end()) - median(split.without);
    if (slower <= least_of(split) || lowest < slower / 2) continue;
    const double rest = misfit(split);
    constexpr double kEqual = 1e-9;  // source: ours, rounding
    if (best && rest < least + kEqual && rest > least - kEqual && split.with.size() == best->with) {
      best->hosts.push_back(host);
    } else if (!best || rest < least) {
      best = SlowNode{{host}, "", std::exp(slower), split.with.size(), split.without.size()};
      least = rest;
    }
  }
  return best;
}

bool shares(const FleetLog& log, const std::vector<std::string>& hosts) {
  return std::any_of(hosts.begin(), hosts.end(), [&](const std::string& host) {
    return std::binary_search(log.hosts.begin(), log.hosts.end(), host);
  });
}

std::vector<SlowNode> slow_nodes(const std::vector<FleetLog>& logs, const Values& levels, const std::string& part) {
  std::vector<SlowNode> found;
  std::vector<bool> left(logs.size(), true);
  while (auto one = slowest(logs, levels, left)) {
    // Equal accounts by nodes of different logs are two slow nodes, or none that is known: the first, then the rest.
    const std::string first = one->hosts.front();
    std::erase_if(one->hosts, [&](const std::string& host) {
      return std::any_of(logs.begin(), logs.end(),
                         [&](const FleetLog& log) { return shares(log, {first}) != shares(log, {host}); });
    });
    one->part = part;
    for (std::size_t i = 0; i < logs.size(); ++i) left[i] = left[i] && !shares(logs[i], one->hosts);
    found.push_back(std::move(*one));
  }
  return found;
}

void find_slow_nodes(const std::vector<FleetLog>& logs, NodeComparison& nodes) {
  const auto add = [&](const std::string& part, auto counts) {
    for (SlowNode& one : slow_nodes(logs, levels_of(logs, counts), part)) {
      const auto known = [&](const SlowNode& other) { return other.hosts == one.hosts; };
      if (std::none_of(nodes.slow.begin(), nodes.slow.end(), known)) nodes.slow.push_back(std::move(one));
    }
  };
  add("everything", [](const Judged&) { return true; });
  add("large sizes", [](const Judged& p) { return p.size_B >= kLargeFrom_B; });
  add("small sizes", [](const Judged& p) { return p.size_B < kLargeFrom_B; });
}

}  // namespace

bool of_other_nodes(const std::vector<FleetLog>& logs) {
  std::set<std::vector<std::string>> sets;
  for (const FleetLog& log : logs) {
    if (log.hosts.size() < 2) return false;
    sets.insert(log.hosts);
  }
  return sets.size() > 1;
}

NodeComparison compare_nodes(const std::vector<FleetLog>& logs) {
  if (logs.size() < kLeastLogs)
    throw InputError(fmt::format("baseline: {} logs: three at least, or either may be the odd one", logs.size()));
  NodeComparison nodes;
  find_slow_nodes(logs, nodes);
  std::vector<FleetLog> healthy;
  for (const FleetLog& log : logs)
    if (std::none_of(nodes.slow.begin(), nodes.slow.end(), [&](const SlowNode& one) { return shares(log, one.hosts); }))
      healthy.push_back(log);
  const Values levels = levels_of(logs, [](const Judged&) { return true; });
  std::vector<double> fine;
  for (std::size_t i = 0; i < logs.size(); ++i) {
    if (!levels[i]) throw InputError(logs[i].name + ": has fewer than three points in common with the others");
    if (std::any_of(healthy.begin(), healthy.end(), [&](const FleetLog& log) { return log.name == logs[i].name; }))
      fine.push_back(*levels[i]);
  }
  const double usual = median(fine);
  std::vector<double> apart;
  for (const double level : fine) apart.push_back(level - usual);
  const double sigma = updated_sigma(box_sigma(false), robust_sigma(apart), apart.size());
  nodes.usual = std::exp(kSigmas * std::sqrt(2.0) * sigma);
  for (std::size_t i = 0; i < logs.size(); ++i) {
    NodeMember member{logs[i].name, logs[i].hosts, std::exp(*levels[i] - usual)};
    const bool known = std::any_of(nodes.slow.begin(), nodes.slow.end(),
                                   [&](const SlowNode& one) { return shares(logs[i], one.hosts); });
    member.apart = !known && member.times > nodes.usual;
    member.slow = known || member.apart;
    if (member.slow) nodes.verdict = Verdict::kFaulty;
    nodes.members.push_back(std::move(member));
  }
  if (nodes.verdict == Verdict::kNormal && nodes.usual >= kNotNormal) nodes.verdict = Verdict::kCannotTell;
  return nodes;
}

Json to_json(const NodeComparison& nodes) {
  Json logs = Json::array(), slow = Json::array();
  for (const NodeMember& m : nodes.members)
    logs.push_back({{"file", m.name}, {"hosts", m.hosts}, {"times", m.times}, {"slow", m.slow}, {"apart", m.apart}});
  for (const SlowNode& s : nodes.slow)
    slow.push_back(
        {{"hosts", s.hosts}, {"part", s.part}, {"times", s.times}, {"with", s.with}, {"without", s.without}});
  return {{"verdict", text_of(nodes.verdict)},
          {"normal", nodes.verdict == Verdict::kNormal},
          {"slow", slow},
          {"usual", nodes.usual},
          {"logs", logs}};
}

namespace {

// Nodes that fit a line. source: ours
constexpr std::size_t kMostHosts = 6;

std::string hosts_text(const std::vector<std::string>& hosts) {
  if (hosts.size() <= kMostHosts) return joined(hosts, " ");
  return fmt::format("{} nodes ({} to {})", hosts.size(), hosts.front(), hosts.back());
}

}  // namespace

std::string text_of(const NodeComparison& nodes) {
  std::string text = fmt::format("{} logs of other nodes: {}\n", nodes.members.size(), text_of(nodes.verdict));
  for (const SlowNode& s : nodes.slow)
    text += fmt::format("slow node: {}, {} {:.2f} times ({} logs with it, {} without)\n", joined(s.hosts, " or "),
                        s.part, s.times, s.with, s.without);
  for (const NodeMember& m : nodes.members)
    if (m.apart)
      text += fmt::format(
          "slow together: {}, {:.2f} times, though each is in no other slow log: the network between "
          "them\n",
          hosts_text(m.hosts), m.times);
  std::vector<std::vector<std::string>> rows{{"log", "nodes", "times", ""}};
  for (const NodeMember& m : nodes.members)
    rows.push_back({m.name, hosts_text(m.hosts), fmt::format("{:.2f}", m.times), m.slow ? "slow" : "alike"});
  return text + linkcast::table_text(rows) + fmt::format("such logs differ by up to {:.2f} times\n", nodes.usual);
}

}  // namespace linkcast::diagnosis
