#include "cli/stdin_file.hpp"

#include <sys/mman.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstring>
#include <stdexcept>

namespace linkcast::cli {
namespace {

/// Empty until standard input was read; as long as the process lives.
std::string& stdin_path() {
  static std::string path;
  return path;
}

void write_whole(int file, const char* data, std::size_t size) {
  while (size > 0) {
    const ssize_t written = ::write(file, data, size);
    if (written < 0 && errno == EINTR) continue;
    if (written < 0) throw std::runtime_error(std::string("standard input: cannot be kept: ") + std::strerror(errno));
    data += written;
    size -= static_cast<std::size_t>(written);
  }
}

std::string read_stdin() {
  const int file = ::memfd_create("stdin", 0);  // a program that takes this one's place can still read it
  if (file < 0) throw std::runtime_error(std::string("standard input: cannot be kept: ") + std::strerror(errno));
  constexpr std::size_t kBlock_B = 65536;
  std::array<char, kBlock_B> block{};
  while (true) {
    const ssize_t size = ::read(STDIN_FILENO, block.data(), block.size());
    if (size < 0 && errno == EINTR) continue;
    if (size < 0) throw std::runtime_error(std::string("standard input: cannot be read: ") + std::strerror(errno));
    if (size == 0) break;
    write_whole(file, block.data(), static_cast<std::size_t>(size));
  }
  return "/proc/self/fd/" + std::to_string(file);
}

}  // namespace

void reads_stdin(CLI::Option* option) {
  option->transform(CLI::Validator(
      [](std::string& text) {
        if (text != "-") return std::string();
        if (stdin_path().empty()) stdin_path() = read_stdin();
        text = stdin_path();
        return std::string();
      },
      ""));
}

std::string naming_stdin(std::string text) {
  const std::string& path = stdin_path();
  if (path.empty()) return text;
  for (std::size_t at = text.find(path); at != std::string::npos; at = text.find(path))
    text.replace(at, path.size(), "standard input");
  return text;
}

}  // namespace linkcast::cli
