#pragma once
#include <string>

namespace linkcast::cli {

/// Reads a whole trace strictly, and looks at what only the whole shows: that all ranks of a group call it as often,
/// and that every message has both ends. @returns  what was found, for people
/// @throws InputError  line and pointer of what is wrong
std::string check_trace(const std::string& path);

}  // namespace linkcast::cli
