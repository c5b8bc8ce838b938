#include "cli/stdin_file.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/mman.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <map>
#include <stdexcept>

#include "sim/base/input_error.hpp"
#include "sim/base/limits.hpp"

namespace linkcast::cli {
namespace {

/// What was kept in memory, under which path, and how the command line called it; as long as the process lives.
std::map<std::string, std::string>& kept_as() {
  static std::map<std::string, std::string> kept;
  return kept;
}

std::string input_name(const std::string& text) { return text == "-" ? "standard input" : text; }

void write_whole(int file, const char* data, std::size_t size) {
  while (size > 0) {
    const ssize_t written = ::write(file, data, size);
    if (written < 0 && errno == EINTR) continue;
    if (written < 0) throw std::runtime_error(std::string("standard input: cannot be kept: ") + std::strerror(errno));
    data += written;
    size -= static_cast<std::size_t>(written);
  }
}

/// @returns  the path under which all that comes can be read as often as needed
std::string keep(int from, const std::string& name) {
  const int file = ::memfd_create("stdin", 0);  // a program that takes this one's place can still read it
  if (file < 0) throw std::runtime_error(name + ": cannot be kept: " + std::strerror(errno));
  constexpr std::size_t kBlock_B = 65536;
  std::array<char, kBlock_B> block{};
  double kept_B = 0;
  while (true) {
    work::look();
    const ssize_t size = ::read(from, block.data(), block.size());
    if (size < 0 && errno == EINTR) continue;
    if (size < 0) throw std::runtime_error(name + ": cannot be read: " + std::strerror(errno));
    if (size == 0) break;
    work::refuse_memory_in_use(kept_B += static_cast<double>(size));
    write_whole(file, block.data(), static_cast<std::size_t>(size));
  }
  return fmt::format("/proc/self/fd/{}", file);
}

/// A pipe is read once, however many options name it.
std::string kept_path(const std::string& text) {
  const std::string name = input_name(text);
  for (const auto& [path, as] : kept_as())
    if (as == name) return path;
  const bool standard = text == "-";
  const int from = standard ? STDIN_FILENO : ::open(text.c_str(), O_RDONLY | O_CLOEXEC);
  if (from < 0) throw InputError(text + ": cannot be read: " + std::strerror(errno));
  const std::string path = keep(from, name);
  if (!standard) ::close(from);
  kept_as()[path] = name;
  return path;
}

bool is_pipe(const std::string& path) {
  std::error_code ignored;
  return std::filesystem::is_fifo(path, ignored);
}

}  // namespace

void reads_stdin(CLI::Option* option, Pipes pipes) {
  option->transform(CLI::Validator(
      [pipes](std::string& text) {
        if (text == "-" || (pipes == Pipes::kKept && is_pipe(text))) text = kept_path(text);
        return std::string();
      },
      ""));
}

void platforms_read_stdin(CLI::App& app) {
  for (CLI::App* command : app.get_subcommands({})) {
    if (CLI::Option* platform = command->get_option_no_throw("--platform")) reads_stdin(platform);
    platforms_read_stdin(*command);
  }
}

std::string naming_stdin(std::string text) {
  for (const auto& [path, name] : kept_as())
    for (std::size_t at = text.find(path); at != std::string::npos; at = text.find(path, at + name.size()))
      text.replace(at, path.size(), name);
  return text;
}

}  // namespace linkcast::cli
