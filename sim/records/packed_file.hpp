#pragma once
// Files that may be packed by gzip, read as if they were not.
#include <istream>
#include <memory>
#include <string>

namespace linkcast {

/// Reads what is in a file, unpacked where it begins as gzip data does, whatever its name. Reading on in data that are
/// broken or end too early throws InputError with the file.
/// @returns  a stream that has failed if the file cannot be opened
std::unique_ptr<std::istream> open_packed(const std::string& path);

}  // namespace linkcast
