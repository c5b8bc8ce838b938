#include "cli/texts.hpp"

#include <fmt/format.h>

#include <cmath>

#include "sim/base/parse.hpp"

namespace linkcast::cli {

std::string seconds(const Json& value) { return to_text(Seconds{value.get<double>()}); }

std::string text(const Json& value) { return value.get<std::string>(); }

std::string fixed(double value, int digits) { return fmt::format("{:.{}f}", value, digits); }

std::string percent(double share) { return fixed(100 * share, 1) + " %"; }

std::string signed_percent(double share) { return (share < 0 ? "-" : "+") + percent(std::abs(share)); }

}  // namespace linkcast::cli
