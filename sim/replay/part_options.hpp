#pragma once
// What a query says to the application whose trace it names.
#include <map>
#include <string>

#include "sim/records/object_reader.hpp"

namespace linkcast::replay {

/// Key options: {key: text or number}, as `--option key=value` on a command line; empty if there is none.
/// @throws InputError
std::map<std::string, std::string> read_part_options(ObjectReader& r);

}  // namespace linkcast::replay
