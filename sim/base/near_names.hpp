#pragma once
// A name that was typed nearly right.
#include <string>
#include <vector>

#include "sim/base/input_error.hpp"

namespace linkcast {

/// The known names that are likely meant, at most three: the fewest letters to change, or all that begin so. Upper and
/// lower case and - _ . count as alike.
std::vector<std::string> near_names(const std::string& name, const std::vector<std::string>& known);

/// " (did you mean 'all_reduce'?)", or nothing.
std::string did_you_mean(const std::string& name, const std::vector<std::string>& known);

/// "unknown WHAT 'NAME' (did you mean 'other'?): one of a, b"
InputError unknown_name(const std::string& what, const std::string& name, const std::vector<std::string>& known);

}  // namespace linkcast
