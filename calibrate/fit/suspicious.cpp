#include "calibrate/fit/suspicious.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <map>
#include <tuple>

#include "sim/base/parse.hpp"

namespace linkcast::fit {
namespace {

// Fewer repetitions have no distribution to speak of; the benchmarks of calibrate/bench make 5 to 20.
constexpr std::size_t kFewest = 8;
// Of 8 normal times one sample in nine looks as if it had two modes, of 12 one in 25, of 20 one in 600.
// source: simulation of 3000 samples each, 10 % noise
constexpr std::size_t kFewestForModes = 12, kFewestInMode = 3;
constexpr double kOutlierSigmas = 5;
constexpr double kSigmaFloor = 0.01;  // source: ours, what columns of the P100-DGX-1 sweep repeat to
// A mode with fewer times is a group of outliers. source: ours, 3 of 20 repetitions
constexpr double kLeastShare = 0.15;
// source: ours, 5 times the floor. A mode closer than that to the other does not matter for a forecast.
constexpr double kLeastApart = 0.05;
// source: ours. A normal distribution cut at its middle has modes 2.3 of their own deviations apart.
constexpr double kApartSigmas = 4;
// The gap between the modes, of the distance of their medians. source: ours, 2 of 1000 samples of 20 normal times pass
constexpr double kLeastStepGap = 0.6;

struct Collected {
  Suspicious group;
  std::vector<double> low, high, share;
};

void look_at(const std::vector<double>& times, Collected& c) {
  ++c.group.points;
  TwoModes modes;
  if (find_two_modes(times, modes)) {
    ++c.group.two_modes;
    c.low.push_back(modes.low_s);
    c.high.push_back(modes.high_s);
    c.share.push_back(modes.high_share);
    return;
  }
  const auto outliers = find_outliers(times);
  if (outliers.empty()) return;
  ++c.group.with_outliers;
  c.group.outliers += static_cast<int>(outliers.size());
  const double centre = median(times);
  for (const double t : outliers)
    if (std::abs(std::log(t / centre)) > std::abs(std::log(c.group.worst))) c.group.worst = t / centre;
}

std::string sizes_text(double from_B, double to_B) {
  const std::string from = to_text(Bytes{from_B});
  return from_B == to_B ? from : from + " to " + to_text(Bytes{to_B});
}

std::string printed(const char* format, double value) {
  char text[32];
  std::snprintf(text, sizeof text, format, value);
  return text;
}

/// Groups of one transport and timing in one line; the modes are those of the size with most such points.
std::string line_of(const std::vector<const Suspicious*>& groups) {
  const Suspicious* clearest = nullptr;
  double first_B = 0, last_B = 0, worst = 1;
  int points = 0, two = 0, of = 0, outliers = 0;
  for (const Suspicious* g : groups) {
    of += g->points;
    points += g->with_outliers;
    outliers += g->outliers;
    two += g->two_modes;
    if (std::abs(std::log(g->worst)) > std::abs(std::log(worst))) worst = g->worst;
    if (g->two_modes == 0) continue;
    if (!clearest) first_B = g->size_B;
    last_B = g->size_B;
    if (!clearest || g->two_modes > clearest->two_modes) clearest = g;
  }
  std::string line = groups[0]->transport + (groups[0]->single ? ", from rest" : "") + ": ";
  if (clearest)
    line += fmt::format("one of two times at {} of {} points, {}, e.g. {} and {} at {}", two, of,
                        sizes_text(first_B, last_B), to_text(Seconds{clearest->low_s}),
                        to_text(Seconds{clearest->high_s}), to_text(Bytes{clearest->size_B}));
  if (outliers > 0)
    line += fmt::format("{}{} outliers at {} of {} points, up to {} times the median", clearest ? "; " : "", outliers,
                        points, of, printed("%.3g", worst));
  return line;
}

}  // namespace

bool find_two_modes(const std::vector<double>& times, TwoModes& modes) {
  if (times.size() < kFewestForModes) return false;
  std::vector<double> logs;
  for (const double t : times) logs.push_back(std::log(t));
  std::sort(logs.begin(), logs.end());
  const auto share = static_cast<std::size_t>(std::ceil(kLeastShare * static_cast<double>(logs.size())));
  const std::size_t fewest = std::max(kFewestInMode, share);
  std::size_t split = fewest;
  for (std::size_t i = fewest; i + fewest <= logs.size(); ++i)
    if (logs[i] - logs[i - 1] > logs[split] - logs[split - 1]) split = i;
  const auto middle = logs.begin() + static_cast<std::ptrdiff_t>(split);
  const double low = median({logs.begin(), middle}), high = median({middle, logs.end()});
  std::vector<double> off;
  for (std::size_t i = 0; i < logs.size(); ++i) off.push_back(logs[i] - (i < split ? low : high));
  const double apart = high - low;
  if (logs[split] - logs[split - 1] < kLeastStepGap * apart) return false;
  if (apart < std::log1p(kLeastApart) || apart < kApartSigmas * robust_sigma(off, 0)) return false;
  modes = {std::exp(low), std::exp(high), static_cast<double>(logs.size() - split) / static_cast<double>(logs.size())};
  return true;
}

std::vector<double> find_outliers(const std::vector<double>& times) {
  std::vector<double> found;
  if (times.size() < kFewest) return found;
  const double centre = median(times);
  const double sigma = std::max(robust_sigma(times, centre), kSigmaFloor * centre);
  std::copy_if(times.begin(), times.end(), std::back_inserter(found),
               [&](double t) { return std::abs(t - centre) > kOutlierSigmas * sigma; });
  return found;
}

std::vector<Suspicious> find_suspicious(const std::vector<Sample>& samples) {
  std::map<std::tuple<std::string, bool, double>, Collected> groups;
  for (std::size_t i = 0; i < samples.size();) {
    const Sample& first = samples[i];
    std::vector<double> times;
    for (; i < samples.size() && same_point(first, samples[i]); ++i) times.push_back(samples[i].time_s);
    if (times.size() < kFewest) continue;
    const std::string transport = first.transport + (first.both ? ", both ways" : "");
    Collected& c = groups[{transport, first.single, first.size_B}];
    c.group.transport = transport;
    c.group.single = first.single;
    c.group.size_B = first.size_B;
    look_at(times, c);
  }
  std::vector<Suspicious> found;
  for (auto& [key, c] : groups) {
    c.group.low_s = median(c.low);
    c.group.high_s = median(c.high);
    c.group.high_share = median(c.share);
    found.push_back(c.group);
  }
  return found;
}

std::vector<std::string> lines_of(const std::vector<Suspicious>& groups) {
  std::map<std::pair<std::string, bool>, std::vector<const Suspicious*>> by_transport;
  for (const Suspicious& g : groups) by_transport[{g.transport, g.single}].push_back(&g);
  std::vector<std::string> lines;
  for (const auto& [key, list] : by_transport)
    if (std::any_of(list.begin(), list.end(), [](const Suspicious* g) { return !g->clean(); }))
      lines.push_back(line_of(list));
  return lines;
}

Json to_json(const std::vector<Suspicious>& groups, std::size_t most) {
  std::vector<std::size_t> order;
  for (std::size_t i = 0; i < groups.size(); ++i)
    if (!groups[i].clean()) order.push_back(i);
  std::stable_sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) {
    return std::pair(groups[a].two_modes, groups[a].outliers) > std::pair(groups[b].two_modes, groups[b].outliers);
  });
  const std::size_t left_out = order.size() > most ? order.size() - most : 0;
  order.resize(order.size() - left_out);
  std::sort(order.begin(), order.end());
  Json list = Json::array();
  for (const std::size_t i : order) {
    const Suspicious& g = groups[i];
    Json entry = {{"transport", g.transport}, {"from_rest", g.single}, {"size_B", g.size_B}, {"points", g.points}};
    if (g.two_modes > 0)
      entry["two_modes"] = {
          {"points", g.two_modes}, {"times_s", {g.low_s, g.high_s}}, {"share_of_second", g.high_share}};
    if (g.outliers > 0)
      entry["outliers"] = {{"points", g.with_outliers}, {"times", g.outliers}, {"worst_over_median", g.worst}};
    list.push_back(entry);
  }
  return {{"groups", list}, {"groups_left_out", left_out}};
}

}  // namespace linkcast::fit
