#pragma once
#include <filesystem>
#include <string>

namespace linkcast {

/// "PATH: File name too long": what the system says of a name that the user gave.
inline std::string file_error_text(const std::filesystem::filesystem_error& error) {
  return error.path1().string() + ": " + error.code().message();
}

}  // namespace linkcast
