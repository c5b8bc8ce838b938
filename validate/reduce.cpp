#include "validate/reduce.hpp"

#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>
#include <map>
#include <optional>

#include "sim/base/input_error.hpp"
#include "sim/base/statistics.hpp"

namespace linkcast::validate {
namespace {

using Points = std::vector<Labelled>;

bool by_value(const Labelled& a, const Labelled& b) { return a.value < b.value; }
double smallest(const Points& points) { return std::min_element(points.begin(), points.end(), by_value)->value; }
double largest(const Points& points) { return std::max_element(points.begin(), points.end(), by_value)->value; }

double sum(const Points& points) {
  double total = 0;
  for (const Labelled& point : points) total += point.value;
  return total;
}
double mean(const Points& points) { return sum(points) / static_cast<double>(points.size()); }

double median_of(const Points& points) {
  std::vector<double> values;
  for (const Labelled& point : points) values.push_back(point.value);
  return median(std::move(values));
}

double count(const Points& points) {
  return static_cast<double>(
      std::count_if(points.begin(), points.end(), [](const Labelled& point) { return point.value != 0; }));
}

double label_of(const Points& points, double value) {
  double found = std::numeric_limits<double>::quiet_NaN();
  int places = 0;
  for (const Labelled& point : points)
    if (point.value == value) {
      found = point.label;
      ++places;
    }
  return places == 1 ? found : std::numeric_limits<double>::quiet_NaN();
}

/// Centred sums of squares and products of (label, value).
struct Moments {
  double xx = 0, xy = 0, yy = 0;
};

Moments moments(const Points& points) {
  double label_mean = 0;
  for (const Labelled& point : points) label_mean += point.label / static_cast<double>(points.size());
  const double value_mean = mean(points);
  Moments m;
  for (const Labelled& point : points) {
    const double x = point.label - label_mean, y = point.value - value_mean;
    m.xx += x * x;
    m.xy += x * y;
    m.yy += y * y;
  }
  return m;
}

double slope(const Points& points) {
  const Moments m = moments(points);
  return m.xy / m.xx;
}

double r2(const Points& points) {
  const Moments m = moments(points);
  return m.xy * m.xy / (m.xx * m.yy);
}

/// Ranks from 0; equal values share the mean of their places.
std::vector<double> ranks(const std::vector<double>& values) {
  std::vector<double> out;
  for (const double value : values) {
    const auto below = std::count_if(values.begin(), values.end(), [&](double other) { return other < value; });
    const auto equal = std::count(values.begin(), values.end(), value);
    out.push_back(static_cast<double>(below) + static_cast<double>(equal - 1) / 2);
  }
  return out;
}

double rank_correlation(const Points& points) {
  std::vector<double> labels, values;
  for (const Labelled& point : points) {
    labels.push_back(point.label);
    values.push_back(point.value);
  }
  const auto label_ranks = ranks(labels), value_ranks = ranks(values);
  Points ranked;
  for (std::size_t i = 0; i < points.size(); ++i) ranked.push_back({label_ranks[i], value_ranks[i]});
  const Moments m = moments(ranked);
  return m.xy / std::sqrt(m.xx * m.yy);
}

double rising(const Points& points) {
  for (std::size_t i = 1; i < points.size(); ++i)
    if (!(points[i].value > points[i - 1].value)) return 0;
  return 1;
}

/// "from_90" -> 0.9; nothing if the name is no such reducer.
std::optional<double> share_of(const std::string& name) {
  const std::string prefix = "from_";
  const std::string digits = name.starts_with(prefix) ? name.substr(prefix.size()) : "";
  if (digits.size() != 2 || digits.find_first_not_of("0123456789") != std::string::npos) return std::nullopt;
  return std::stod(digits) / 100;
}

double from_share(const Points& points, double share) {
  const double least = share * largest(points);
  auto first = points.end();
  while (first != points.begin() && (first - 1)->value >= least) --first;
  return first == points.end() ? std::numeric_limits<double>::quiet_NaN() : first->label;
}

const std::map<std::string, std::function<double(const Points&)>>& reducers() {
  static const std::map<std::string, std::function<double(const Points&)>> all = {
      {"min", smallest},
      {"max", largest},
      {"mean", mean},
      {"median", median_of},
      {"sum", sum},
      {"count", count},
      {"spread", [](const Points& points) { return largest(points) / smallest(points); }},
      {"argmin", [](const Points& points) { return label_of(points, smallest(points)); }},
      {"argmax", [](const Points& points) { return label_of(points, largest(points)); }},
      {"slope", slope},
      {"r2", r2},
      {"rank", rank_correlation},
      {"rising", rising}};
  return all;
}

}  // namespace

bool is_reducer(const std::string& name) { return reducers().count(name) > 0 || share_of(name); }

double reduce(const std::string& name, const std::vector<Labelled>& points) {
  if (!is_reducer(name)) throw InputError("unknown reducer '" + name + "'");
  if (points.empty()) throw InputError("'" + name + "' of an empty list");
  for (const Labelled& point : points)
    if (std::isnan(point.value)) return point.value;
  if (const auto share = share_of(name)) return from_share(points, *share);
  return reducers().at(name)(points);
}

}  // namespace linkcast::validate
