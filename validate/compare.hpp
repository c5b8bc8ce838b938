#pragma once
// Measured against predicted copies, point by point: `linkcast validate --against FILE`.
#include <optional>
#include <string>
#include <vector>

#include "sim/machine/catalogue.hpp"
#include "sim/records/measurement.hpp"

namespace linkcast::validate {

struct CompareLimits {
  std::optional<double> median, p95;  ///< of the absolute relative error, for every group
};

/// One measured copy, or one group of copies that started together.
struct ComparedPoint {
  std::string transport;    ///< as in the measurement; flows for a group
  std::string variant;      ///< engine, direction, both ways, pattern: what else tells the point from others
  std::string ends;         ///< "gpu0 -> gpu1", for messages
  double size_B = 0;        ///< of a group: of its largest copy
  bool determined = false;  ///< parameters of the platform come from points of this kind
  double measured_s = 0;    ///< median of the repetitions
  double predicted_s = 0;
  double low_s = 0, high_s = 0;      ///< interval of the prediction, 90 %
  bool host = false;                 ///< of a collective: what issues it may be what takes its time
  std::vector<std::string> links{};  ///< ids of what it passes, or of a collective and of flows what limits it
  Json query{};                      ///< that was asked
  double moved_B = 0;  ///< what the printed bandwidth counts: of a collective that of the bus (nccl-tests busbw)
  [[nodiscard]] double error() const { return predicted_s / measured_s - 1; }
};

/// Points of one transport and variant in one range of sizes.
struct CompareGroup {
  std::string transport, variant, sizes;
  int points = 0;
  double median_error = 0, p95_error = 0;  ///< of |predicted / measured - 1|
  double in_interval = 0;                  ///< share of points whose measured time lies in the predicted interval
  bool fitted = false;  ///< points of this file and kind set the platform's parameters: no evidence of prediction
  bool within_limits = true;
};

struct Comparison {
  std::string file, sha256, platform;
  std::string note;     ///< that file and platform are of different topologies, else empty
  bool fitted = false;  ///< the platform's calibration names this very file among its sources
  std::vector<CompareGroup> groups;
  CompareGroup held_out;                ///< all held-out points of the file together
  std::vector<ComparedPoint> points;    ///< every one, in the order of the file
  std::vector<ComparedPoint> worst;     ///< largest errors first, 5 at most
  std::vector<std::string> unanswered;  ///< errors of points that could not be predicted
  /// Every point was predicted and every group is within the limits.
  [[nodiscard]] bool within_limits() const;
};

/// Predicts every copy and group of copies of a measurement.
/// @param machine  null: the shipped platform of the measurement's topology
/// @throws InputError  no such platform
Comparison compare(catalogue::Catalogue& catalogue, const Measurement& measurement, const CompareLimits& limits,
                   const catalogue::MachinePtr& machine = nullptr);

/// @param points  every point too
Json to_json(const Comparison& comparison, bool points = false);
std::string to_table(const Comparison& comparison);

}  // namespace linkcast::validate
