#pragma once
// What libFuzzer feeds: one target a reader, a kind of question, or the service.
#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

namespace linkcast::fuzz {

/// The bytes of one try, and the file that holds them where a reader wants a path.
struct Input {
  std::string_view bytes;
  std::string path{};
};

struct Target {
  std::string name;
  std::string suffix{};                     ///< of the file, e.g. ".json"; empty: no file is written
  std::function<void(const Input&)> run{};  ///< may throw what a command reports in one line
};

/// What must not happen; ends the program with a report.
[[noreturn]] void found(const std::string& what);

/// By importers and readers of records; by questions and words; by the service; by whole commands.
std::vector<Target> reader_targets();
std::vector<Target> question_targets();
std::vector<Target> service_targets();
std::vector<Target> command_targets();

/// With topologies/ and models/.
std::string data_dir();

}  // namespace linkcast::fuzz
