// Classes of pairs as short text and as JSON.
#include <algorithm>
#include <set>

#include "calibrate/fit/pair_classes.hpp"

namespace linkcast::fit {
namespace {

const std::string& name_of(const Topology& topology, int device) {
  return topology.devices[static_cast<std::size_t>(device)].id;
}

/// True if the pairs hold every one of `all` that `same` picks, and more than one.
template <class Same>
bool holds_all(const std::set<DevicePair>& pairs, const std::vector<DevicePair>& all, Same same) {
  int count = 0;
  for (const DevicePair& pair : all) {
    if (!same(pair)) continue;
    ++count;
    if (!pairs.count(pair)) return false;
  }
  return count > 1;
}

/// Takes those pairs out of the set that `same` picks.
template <class Same>
void take(std::set<DevicePair>& pairs, Same same) {
  for (auto it = pairs.begin(); it != pairs.end();) it = same(*it) ? pairs.erase(it) : std::next(it);
}

/// "gpu1..gpu3,gpu5": devices whose indices follow one another in one run.
std::string runs(const Topology& topology, const std::vector<int>& devices) {
  std::string text;
  for (std::size_t i = 0; i < devices.size(); ++i) {
    const std::size_t first = i;
    while (i + 1 < devices.size() && devices[i + 1] == devices[i] + 1) ++i;
    text += (text.empty() ? "" : ",") + name_of(topology, devices[first]);
    if (i > first) text += (i == first + 1 ? "," : "..") + name_of(topology, devices[i]);
  }
  return text;
}

/// Sources with the same targets together; a device with itself by its name alone.
void add_runs(const Topology& topology, const std::set<DevicePair>& pairs, std::vector<std::string>& texts) {
  std::map<int, std::vector<int>> targets;
  std::vector<int> alone;
  for (const auto& [source, target] : pairs)
    if (source == target)
      alone.push_back(source);
    else
      targets[source].push_back(target);
  if (!alone.empty()) texts.push_back(runs(topology, alone));
  std::set<std::vector<int>> told;
  for (const auto& [source, list] : targets) {
    if (!told.insert(list).second) continue;
    std::vector<int> sources;
    for (const auto& [other, others] : targets)
      if (others == list) sources.push_back(other);
    texts.push_back(runs(topology, sources) + "->" + runs(topology, list));
  }
}

}  // namespace

std::vector<std::string> compact(const Topology& topology, const std::vector<DevicePair>& pairs,
                                 const std::vector<DevicePair>& all) {
  if (pairs.size() == all.size()) return {"*->*"};
  std::set<DevicePair> left(pairs.begin(), pairs.end());
  const std::set<DevicePair> whole = left;
  std::vector<std::string> texts;
  for (std::size_t d = 0; d < topology.devices.size(); ++d) {
    const auto from = [&](const DevicePair& pair) { return pair.first == static_cast<int>(d); };
    if (!holds_all(whole, all, from)) continue;
    texts.push_back(topology.devices[d].id + "->*");
    take(left, from);
  }
  for (std::size_t d = 0; d < topology.devices.size(); ++d) {
    const auto to = [&](const DevicePair& pair) { return pair.second == static_cast<int>(d); };
    if (!holds_all(whole, all, to) || std::none_of(left.begin(), left.end(), to)) continue;
    texts.push_back("*->" + topology.devices[d].id);
    take(left, to);
  }
  add_runs(topology, left, texts);
  return texts;
}

Json to_json(const std::vector<PairClasses>& found) {
  Json list = Json::array();
  for (const PairClasses& f : found) {
    Json classes = Json::array();
    for (const PairClass& c : f.classes) {
      Json wirings = Json::object();
      for (const auto& [wiring, count] : c.wirings) wirings[wiring] = count;
      classes.push_back({{f.rate ? "rate_Bps" : "time_s", c.value},
                         {"pairs", c.pairs.size()},
                         {"wirings", wirings},
                         {"members", c.members}});
    }
    list.push_back({{"transport", f.transport},
                    {"from_B", f.from_B},
                    {"to_B", f.to_B},
                    {"noise", f.noise},
                    {"classes", classes},
                    {"unlike_though_wired_alike", f.unlike},
                    {"not_told_apart", f.alike}});
  }
  return list;
}

}  // namespace linkcast::fit
