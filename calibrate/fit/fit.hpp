#pragma once
// Measurements in, Calibration out. A pure function of its files: the same files give the same digits.
#include <functional>
#include <map>
#include <string>
#include <vector>

#include "calibrate/fit/bootstrap.hpp"
#include "calibrate/fit/noise_fit.hpp"
#include "calibrate/fit/pair_classes.hpp"
#include "calibrate/fit/suspicious.hpp"
#include "sim/records/launch_record.hpp"

namespace linkcast::fit {

/// What data sheets say of a machine whose calibration lends.
struct Lender {
  Topology topology;  ///< without devices: not known
  double l2_B = 0;    ///< of a GPU's level 2 cache; 0: not known
};

struct FitRequest {
  std::string name;  ///< id of the platform
  std::string default_library;
  std::string data_dir;  ///< paths in the calibration are relative to it where they lie inside
  const Topology* topology = nullptr;
  std::vector<Measurement> measurements;
  std::vector<LaunchRecord> launches{};               ///< what issuing work costs the host
  std::vector<Calibration> inherited;                 ///< best first
  std::vector<Calibration> library_lenders{};         ///< lend what only collectives show; best first
  std::vector<Lender> library_machines{};             ///< of the same; may be left out
  std::vector<Calibration> nearest_hosts{};           ///< of launches, where there are any; best first
  std::vector<Lender> lenders{};                      ///< of the same; may be left out unless nothing was measured
  double l2_B = 0;                                    ///< of one of its GPUs; 0: not known
  int bootstrap = 0;                                  ///< refits on resampled data, for the standard errors
  std::map<std::string, FabricDistance> distances{};  ///< by their name in the fabric; empty where there is none
  log::Progress* progress = nullptr;                  ///< told of the refits; may be null

  /// A path as the calibration writes it.
  [[nodiscard]] std::string relative(const std::string& path) const;
};

/// Quality of the fit on its own data, per transport: these figures are fitted, not held out.
struct FitQuality {
  std::string transport;
  int samples = 0;
  double median_error = 0, p95_error = 0;  ///< |modelled - measured| / measured
};

struct FitResult {
  Calibration calibration;
  std::vector<std::string> undetermined;
  std::vector<FitQuality> quality;
  std::vector<Sample> samples;
  std::map<std::string, double>
      covariance;  ///< standard errors of the fitted parameters, without the part between occasions
  Bootstrap bootstrap;
  std::vector<PairClasses> classes;
  std::vector<Suspicious> suspicious;
};

/// Each record once, and all of the machine that is fitted. @throws InputError  says which is not
void check_records(const FitRequest& request);

/// Start-up costs, attainable rates, half-bandwidth size, duplex capacities.
/// @throws InputError  data that cannot determine a needed parameter: says which measurement is missing
FitResult fit_parameters(const FitRequest& request);

/// Scatter by transport and size range, from the simulation's own time of every sample.
/// @param simulate  time of one uncontended copy on the fitted platform
void assess(FitResult& result, const std::function<double(const Sample&)>& simulate);

/// The file `calibrate fit` writes, schema calibration/1.
Json to_json(const FitResult& result);

/// Report of a fit, schema fit-report/1: its errors on its own data, what these leave open, standard errors
/// by covariance and bootstrap, classes of pairs, suspicious repetitions.
Json report_of(const FitResult& result);
/// Strict reader of such a record. @throws InputError
void check_report(const Json& json, const std::string& path);

}  // namespace linkcast::fit
