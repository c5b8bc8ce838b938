#include "calibrate/fit/lend.hpp"

#include <algorithm>

#include "sim/base/input_error.hpp"
#include "sim/machine/lend.hpp"

namespace linkcast::fit {

FitResult lend_parameters(const FitRequest& request) {
  for (const Measurement& m : request.measurements)
    if (!m.collectives.empty() && m.library.empty())
      throw InputError(
          m.path, "/library",
          "missing: which library ran these collectives? As of 'linkcast list libraries', or of the import: "
          "option library=nccl-2.8");
  const auto copies = [](const Measurement& m) { return !m.points.empty() || !m.spreads.empty() || m.library.empty(); };
  if (std::any_of(request.measurements.begin(), request.measurements.end(), copies) || !request.launches.empty())
    throw InputError(
        "unmeasured: takes no measurement but collectives of a named library: leave it out and calibrate from them");
  if (request.inherited.empty()) throw InputError("unmeasured: set inherit to calibrations that have parameters");
  check_records(request);
  std::vector<lending::Lender> lenders;
  for (std::size_t i = 0; i < request.inherited.size(); ++i)
    lenders.push_back({request.inherited[i], request.lenders.at(i).topology});
  FitResult result;
  Calibration& c = result.calibration;
  c.name = request.name;
  c.topology = request.topology->name;
  c.default_library = request.default_library;
  c.parameters = lending::lend(*request.topology, lenders);
  if (c.parameters.empty()) throw InputError("inherit: none of these calibrations has a parameter for " + c.topology);
  c.valid_from_B = request.inherited.front().valid_from_B;
  c.valid_to_B = request.inherited.front().valid_to_B;
  for (const Measurement& m : request.measurements) c.from.push_back({request.relative(m.path), m.sha256});
  for (const Calibration& lender : request.inherited) c.from.push_back({request.relative(lender.path), lender.sha256});
  result.undetermined = {"everything that copies show: none was given"};
  return result;
}

}  // namespace linkcast::fit
