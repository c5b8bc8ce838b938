#pragma once
// What copies cannot show of a communication library, learned from measured collectives: the forecast itself is the
// model that is fitted.
#include <string>
#include <vector>

#include "calibrate/fit/map_fit.hpp"
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
  const char* part;  ///< the same as a part of the data (calibrate/learn/accuracy.hpp)
  double from_B, to_B;
};
const std::vector<SizeClass>& size_classes();
const SizeClass& size_class_of(double size_B);

/// A collective, and the file that it is in.
struct Sample {
  const Measurement* file = nullptr;
  const MeasuredCollective* collective = nullptr;
};

/// Those that name their library. Records of linkcast-bench are fitted in closed form
/// (calibrate/fit/collective_fit.cpp) or kept for comparison.
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
  double sigma = 0;                  ///< of ln(modelled / measured)
};

/// Learns on the calibration what its forecasts of the samples ask for (sim/records/learned.hpp), and adds it: as
/// "fitted" what the data determine, as "believed" the rest, which is where the data leave it.
Lesson learn_collectives(catalogue::Catalogue& catalogue, const Topology& topology, Calibration& calibration,
                         const std::vector<Sample>& samples);

/// Forecasts of the samples by a calibration, learned or not.
std::vector<Point> forecasts(catalogue::Catalogue& catalogue, const Topology& topology, const Calibration& calibration,
                             const std::vector<Sample>& samples, std::vector<std::string>& refused);

}  // namespace linkcast::learn
