#include "cli/files.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/mman.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <iostream>
#include <map>
#include <stdexcept>
#include <utility>

#include "calibrate/import/importer.hpp"
#include "sim/base/atomic_file.hpp"
#include "sim/base/input_error.hpp"
#include "sim/base/limits.hpp"
#include "sim/base/packed_file.hpp"

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

DraftFile::DraftFile(std::string option, std::string path) : option_(std::move(option)), path_(std::move(path)) {
  if (path_ == "-") path_.clear();
  if (path_.empty()) return;
  if (std::filesystem::exists(path_) && !std::filesystem::is_regular_file(path_))
    throw InputError(option_ + ": " + path_ + ": is not a regular file");
  draft_ = path_ + ".partial";
  nameless_ = open_nameless(path_);
  file_.open(nameless_ < 0 ? draft_ : fmt::format("/proc/self/fd/{}", nameless_), std::ios::binary | std::ios::trunc);
  if (!file_) throw InputError(option_ + ": " + path_ + ": cannot be written");
}

DraftFile::~DraftFile() {
  if (nameless_ >= 0) ::close(nameless_);
  if (path_.empty() || done_) return;
  file_.close();
  std::error_code ignored;
  if (nameless_ < 0) std::filesystem::remove(draft_, ignored);
}

void DraftFile::give_name() {
  std::error_code error;
  if (nameless_ >= 0 && !name_file(nameless_, draft_))  // a link takes no name that is there: by the draft's
    throw InputError(option_ + ": " + path_ + ": cannot be written: disk full?");
  std::filesystem::rename(draft_, path_, error);
  if (error) {
    std::error_code ignored;
    std::filesystem::remove(draft_, ignored);
    throw InputError(option_ + ": " + path_ + ": cannot be written: disk full?");
  }
  done_ = true;
}

std::ostream& DraftFile::out() { return path_.empty() ? std::cout : file_; }

void DraftFile::check() {
  const std::string name = path_.empty() ? "standard output" : option_ + ": " + path_;
  if (!out()) throw InputError(name + ": cannot be written: disk full?");
}

void DraftFile::close() {
  if (path_.empty()) {
    std::cout.flush();
    return check();
  }
  file_.close();
  check();
  give_name();
}

namespace {

/// Links and hard links to one file count as it.
bool same_file(const std::string& one, const std::string& other) {
  std::error_code none;
  if (std::filesystem::equivalent(one, other, none)) return true;
  return std::filesystem::weakly_canonical(std::filesystem::absolute(one), none) ==
         std::filesystem::weakly_canonical(std::filesystem::absolute(other), none);
}

}  // namespace

void check_outputs(const std::vector<Output>& outputs, const std::vector<std::string>& inputs) {
  for (auto output = outputs.begin(); output != outputs.end(); ++output) {
    if (output->path.empty()) continue;
    for (const std::string& input : inputs)
      if (same_file(output->path, input))
        throw InputError(output->option + ": " + output->path + ": is the file that is read");
    for (auto earlier = outputs.begin(); earlier != output; ++earlier)
      if (!earlier->path.empty() && same_file(output->path, earlier->path))
        throw InputError(output->option + ": " + output->path + ": is the file that " + earlier->option + " writes");
  }
}

namespace {

constexpr std::int64_t kEventsBetween = 64;  // that are written, between two looks at the clock

}  // namespace

TraceOut::TraceOut(std::string path, log::Progress& progress)
    : file_("--out", std::move(path)), work_(progress, "trace", "events") {}

void TraceOut::header(const TraceHeader& header) { write(trace_line(to_json(header))); }
void TraceOut::event(const TraceEvent& event) {
  write(trace_line(to_json(event)));
  if (++events_ % kEventsBetween == 0) work_.advance(events_);
}

void TraceOut::write(const std::string& line) {
  file_.out() << line;
  file_.check();
}

Json cluster_in(const std::string& path) {
  const std::string text = file_text(path);
  const auto first = text.find_first_not_of(" \t\r\n");
  if (first != std::string::npos && text[first] == '{') return read_json_file(path);
  const bool ib = text.find("\"S-") != std::string::npos || text.find("==(") != std::string::npos;
  ImportRequest request;
  request.files = {path};
  request.machine = std::filesystem::path(path).stem().string();
  return import_record(ib ? "ib-fabric" : "topology-conf", request);
}

std::map<std::string, std::string> key_values(const std::vector<std::string>& texts, const std::string& command) {
  std::map<std::string, std::string> values;
  for (const std::string& text : texts) {
    const std::size_t sign = text.find('=');
    if (sign == 0 || sign == std::string::npos)
      throw InputError("--option: '" + text + "' is not key=value, see 'linkcast help " + command + "'");
    const std::string key = text.substr(0, sign);
    if (!values.emplace(key, text.substr(sign + 1)).second) throw InputError("--option " + key + ": is given twice");
  }
  return values;
}

}  // namespace linkcast::cli
