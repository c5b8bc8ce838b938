#include "calibrate/learn/accuracy.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <set>
#include <tuple>

#include "sim/base/input_error.hpp"
#include "sim/base/parse.hpp"
#include "sim/base/statistics.hpp"

namespace linkcast::learn {
namespace {

constexpr double kP95 = 0.95;

std::string value_of(const Sample& sample, const std::string& key) {
  const MeasuredCollective& c = *sample.collective;
  if (key == "nodes") return std::to_string(c.nodes);
  if (key == "gpus") return std::to_string(static_cast<int>(c.gpus.size()) * c.nodes);
  if (key == "op") return c.op;
  if (key == "library") return sample.file->library;
  return "";
}

/// What a key can say of these: "nodes=1, nodes=2", "sizes 8 B to 32 MiB".
std::string values_of(const std::vector<Sample>& samples, const std::string& key) {
  if (key == "size") {
    const auto [least, most] = std::minmax_element(
        samples.begin(), samples.end(),
        [](const Sample& a, const Sample& b) { return a.collective->size_B < b.collective->size_B; });
    return "sizes " + to_text(Bytes{least->collective->size_B}) + " to " + to_text(Bytes{most->collective->size_B});
  }
  std::set<std::string> values;
  for (const Sample& sample : samples) values.insert(key + "=" + value_of(sample, key));
  std::string text;
  for (const std::string& value : values) text += (text.empty() ? "" : ", ") + value;
  return text;
}

}  // namespace

Part::Part(const std::string& text) : text_(text) {
  const auto equals = text.find('=');
  key_ = text.substr(0, equals);
  if (equals == std::string::npos ||
      (key_ != "nodes" && key_ != "gpus" && key_ != "op" && key_ != "library" && key_ != "size"))
    throw InputError("hold_out: '" + text +
                     "': one of nodes=N, gpus=N, op=NAME, library=NAME, size=FROM-TO (4MiB-: from 4 MiB on)");
  value_ = text.substr(equals + 1);
  if (key_ != "size") return;
  const auto dash = value_.find('-');
  if (dash == std::string::npos)
    throw InputError("hold_out: '" + text + "': a range of sizes is FROM-TO, as 64KiB-4MiB or 4MiB-");
  try {
    from_B_ = parse_bytes(value_.substr(0, dash)).si;
    to_B_ =
        dash + 1 < value_.size() ? parse_bytes(value_.substr(dash + 1)).si : std::numeric_limits<double>::infinity();
  } catch (const UnitError& error) {
    throw InputError("hold_out: '" + text + "': " + error.what());
  }
}

bool Part::holds(const Sample& sample) const {
  if (key_ == "size") return sample.collective->size_B >= from_B_ && sample.collective->size_B < to_B_;
  return value_of(sample, key_) == value_;
}

std::vector<Part> parts_of(const std::vector<Sample>& samples, const std::vector<std::string>& keys) {
  std::vector<Part> parts;
  for (const std::string& key : keys) {
    std::vector<std::string> texts;
    if (key == "size") {
      for (const SizeClass& one : size_classes()) texts.emplace_back(one.part);
    } else {
      std::set<std::string> values;
      for (const Sample& sample : samples) values.insert(value_of(sample, key));
      for (const std::string& value : values) texts.push_back(key + "=" + value);
    }
    for (const std::string& text : texts) {
      const Part part(text);
      const auto held = std::count_if(samples.begin(), samples.end(), [&](const Sample& s) { return part.holds(s); });
      if (held > 0 && held < static_cast<std::ptrdiff_t>(samples.size())) parts.push_back(part);
    }
  }
  if (parts.empty() && !keys.empty()) {
    std::string there;
    for (const std::string& key : keys) there += (there.empty() ? "" : "; ") + values_of(samples, key);
    throw InputError(fmt::format("leave_out: nothing would be left to learn from: all {} collectives are alike: {}",
                                 samples.size(), there));
  }
  return parts;
}

std::vector<Sample> samples_of_part(const std::vector<Sample>& samples, const Part& part) {
  std::vector<Sample> found;
  std::copy_if(samples.begin(), samples.end(), std::back_inserter(found),
               [&](const Sample& sample) { return part.holds(sample); });
  if (found.empty())
    throw InputError(fmt::format("hold_out: '{}': none of the {} collectives is of it, which are of {}", part.text(),
                                 samples.size(), values_of(samples, part.key())));
  return found;
}

std::vector<AccuracyRow> accuracy(const std::vector<Point>& points, const std::string& machine,
                                  const std::string& left_out) {
  using Key = std::tuple<std::string, int, std::string, double>;
  std::map<Key, std::vector<const Point*>> groups;
  for (const Point& p : points) groups[{p.library, p.nodes, p.op, size_class_of(p.size_B).from_B}].push_back(&p);
  std::vector<AccuracyRow> rows;
  for (const auto& [key, group] : groups) {
    const auto& [library, nodes, op, from_B] = key;
    std::vector<double> errors, logs;
    int inside = 0;
    for (const Point* p : group) {
      errors.push_back(std::abs(p->modelled_s / p->measured_s - 1));
      logs.push_back(p->log_error());
      inside += p->measured_s >= p->low_s && p->measured_s <= p->high_s ? 1 : 0;
    }
    AccuracyRow row{left_out, machine, library, op, size_class_of(from_B).text, nodes};
    row.points = static_cast<int>(group.size());
    row.median = median(errors);
    row.p95 = nearest_rank(errors, kP95);
    row.bias = std::exp(median(logs)) - 1;
    row.coverage = static_cast<double>(inside) / static_cast<double>(group.size());
    rows.push_back(row);
  }
  return rows;
}

HeldOut hold_out(catalogue::Catalogue& catalogue, const Topology& topology, const Calibration& copies,
                 const std::vector<Sample>& samples, const Part& part) {
  std::vector<Sample> kept, held;
  for (const Sample& sample : samples) (part.holds(sample) ? held : kept).push_back(sample);
  HeldOut result{part.text(), {}, {}};
  Calibration calibration = copies;
  learn_collectives(catalogue, topology, calibration, kept);
  result.points = forecasts(catalogue, topology, calibration, held, result.refused);
  return result;
}

}  // namespace linkcast::learn
