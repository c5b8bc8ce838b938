#pragma once
#include <string>

#include "sim/base/object_reader.hpp"

namespace linkcast {

/// Reads JSON in one pass, for speed. @returns  false if anything is wrong with the text, or unusual: whoever reads it
/// strictly says what. json is then half read
bool read_quickly(const std::string& text, Json& json);

/// The same bytes as json.dump(-1, ' ', false, Json::error_handler_t::replace): one line, what is not UTF-8 as U+FFFD.
std::string write_quickly(const Json& json);

}  // namespace linkcast
