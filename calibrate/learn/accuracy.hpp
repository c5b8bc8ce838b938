#pragma once
// How far forecasts of collectives are off, by what they are of; and what is learned without a part of the data.
#include <string>
#include <vector>

#include "calibrate/learn/collectives.hpp"

namespace linkcast::learn {

/// A part of the data: "nodes=2", "gpus=8", "op=reduce", "size=4MiB-" (from 4 MiB on), "library=nccl-1".
class Part {
 public:
  /// @throws InputError  says what is allowed
  explicit Part(const std::string& text);
  [[nodiscard]] bool holds(const Sample& sample) const;
  [[nodiscard]] const std::string& text() const { return text_; }
  [[nodiscard]] const std::string& key() const { return key_; }

 private:
  std::string text_, key_, value_;
  double from_B_ = 0, to_B_ = 0;
};

/// Every part that these keys tell apart, as far as something is left without it. @param keys  nodes, gpus, op, size
/// @throws InputError  they tell nothing apart
std::vector<Part> parts_of(const std::vector<Sample>& samples, const std::vector<std::string>& keys);

/// Points of one kind.
struct AccuracyRow {
  std::string left_out, machine, library, op, sizes;
  int nodes = 0;
  int points = 0;
  double median = 0, p95 = 0;  ///< of |modelled / measured - 1|
  double bias = 0;             ///< median of modelled / measured, less 1
  double coverage = 0;         ///< share inside the 90 % interval
};

/// By library, number of nodes, operation and size class. @param left_out  for the rows
std::vector<AccuracyRow> accuracy(const std::vector<Point>& points, const std::string& machine,
                                  const std::string& left_out);

struct HeldOut {
  std::string part;
  std::vector<Point> points;
  std::vector<std::string> refused;
};

/// What is of a part. @throws InputError  nothing is; says what is there
std::vector<Sample> samples_of_part(const std::vector<Sample>& samples, const Part& part);

/// Learns without a part, and forecasts it.
HeldOut hold_out(catalogue::Catalogue& catalogue, const Topology& topology, const Calibration& copies,
                 const std::vector<Sample>& samples, const Part& part);

}  // namespace linkcast::learn
