#include "calibrate/import/command_lines.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <sstream>
#include <utility>

#include "sim/base/input_error.hpp"

namespace linkcast {
namespace {

/// "NCCL_ALGO=Ring" as name and value; nothing: it is none of NCCL's variables, or one that changes no time.
std::optional<std::pair<std::string, std::string>> nccl_variable(const std::string& word) {
  static const Regex set(R"((NCCL_[A-Z0-9_]+)=(.+))");
  static const Regex other(R"(NCCL_(?:DEBUG\w*|TOPO_DUMP_FILE|GRAPH_DUMP_FILE|SOCKET_IFNAME|TESTS_\w+|HOSTID))");
  const Match match = set.whole(word);
  if (!match || other.whole(match[1])) return std::nullopt;
  return std::pair{match[1], match[2]};
}

/// The program prints its options or tests, and runs none.
bool only_tells(const ShellCommand& command) {
  static const Regex tells(R"(-h|--help|-l|--list|--version)");
  return std::any_of(command.words.begin() + static_cast<std::ptrdiff_t>(command.program), command.words.end(),
                     [](const std::string& word) { return bool{tells.whole(word)}; });
}

}  // namespace

std::optional<std::string> said_by_commands(const TextFile& file, const std::string& program, const Regex& argument) {
  const Regex name(program);
  std::optional<std::string> said, first;
  std::istringstream lines(file.text());
  JoinedLines joined;
  int number = 0;
  for (std::string line; std::getline(lines, line);) {
    ++number;
    const std::string text = joined.add(line);
    if (!name.find(text)) continue;
    for (const ShellCommand& command : shell_commands(text, name)) {
      if (!command.runs() || only_tells(command)) continue;
      const Match match = argument.find(fmt::format("{}", fmt::join(command.words, " ")));
      const std::string value = match ? match[1] : "";
      if (first && *first != value)
        throw InputError(
            fmt::format("{}:{}: a command with other options than one above, '{}': import what they printed "
                        "one by one",
                        file.path(), number, line.substr(0, 80)));  // source: ours, a line of a terminal
      first = value;
      if (match) said = value;
    }
  }
  return said;
}

void NcclCommands::note_exports(const std::vector<std::string>& words) {
  const auto exports = std::find(words.begin(), words.end(), "export");
  const bool ends = words.front() == "unset" || std::find(exports, words.end(), "-n") != words.end();
  const auto begin = words.front() == "unset" ? words.begin() : exports;
  for (auto word = begin; word != words.end(); ++word) {
    if (ends)
      exported_.erase(word->substr(0, word->find('=')));
    else if (const auto variable = nccl_variable(*word))
      exported_[variable->first] = variable->second;
  }
}

std::vector<NcclVariables> NcclCommands::read(const std::string& line) {
  static const Regex program(R"(\w+_(?:perf|test)(?:_mpi)?)");
  std::vector<NcclVariables> runs;
  std::optional<NcclVariables> outside;  // exports of a shell that ends with the line: bash -c "export A=1; ./program"
  for (const ShellCommand& command : shell_commands(lines_.add(line), program)) {
    if (!command.runs()) {
      const std::string& first = command.words.front();
      if (!outside && first != "export" && first != "unset") outside = exported_;
      note_exports(command.words);
      continue;
    }
    NcclVariables& set = runs.emplace_back(exported_);
    for (std::size_t i = 0; i < command.program; ++i)
      if (const auto variable = nccl_variable(command.words[i])) set[variable->first] = variable->second;
  }
  if (outside) exported_ = std::move(*outside);
  return runs;
}

}  // namespace linkcast
