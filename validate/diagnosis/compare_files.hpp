#pragma once
// Measurement files against forecasts: `linkcast validate --against`, and linkcast.validate(against=) of Python.
#include <functional>
#include <string>
#include <vector>

#include "validate/compare.hpp"

namespace linkcast::diagnosis {

struct CompareRequest {
  std::vector<std::string> files;    ///< of schema measurement/1
  std::string platform{};            ///< empty: of the topology of each measurement
  std::vector<std::string> edits{};  ///< of the platform
  validate::CompareLimits limits{};
};

/// @param each  gets every comparison as soon as it is known; may be empty
/// @throws InputError  a file that cannot be read, and what makes a measurement of it where a benchmark printed it; no
/// point of any file can be forecast
std::vector<validate::Comparison> compare_files(catalogue::Catalogue& catalogue, const CompareRequest& request,
                                                const std::function<void(const validate::Comparison&)>& each = {});

}  // namespace linkcast::diagnosis
