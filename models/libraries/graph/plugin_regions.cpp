#include "models/libraries/graph/plugin_regions.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <string>

#include "sim/base/text.hpp"

namespace linkcast::graph {
namespace {

struct Point {
  double bytes = 0, ranks = 0;  ///< log2 of them
};

constexpr double kSame = 1e-9;  // source: ours, of logarithms: rounding alone

double log2_bytes(const std::string& text) {
  const std::string units = "KMG";
  const auto unit = units.find(text.back());
  const double value = std::stod(text);
  constexpr double kTen = 10;  // a unit is 2^10 of the one before
  return std::log2(value) + (unit == std::string::npos ? 0 : kTen * static_cast<double>(unit + 1));
}

std::vector<Point> points_of(std::string_view text) {
  std::vector<Point> points;
  for (const std::string& one : split(std::string(text), ' ')) {
    if (one == "->") {  // far along the last line
      constexpr double kFar = 64;
      const Point last = points.back(), before = points[points.size() - 2];
      const double slope = (last.bytes - before.bytes) / (last.ranks - before.ranks);
      points.push_back({last.bytes + slope * kFar, last.ranks + kFar});
      continue;
    }
    const std::vector<std::string> pair = split(one, ',');
    points.push_back({log2_bytes(pair[0]), std::log2(std::stod(pair[1]))});
  }
  return points;
}

/// Least and most bytes of a boundary at so many ranks; least above most: it is not defined there.
struct Range {
  double least = std::numeric_limits<double>::infinity(), most = -least;
};
Range at_ranks(std::string_view boundary, double ranks) {
  Range range;
  const std::vector<Point> points = points_of(boundary);
  const auto add = [&](double bytes) {
    range.least = std::min(range.least, bytes);
    range.most = std::max(range.most, bytes);
  };
  for (std::size_t i = 0; i + 1 < points.size(); ++i) {
    const Point &a = points[i], &b = points[i + 1];
    if (ranks < a.ranks - kSame || ranks > b.ranks + kSame) continue;
    if (b.ranks - a.ranks < kSame) {
      add(a.bytes);
      add(b.bytes);
    } else {
      add(a.bytes + (b.bytes - a.bytes) * (ranks - a.ranks) / (b.ranks - a.ranks));
    }
  }
  return range;
}

bool on_edge(const Point& a, const Point& b, const Point& p) {
  const double cross = (b.bytes - a.bytes) * (p.ranks - a.ranks) - (b.ranks - a.ranks) * (p.bytes - a.bytes);
  const double length = std::hypot(b.bytes - a.bytes, b.ranks - a.ranks);
  const auto between = [](double x, double from, double to) {
    return x >= std::min(from, to) - kSame && x <= std::max(from, to) + kSame;
  };
  return std::abs(cross) <= kSame * length && between(p.bytes, a.bytes, b.bytes) && between(p.ranks, a.ranks, b.ranks);
}

/// Edges included; else by how often a line from the point on crosses them.
bool inside(const std::vector<Point>& corners, const Point& p) {
  bool odd = false;
  for (std::size_t i = 0; i < corners.size(); ++i) {
    const Point &a = corners[i], &b = corners[(i + 1) % corners.size()];
    if (on_edge(a, b, p)) return true;
    if ((a.ranks > p.ranks) == (b.ranks > p.ranks)) continue;
    if (p.bytes < a.bytes + (b.bytes - a.bytes) * (p.ranks - a.ranks) / (b.ranks - a.ranks)) odd = !odd;
  }
  return odd;
}

bool contains(const PluginRegion& region, const Point& p) {
  if (!region.patch.empty()) return inside(points_of(region.patch), p);
  const auto bound = [&](std::string_view boundary) { return at_ranks(boundary, p.ranks); };
  return (region.from.empty() || p.bytes >= bound(region.from).least - kSame) &&
         (region.to.empty() || p.bytes <= bound(region.to).most + kSame);
}

}  // namespace

std::vector<const PluginRegion*> plugin_regions_at(std::string_view tuner, std::string_view operation,
                                                   int ranks_per_node, double bytes, int ranks) {
  // source: aws/aws-ofi-nccl, src/tuner/nccl_ofi_regions.cpp: bounds of all regions
  constexpr double kMostBytes = 100.0 * (1 << 30), kMostRanks = 1 << 20;
  std::vector<const PluginRegion*> found;
  if (bytes > kMostBytes || ranks > kMostRanks) return found;
  const Point p{std::log2(std::max(bytes, 1.0)), std::log2(ranks)};
  for (const PluginTable& table : plugin_tables()) {
    if (table.tuner != tuner || table.operation != operation || table.ranks_per_node != ranks_per_node) continue;
    for (const PluginRegion& region : table.regions)
      if (contains(region, p)) found.push_back(&region);
  }
  return found;
}

}  // namespace linkcast::graph
