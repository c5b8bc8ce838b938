#pragma once
#include <filesystem>
#include <stdexcept>
#include <string>

namespace linkcast {

/// Wrong input: a file, a batch line or a command-line option. what() is one line:
/// "<file>:<json pointer>: <what is wrong and what is allowed>" or "<option>: <...>".
struct InputError : std::runtime_error {
  explicit InputError(const std::string& what) : std::runtime_error(what) {}
  InputError(const std::string& file, const std::string& pointer, const std::string& what)
      : std::runtime_error(file + ":" + (pointer.empty() ? "/" : pointer) + ": " + what) {}
};

/// A broken invariant of our own: the result must not be shown. Exit code 3.
struct InvariantError : std::logic_error {
  using std::logic_error::logic_error;
};

/// "PATH: File name too long": what the system says of a name that the user gave.
inline std::string file_error_text(const std::filesystem::filesystem_error& error) {
  return error.path1().string() + ": " + error.code().message();
}

}  // namespace linkcast
