#pragma once
#include <string>

namespace linkcast {

/// SHA-256 of a file's bytes in lower-case hexadecimal. @throws InputError  if it cannot be read
std::string sha256_of_file(const std::string& path);
/// SHA-256 of a text.
std::string sha256_of_text(const std::string& text);

}  // namespace linkcast
