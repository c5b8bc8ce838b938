#pragma once
// Logs that linkcast writes in the form of other programs say in their first line that they are forecasts.
#include <string>
#include <string_view>

#include "sim/base/input_error.hpp"

namespace linkcast {

/// In a log, and at the beginning of a record's `source` that an importer read from such a log: nothing is fitted to
/// it.
inline constexpr std::string_view kForecastMark = "linkcast forecast, no measurement";

/// @param source  of a measurement
inline bool is_forecast(std::string_view source) { return source.starts_with(kForecastMark); }

/// @param so  what is not done with it
/// @throws InputError  the measurement is one
inline void refuse_forecast(const std::string& source, const std::string& path, const char* so) {
  if (is_forecast(source)) throw InputError(path, "/source", "is a " + std::string(kForecastMark) + ": " + so);
}

}  // namespace linkcast
