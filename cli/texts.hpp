#pragma once
// Numbers of a result as people read them.
#include <string>

#include "sim/base/object_reader.hpp"

namespace linkcast::cli {

/// With a unit that fits: "1.964 ms".
std::string seconds(const Json& value);
/// Of a JSON string.
std::string text(const Json& value);
std::string fixed(double value, int digits);
/// "12.3 %"
std::string percent(double share);
/// "+12.3 %"
std::string signed_percent(double share);

}  // namespace linkcast::cli
