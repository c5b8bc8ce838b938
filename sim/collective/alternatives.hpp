#pragma once
// What the library believes of its choice beside what it could have taken instead, forecast.
#include <functional>
#include <string>
#include <vector>

#include "sim/plugin/communicator.hpp"
#include "sim/records/object_reader.hpp"

namespace linkcast::collective {

/// Adds library_believes, alternatives (fastest first) and, where one is clearly faster, a hint.
/// @param rows  of the library's cost model. @param forecast_s  time of one of them, seconds
void add_alternatives(const std::vector<TunerEntry>& rows, const std::string& algorithm, const std::string& protocol,
                      double time_s, const std::function<double(const TunerEntry&)>& forecast_s, Json& out);

}  // namespace linkcast::collective
