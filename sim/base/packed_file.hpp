#pragma once
// Files that may be packed by gzip, read as if they were not.
#include <istream>
#include <memory>
#include <string>
#include <string_view>

namespace linkcast {

/// Reads what is in a file, unpacked where it begins as gzip data does, whatever its name. Reading on in data that are
/// broken or end too early throws InputError with the file.
/// @returns  a stream that has failed if the file cannot be opened
std::unique_ptr<std::istream> open_packed(const std::string& path);

/// About how many bytes are in a file, unpacked, by the share of its first megabytes; 0: it is no plain file that can
/// be read.
double unpacked_size_B(const std::string& path);

/// All that is in a file, unpacked. @throws InputError  missing, a folder, broken, or longer than any record
std::string file_bytes(const std::string& path);
/// The same as UTF-8 without a mark: editors and shells of Windows write UTF-16, with one.
std::string file_text(const std::string& path);
/// Whether a text of which this is the beginning is UTF-16 with a byte order mark.
bool begins_utf16(std::string_view begin);

}  // namespace linkcast
