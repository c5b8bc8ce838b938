#pragma once
#include <array>
#include <istream>
#include <string>

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

}  // namespace linkcast
