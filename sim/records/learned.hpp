#pragma once
// A parameter of a communication library as a forecast takes it: fitted on the machine, or its prior.
#include <map>
#include <string>
#include <vector>

#include "sim/records/calibration.hpp"
#include "sim/records/parameters.hpp"

namespace linkcast {

/// What a forecast takes for a parameter.
struct Learned {
  double value = 0;
  double spread = 0;      ///< standard deviation of its logarithm
  bool measured = false;  ///< from a calibration, not the prior
  int correlated = -1;    ///< place in Calibration::correlation
};

/// A part of the error of ln(time), or of a time: standard deviation, and with which parameter it goes. Signed: parts
/// of one parameter add up, parts of parameters that pull against each other cancel.
struct ErrorPart {
  double sigma = 0;
  int correlated = -1;
  ErrorPart() = default;
  explicit ErrorPart(double independent) : sigma(independent) {}
  explicit ErrorPart(const Learned& taken) : sigma(taken.spread), correlated(taken.correlated) {}
  [[nodiscard]] ErrorPart times(double factor) const;
};

/// Variance of the sum of all parts.
double variance_of(const Calibration& calibration, const std::vector<ErrorPart>& parts);

/// Library and host parameters that forecasts used, by name with the version: data can teach these.
using ParametersUsed = std::map<std::string, Learned>;

/// Parameters of communication libraries as one forecast looks them up: a view of a calibration, which records each
/// look-up where somebody wants to know.
class LibraryParameters {
 public:
  /// @param calibration, used  outlive the view; used may be null: nobody records
  explicit LibraryParameters(const Calibration& calibration, ParametersUsed* used = nullptr)
      : calibration_(&calibration), used_(used) {}

  [[nodiscard]] const Calibration& calibration() const { return *calibration_; }
  [[nodiscard]] bool records() const { return used_ != nullptr; }
  /// Does nothing where nobody records, or the parameter was recorded before.
  void record(const std::string& name, const Learned& value) const {
    if (used_ != nullptr) used_->try_emplace(name, value);
  }

 private:
  const Calibration* calibration_;
  ParametersUsed* used_;
};

/// What a parameter of another machine of this GPU's generation says at best of this one: standard deviation of its
/// logarithm. source: assumed; bases and block rates of V100, A100 and GH200, each fitted by itself, differ by 1.2
/// to 2.5 (docs/accuracy.md)
inline constexpr double kOtherMachine = 0.4;  // source: above

/// Value and spread of a library's parameter in a forecast: the first that the calibration has of this version, of all
/// versions, of the nearest version that was measured (with a wider spread); else the prior. Records the
/// look-up. @param library  "nccl-2.8"
Learned learned(const LibraryParameters& parameters, const std::string& library, const LibraryRow& row,
                const Prior& prior);
/// With the prior of the row. @throws InvariantError  it has none
Learned learned(const LibraryParameters& parameters, const std::string& library, const LibraryRow& row);

}  // namespace linkcast
