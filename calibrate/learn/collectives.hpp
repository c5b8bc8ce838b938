#pragma once
// What copies cannot show of a communication library, learned from measured collectives: the forecast itself is the
// model that is fitted.
#include <string>
#include <vector>

#include "calibrate/fit/map_fit.hpp"
#include "calibrate/learn/prior_check.hpp"
#include "sim/machine/catalogue.hpp"
#include "sim/records/measurement.hpp"

namespace linkcast::learn {
/// One measured collective as a forecast sees it.
struct Point {
  std::string file, library, op, protocol, algorithm;
  int nodes = 1, gpus = 0;  ///< of each node
  double size_B = 0;
  double measured_s = 0, modelled_s = 0;
  double low_s = 0, high_s = 0;  ///< the forecast's 90 % interval
  [[nodiscard]] double log_error() const;
};

/// Collectives whose errors are shown together.
struct SizeClass {
  const char* text;  ///< "64 KiB to 4 MiB"
  const char* part;  ///< the same as a part of the data (calibrate/learn/collectives.hpp)
  double from_B, to_B;
};
const std::vector<SizeClass>& size_classes();
const SizeClass& size_class_of(double size_B);

/// A collective, and the file that it is in.
struct Sample {
  const Measurement* file = nullptr;
  const MeasuredCollective* collective = nullptr;
};

/// Those of a named library, by a protocol at a size for which it could be taken.
std::vector<Sample> samples_of(const std::vector<Measurement>& measurements);

struct Taught {
  std::string name;
  fit::MapEstimate estimate;
  Prior prior;
};

struct Lesson {
  std::vector<Taught> parameters;    ///< every one that a forecast of these data asks for
  std::vector<Point> points;         ///< with the learned parameters; fitted, not held out
  std::vector<std::string> refused;  ///< errors of points that have no forecast
  /// Parts of a machine that inherits which its data make no better, and which stay at their priors.
  std::vector<LeftAtPrior> left_at_prior;
  double sigma = 0;  ///< of ln(modelled / measured)
};

/// Learns on the calibration what its forecasts of the samples ask for (sim/records/calibration.hpp), and adds it: as
/// "fitted" what the data determine, as "believed" the rest, which is where the data leave it.
Lesson learn_collectives(catalogue::Catalogue& catalogue, const Topology& topology, Calibration& calibration,
                         const std::vector<Sample>& samples);

/// Forecasts of the samples by a calibration, learned or not.
std::vector<Point> forecasts(catalogue::Catalogue& catalogue, const Topology& topology, const Calibration& calibration,
                             const std::vector<Sample>& samples, std::vector<std::string>& refused);

// How far forecasts of collectives are off, by what they are of; and what is learned without a part of the data.

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

/// Samples of a part. @throws InputError  none is; lists the values that there are
std::vector<Sample> samples_of_part(const std::vector<Sample>& samples, const Part& part);

/// Learns without a part, and forecasts it.
HeldOut hold_out(catalogue::Catalogue& catalogue, const Topology& topology, const Calibration& copies,
                 const std::vector<Sample>& samples, const Part& part);

}  // namespace linkcast::learn
