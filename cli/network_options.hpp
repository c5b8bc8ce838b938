#pragma once
// What an answer says of the network that a message or collective runs in, and how far a long one is.
#include <string>
#include <utility>
#include <vector>

#include "sim/base/object_reader.hpp"

namespace linkcast::cli {

/// Rows to print: label, text.
std::vector<std::pair<std::string, std::string>> network_rows(const Json& result);

}  // namespace linkcast::cli
