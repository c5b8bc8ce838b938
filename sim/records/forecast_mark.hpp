#pragma once
// Logs that linkcast writes in the form of other programs say in their first line that they are forecasts.
#include <string_view>

namespace linkcast {

/// In a log, and at the beginning of a record's `source` that an importer read from such a log: nothing is fitted to
/// it.
inline constexpr std::string_view kForecastMark = "linkcast forecast, no measurement";

}  // namespace linkcast
