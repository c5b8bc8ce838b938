#pragma once
// Files that are never half: header only, since linkcast-bench builds without the rest of this room.
#include <fcntl.h>
#include <unistd.h>

#include <cstdio>
#include <filesystem>
#include <string>

#include "sim/base/input_error.hpp"

namespace linkcast {

/// A file in the folder of `path` that has no name, so that a kill leaves none behind; -1: the file system has no such.
inline int open_nameless(const std::string& path) {
  constexpr mode_t kMode = 0666;  // source: fopen(3), less the umask
  const std::string folder = std::filesystem::path(path).parent_path().string();
  return ::open(folder.empty() ? "." : folder.c_str(), O_TMPFILE | O_WRONLY | O_CLOEXEC, kMode);
}

/// Gives it a name, in place of what has it. @returns  false: it cannot have it
inline bool name_file(int nameless, const std::string& name) {
  std::remove(name.c_str());
  const std::string from = "/proc/self/fd/" + std::to_string(nameless);
  return ::linkat(AT_FDCWD, from.c_str(), AT_FDCWD, name.c_str(), AT_SYMLINK_FOLLOW) == 0;
}

/// Writes the text to a new file beside `path` and renames it over: readers see the old or the new file, never half.
/// @throws InputError  if `path` is no regular file or cannot be written
inline void write_atomically(const std::string& path, const std::string& text) {
  if (std::filesystem::exists(path) && !std::filesystem::is_regular_file(path))
    throw InputError(path + ": is not a regular file");
  const std::string draft = path + ".partial";
  const int nameless = open_nameless(path);
  std::FILE* file = nameless < 0 ? std::fopen(draft.c_str(), "wb") : ::fdopen(nameless, "wb");
  if (file == nullptr) throw InputError(path + ": cannot be written");
  const bool whole = std::fwrite(text.data(), 1, text.size(), file) == text.size() && std::fflush(file) == 0 &&
                     fsync(fileno(file)) == 0 && (nameless < 0 || name_file(nameless, draft));
  const bool closed = std::fclose(file) == 0;
  if (!whole || !closed || std::rename(draft.c_str(), path.c_str()) != 0) {
    std::remove(draft.c_str());  // a full disk is not filled further
    throw InputError(path + ": cannot be written: disk full?");
  }
  const std::string folder = std::filesystem::path(path).parent_path().string();
  const int entry = ::open(folder.empty() ? "." : folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (entry < 0) return;
  static_cast<void>(fsync(entry));  // else the new name, not the file, can be lost with the power
  ::close(entry);
}

}  // namespace linkcast
