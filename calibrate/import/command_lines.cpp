#include "calibrate/import/command_lines.hpp"

#include <fmt/format.h>

#include <sstream>

#include "sim/base/input_error.hpp"

namespace linkcast {

std::optional<std::string> said_by_commands(const TextFile& file, const std::string& program, const Regex& argument) {
  const Regex command(R"((?:.*[\s/])?)" + program + R"((?:\s.*|))"),
      prompted(R"(\s*(?:.*[$#>]\s+)?\S*/)" + program + R"((?:\s.*|))");
  std::optional<std::string> said, first;
  std::istringstream lines(file.text());
  int number = 0;
  for (std::string line; std::getline(lines, line);) {
    ++number;
    if (!command.whole(line)) continue;
    const Match match = argument.find(line);
    if (!match && !prompted.whole(line)) continue;  // text about the program
    const std::string value = match ? match[1] : "";
    if (first && *first != value)
      throw InputError(
          fmt::format("{}:{}: a command with other options than one above, '{}': import what they printed "
                      "one by one",
                      file.path(), number, line.substr(0, 80)));  // source: ours, a line of a terminal
    first = value;
    if (match) said = value;
  }
  return said;
}

std::map<std::string, std::string> nccl_variables_in(const std::string& line) {
  static const Regex set(R"re(.*?(?:^|[\s'"])(NCCL_[A-Z0-9_]+)=["']?([^\s"']+)["']?(.*))re");
  static const Regex other(R"(NCCL_(?:DEBUG\w*|TOPO_DUMP_FILE|GRAPH_DUMP_FILE|SOCKET_IFNAME|TESTS_\w+|HOSTID))");
  std::map<std::string, std::string> found;
  std::string rest = line;
  for (Match match = set.whole(rest); match; match = set.whole(rest)) {
    if (!other.whole(match[1])) found[match[1]] = match[2];
    rest = match[3];
  }
  return found;
}

}  // namespace linkcast
