#include "cli/file_kind.hpp"

#include <fmt/format.h>

#include <filesystem>
#include <fstream>
#include <utility>
#include <vector>

#include "calibrate/import/topo_matrix.hpp"
#include "sim/base/input_error.hpp"
#include "sim/base/packed_file.hpp"
#include "validate/diagnosis/log.hpp"

namespace linkcast::cli {
namespace {

bool holds(const std::string& text, const char* word) { return text.find(word) != std::string::npos; }

/// The format of import of a recording, by words that the others do not print; empty: none is known.
std::string recording_format(const std::string& text) {
  static const std::vector<std::pair<const char*, const char*>> kWords{
      {"SQLite format 3", "nsys"},         {"\"traceEvents\"", "kineto"}, {"\"pg_config\"", "flight-recorder"},
      {"|execution_trace|", "pytorch-et"}, {"num_ranks", "goal"},         {" opCount ", "nccl-log"}};
  for (const auto& [word, format] : kWords)
    if (holds(text, word)) return format;
  return "";
}

bool says_wiring(const std::string& text) {
  return topology_import::is_topo_matrix(text) || holds(text, "Link Type between two GPUs") || holds(text, "<system") ||
         holds(text, "<topology") || (holds(text, "GPU 0: ") && holds(text, "(UUID: "));
}

}  // namespace

std::string shell_argument(const std::string& path) {
  return path.find_first_of(" '\"$()") == std::string::npos ? path : "\"" + path + "\"";
}

bool is_log_file(const std::string& path) { return command_of_file(path).starts_with("linkcast diagnose "); }

std::string command_of_file(const std::string& path) {
  std::error_code none;
  if (!std::filesystem::is_regular_file(path, none)) return "";
  const std::string text = file_text(path), file = shell_argument(path);
  for (const auto& [schema, command] :
       std::vector<std::pair<const char*, const char*>>{{"\"trace/1\"", "linkcast replay {} --platform PLATFORM"},
                                                        {"\"calibration/1\"", "linkcast show {}"},
                                                        {"\"topology/1\"", "linkcast show {}"},
                                                        {"\"variant/1\"", "linkcast show {}"}})
    if (holds(text, schema)) return fmt::format(fmt::runtime(command), file);
  if (!diagnosis::log_format(path).empty()) return "linkcast diagnose " + file;
  if (const std::string format = recording_format(text); !format.empty())
    return fmt::format("linkcast import {} {} --out TRACE, and linkcast replay TRACE --platform PLATFORM", format,
                       file);
  return says_wiring(text) ? "linkcast init " + file : "";
}

void expect_file_of(const std::string& command, const std::string& path) {
  std::error_code none;
  if (!std::filesystem::is_regular_file(path, none)) return;
  std::string head(4096, '\0');  // traces may be long: their first line is enough
  std::ifstream file(path, std::ios::binary);
  file.read(head.data(), static_cast<std::streamsize>(head.size()));
  if (holds(head, "trace/1") ? command == "replay" : head.starts_with("\x1f\x8b")) return;
  if (command == "init" && says_wiring(file_text(path))) return;
  const std::string right = command_of_file(path);
  if (right.empty() || right.starts_with("linkcast " + command + " ")) return;
  throw InputError(path + ": is no file for " + command + ", by what it holds: " + right);
}

}  // namespace linkcast::cli
