#include "validate/diagnosis/compare_files.hpp"

#include <algorithm>
#include <filesystem>

#include "validate/claim.hpp"
#include "validate/diagnosis/benchmark_log.hpp"

namespace linkcast::diagnosis {
namespace {

/// @throws InputError  with what makes a measurement of the file, where it is what a benchmark printed
Measurement measurement_of(const std::string& path) {
  try {
    return read_measurement(path);
  } catch (const InputError&) {
    const std::string format = std::filesystem::exists(path) ? log_format(path) : "measurement";
    if (format.empty() || format == "measurement") throw;
    throw InputError(path + ": is what " + format + " prints: 'linkcast import " + format +
                     "' makes a measurement of it, 'linkcast diagnose' takes it as it is");
  }
}

/// A claim is easily given in the place of a file.
void refuse_claims(const std::string& data_dir, const std::vector<std::string>& files) {
  const auto missing =
      std::find_if(files.begin(), files.end(), [](const std::string& path) { return !std::filesystem::exists(path); });
  if (missing == files.end()) return;
  for (const validate::Claim& claim : validate::load_claims(data_dir + "/validate/claims"))
    if (claim.id == *missing)
      throw InputError("validate: " + *missing + " is a claim, and no file: give claims or measurements, not both");
}

}  // namespace

std::vector<validate::Comparison> compare_files(catalogue::Catalogue& catalogue, const CompareRequest& request,
                                                const std::function<void(const validate::Comparison&)>& each) {
  refuse_claims(catalogue.data_dir(), request.files);
  std::vector<validate::Comparison> compared;
  bool any = false;
  for (const std::string& path : request.files) {
    const Measurement measurement = measurement_of(path);
    const catalogue::MachinePtr machine = catalogue.edited(
        catalogue.machine(request.platform.empty() ? measurement.topology : request.platform), request.edits);
    compared.push_back(validate::compare(catalogue, measurement, request.limits, machine));
    const validate::Comparison& comparison = compared.back();
    any = any || !comparison.points.empty();
    if (!any && path == request.files.back())
      throw InputError(path + ": nothing to compare: " + comparison.unanswered.front());
    if (each) each(comparison);
  }
  return compared;
}

}  // namespace linkcast::diagnosis
