#include "cli/texts.hpp"

#include <iomanip>
#include <sstream>

#include "sim/units/parse.hpp"

namespace linkcast::cli {

std::string seconds(const Json& value) { return to_text(Seconds{value.get<double>()}); }

std::string fixed(double value, int digits) {
  std::ostringstream text;
  text << std::fixed << std::setprecision(digits) << value;
  return text.str();
}

std::string percent(double share) { return fixed(100 * share, 1) + " %"; }

}  // namespace linkcast::cli
