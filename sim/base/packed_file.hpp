#pragma once
// Files as streams, as text and line by line; those packed by gzip as if they were not.
#include <array>
#include <cstddef>
#include <istream>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "sim/base/input_error.hpp"

namespace linkcast {

/// All of a file that is read as a whole; a device or a pipe may have no end.
/// @throws InputError  it is longer than any record, or cannot be read
inline std::string read_whole(std::istream& in, const std::string& name) {
  constexpr std::size_t kMost_B = 536870912;  // source: ours, 512 MiB: a hundred times the largest record that we know
  std::string text;
  std::array<char, 65536> part{};
  // The buffer itself: streams swallow what it throws.
  while (const std::streamsize read = in.rdbuf()->sgetn(part.data(), part.size())) {
    text.append(part.data(), static_cast<std::size_t>(read));
    if (text.size() > kMost_B) throw InputError(name + ": is longer than 512 MiB: no record is");
  }
  return text;
}

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

/// Lines of a stream where they lie in a block of it, so that none is copied; and as many readable bytes behind each as
/// simdjson wants there.
class LineBlocks {
 public:
  /// @param stream  outlives it
  explicit LineBlocks(std::istream& stream) : stream_(&stream) {}
  /// Without its newline; valid until the next. nullopt after the last. @throws InputError  it has no end
  std::optional<std::string_view> next();

 private:
  bool fill();

  std::istream* stream_;
  std::vector<char> block_{};
  std::size_t begin_ = 0, end_ = 0;  ///< what was read and not yet handed out
};

}  // namespace linkcast
