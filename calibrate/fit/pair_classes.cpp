#include "calibrate/fit/pair_classes.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <set>
#include <string>

#include "sim/base/parse.hpp"
#include "sim/base/text.hpp"
#include "sim/machine/platform.hpp"

namespace linkcast::fit {
// Classes of pairs as short text and as JSON.

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

namespace {

// How two devices are wired, as text that is the same for pairs wired alike.

const Link& link_at(const Platform& wires, int index) { return wires.links()[static_cast<std::size_t>(index)]; }

/// Bundles on a way, each kind once, and what lies between them.
std::string way_text(const Platform& wires, const std::vector<int>& links) {
  std::string bundles, via;
  for (std::size_t i = 0; i < links.size(); ++i) {
    const Link& link = link_at(wires, links[i]);
    const Cable& cable = wires.topology().cables[static_cast<std::size_t>(link.cable)];
    const std::string bundle = fmt::format("{} x{}", cable.kind, cable.count);
    if (bundles.find(bundle) == std::string::npos) bundles += (bundles.empty() ? "" : " and ") + bundle;
    if (i == 0) continue;
    via += (via.empty() ? " via " : ", ") + to_text(wires.topology().devices[static_cast<std::size_t>(link.from)].kind);
  }
  return bundles + via;
}

/// Copies through host memory: what both ways have in common makes the difference.
std::string staged_text(const Platform& wires, int source, int target) {
  if (wires.socket_of(source) != wires.socket_of(target)) return "other socket";
  const auto& up = wires.to_host(source).links;
  const auto& down = wires.from_host(target).links;
  const auto shared = std::count_if(up.begin(), up.end(), [&](int link) {
    return std::any_of(down.begin(), down.end(),
                       [&](int other) { return link_at(wires, link).cable == link_at(wires, other).cable; });
  });
  if (shared == 0) return "same socket";
  return shared == 1 ? "one cable up to the host in common" : fmt::format("{} cables up to the host in common", shared);
}

/// Wiring that a copy of this transport crosses: "nvlink2 x2", "nvlink4 x18 via nvswitch", "same socket", ...
/// @param transport  as in FitContext's samples; source and target are device indices
std::string wiring_of(const Platform& wires, const std::string& transport, int source, int target) {
  if (source == target) return "one device";
  if (transport == "staged") return staged_text(wires, source, target);
  if (transport.starts_with("h2d")) return way_text(wires, wires.from_host(target).links);
  if (transport.starts_with("d2h")) return way_text(wires, wires.to_host(source).links);
  const auto& route = wires.peer_route(source, target);
  return route ? way_text(wires, route->links) : "no way of its own";
}

// Of the sizes that show a rate the four largest powers of two.
constexpr double kLargestSpan = 16;
// source: ours. Pairs of one class of the P100-DGX-1 sweep lie within 1 % of their neighbours.
constexpr double kLeastGap = 0.01;
// Of pairs measured once. source: two occasions differ by 0.5 %, see fit.cpp
constexpr double kUnknownNoise = 0.005;
constexpr std::size_t kFewestForNoise = 3;
constexpr std::size_t kPairsAClass = 4;  // on average, at least, beyond two classes
constexpr double kMedianError = 1.2533;  // source: sqrt(pi / 2), of a median over that of a mean

struct Levels {
  std::vector<DevicePair> pairs;
  std::vector<double> logs;  ///< of the time, over the median of all pairs at each size
  double noise = kUnknownNoise;
  double from_B = 0, to_B = 0;
  double typical = 0;  ///< seconds, or bytes/s, of a pair at level 0
};

/// One level a pair from its medians at all sizes in reach.
Levels levels_of(const std::vector<Sample>& samples, bool rate) {
  double largest = 0;
  for (const Sample& s : samples) largest = std::max(largest, s.size_B);
  std::map<double, std::map<DevicePair, std::vector<double>>> sizes;
  for (const Sample& s : samples)
    if (rate ? s.size_B >= std::max(kSteady_B, largest / kLargestSpan) : s.size_B <= kSmall_B)
      sizes[s.size_B][{s.source, s.target}].push_back(s.time_s);
  std::map<DevicePair, std::vector<double>> logs;
  std::vector<double> typical;
  for (const auto& [size, pairs] : sizes) {
    std::vector<double> medians;
    for (const auto& [pair, times] : pairs) medians.push_back(median(times));
    const double centre = median(medians);
    typical.push_back(rate ? size / centre : centre);
    auto at = medians.begin();
    for (const auto& [pair, times] : pairs) logs[pair].push_back(std::log(*at++ / centre));
  }
  Levels levels;
  if (sizes.empty()) return levels;
  levels.from_B = sizes.begin()->first;
  levels.to_B = sizes.rbegin()->first;
  levels.typical = median(typical);
  std::vector<double> noises;
  for (const auto& [pair, list] : logs) {
    levels.pairs.push_back(pair);
    levels.logs.push_back(median(list));
    if (list.size() >= kFewestForNoise)
      noises.push_back(kMedianError * robust_sigma(list, levels.logs.back()) / std::sqrt(list.size()));
  }
  if (!noises.empty()) levels.noise = median(noises);
  return levels;
}

/// Standard deviation inside the classes if the sorted levels are cut before each of these places; raised where few
/// levels tell it, as Student's t would.
double scatter_inside(const std::vector<double>& sorted, const std::vector<std::size_t>& cuts) {
  double squares = 0;
  std::size_t from = 0;
  for (std::size_t c = 0; c <= cuts.size(); ++c) {
    const std::size_t to = c < cuts.size() ? cuts[c] : sorted.size();
    double mean = 0;
    for (std::size_t i = from; i < to; ++i) mean += sorted[i] / static_cast<double>(to - from);
    for (std::size_t i = from; i < to; ++i) squares += (sorted[i] - mean) * (sorted[i] - mean);
    from = to;
  }
  const std::size_t free = sorted.size() - cuts.size() - 1;
  const auto degrees = static_cast<double>(free);
  return free > 0 ? (1 + 2 / degrees) * std::sqrt(squares / degrees) : 0;
}

std::vector<std::size_t> find_cuts(const std::vector<double>& sorted, double noise) {
  std::vector<std::size_t> by_gap, best;
  for (std::size_t i = 1; i < sorted.size(); ++i) by_gap.push_back(i);
  const auto gap = [&](std::size_t i) { return sorted[i] - sorted[i - 1]; };
  std::stable_sort(by_gap.begin(), by_gap.end(), [&](std::size_t a, std::size_t b) { return gap(a) > gap(b); });
  const std::size_t most = std::max<std::size_t>(2, sorted.size() / kPairsAClass) - 1;
  for (std::size_t count = 1; count <= std::min(most, by_gap.size()); ++count) {
    const double smallest = gap(by_gap[count - 1]);
    if (smallest < kLeastGap) break;
    std::vector<std::size_t> cuts(by_gap.begin(), by_gap.begin() + static_cast<std::ptrdiff_t>(count));
    std::sort(cuts.begin(), cuts.end());
    if (smallest >= kDistinctSigmas * std::max(scatter_inside(sorted, cuts), noise)) best = cuts;
  }
  return best;
}

/// Joins neighbours that are too close, the closest first.
void merge_close(const std::vector<double>& sorted, std::vector<std::size_t>& cuts, double noise) {
  const auto centre = [&](std::size_t c) {
    const std::size_t from = c == 0 ? 0 : cuts[c - 1], to = c < cuts.size() ? cuts[c] : sorted.size();
    return median(
        {sorted.begin() + static_cast<std::ptrdiff_t>(from), sorted.begin() + static_cast<std::ptrdiff_t>(to)});
  };
  while (!cuts.empty()) {
    std::size_t closest = 0;
    for (std::size_t c = 1; c < cuts.size(); ++c)
      if (centre(c + 1) - centre(c) < centre(closest + 1) - centre(closest)) closest = c;
    if (centre(closest + 1) - centre(closest) >= std::max(kDistinct, kDistinctSigmas * noise)) return;
    cuts.erase(cuts.begin() + static_cast<std::ptrdiff_t>(closest));
  }
}

std::string sizes_text(const PairClasses& found) {
  const std::string from = to_text(Bytes{found.from_B});
  return found.from_B == found.to_B ? from : from + " to " + to_text(Bytes{found.to_B});
}

/// Pairs of one wiring in several classes: the class with most of them is what the others are unlike.
void compare_with_wiring(PairClasses& found, const Topology& topology, const std::map<DevicePair, std::string>& wirings,
                         const std::vector<DevicePair>& all) {
  std::map<std::string, std::size_t> usual;
  for (std::size_t c = 0; c < found.classes.size(); ++c)
    for (const auto& [wiring, count] : found.classes[c].wirings) {
      const auto [it, fresh] = usual.try_emplace(wiring, c);
      if (!fresh && count > found.classes[it->second].wirings.at(wiring)) it->second = c;
    }
  for (const auto& [wiring, home] : usual)
    for (std::size_t c = 0; c < found.classes.size(); ++c) {
      if (c == home || !found.classes[c].wirings.count(wiring)) continue;
      std::vector<DevicePair> odd;
      for (const DevicePair& pair : found.classes[c].pairs)
        if (wirings.at(pair) == wiring) odd.push_back(pair);
      const double here = found.classes[c].value, there = found.classes[home].value;
      const double longer = (found.rate ? there / here : here / there) - 1;
      char text[64];
      std::snprintf(text, sizeof text, " %.1f %% %s than ", 100 * std::abs(longer), longer > 0 ? "slower" : "faster");
      found.unlike.push_back(fmt::format("{}{}{}{} wired alike ({})", joined(compact(topology, odd, all)),
                                         odd.size() == 1 ? " is" : " are", text, found.classes[home].wirings.at(wiring),
                                         wiring));
    }
  if (!found.rate) return;  // that copies over different cables start alike is no finding
  for (std::size_t c = 0; c < found.classes.size(); ++c) {
    std::vector<std::string> here;
    for (const auto& [wiring, home] : usual)
      if (home == c) here.push_back(wiring);
    if (here.size() > 1) found.alike.push_back(joined(here));
  }
}

PairClasses classes_at(const FitContext& context, const std::string& transport, const std::vector<Sample>& samples,
                       bool rate) {
  const Levels levels = levels_of(samples, rate);
  PairClasses found{transport, rate, levels.from_B, levels.to_B, levels.noise, {}, {}, {}};
  if (levels.pairs.size() < 2) return found;
  const auto number = classes_of(levels.logs, levels.noise);
  found.classes.resize(static_cast<std::size_t>(*std::max_element(number.begin(), number.end())) + 1);
  std::vector<std::vector<double>> logs(found.classes.size());
  std::map<DevicePair, std::string> wirings;
  for (std::size_t i = 0; i < levels.pairs.size(); ++i) {
    const auto c = static_cast<std::size_t>(number[i]);
    const auto [source, target] = levels.pairs[i];
    wirings[levels.pairs[i]] = wiring_of(*context.wires, transport, source, target);
    found.classes[c].pairs.push_back(levels.pairs[i]);
    ++found.classes[c].wirings[wirings[levels.pairs[i]]];
    logs[c].push_back(levels.logs[i]);
  }
  for (std::size_t c = 0; c < logs.size(); ++c) {
    found.classes[c].value = levels.typical * std::exp(rate ? -median(logs[c]) : median(logs[c]));
    found.classes[c].members = compact(context.wires->topology(), found.classes[c].pairs, levels.pairs);
  }
  compare_with_wiring(found, context.wires->topology(), wirings, levels.pairs);
  const std::string head = transport + " copies of " + sizes_text(found) + ": ";
  for (std::string& line : found.unlike) line = head + line;
  for (std::string& line : found.alike) line = head + "no difference between " + line;
  return found;
}

}  // namespace

std::vector<int> classes_of(const std::vector<double>& levels, double noise) {
  std::vector<std::size_t> order(levels.size());
  for (std::size_t i = 0; i < order.size(); ++i) order[i] = i;
  std::stable_sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) { return levels[a] < levels[b]; });
  std::vector<double> sorted;
  for (const std::size_t i : order) sorted.push_back(levels[i]);
  auto cuts = find_cuts(sorted, noise);
  merge_close(sorted, cuts, noise);
  std::vector<int> number(levels.size());
  for (std::size_t i = 0; i < order.size(); ++i)
    number[order[i]] = static_cast<int>(std::upper_bound(cuts.begin(), cuts.end(), i) - cuts.begin());
  return number;
}

std::vector<PairClasses> find_pair_classes(const FitContext& context) {
  std::set<std::string> transports;
  for (const Sample& s : context.samples)
    if (s.transport != "relay") transports.insert(s.transport);
  std::vector<PairClasses> all;
  for (const std::string& transport : transports) {
    const auto samples = context.of(transport);
    for (const bool rate : {false, true}) {
      PairClasses found = classes_at(context, transport, samples, rate);
      if (!found.classes.empty()) all.push_back(std::move(found));
    }
  }
  return all;
}

}  // namespace linkcast::fit
