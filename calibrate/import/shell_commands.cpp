#include "calibrate/import/shell_commands.hpp"

#include <algorithm>
#include <set>
#include <string_view>
#include <utility>

namespace linkcast {
namespace {

constexpr std::size_t kMostLetters = 10000;  // of a command with its variables. source: ours, no one types more
constexpr const char* kBlanks = " \t";
using Words = std::vector<std::string>;

/// Words of each command; ';', '&' and '|' end one. A text in quotes with blanks is a command: bash -c "A=1 ./program".
std::vector<Words> split(std::string_view text) {
  std::vector<Words> commands(1);
  std::string word;
  const auto end_word = [&] {
    if (!word.empty()) commands.back().push_back(std::exchange(word, ""));
  };
  for (std::size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    const auto close = c == '\'' || c == '"' ? text.find(c, i + 1) : std::string_view::npos;
    const bool redirects = c == '&' && ((i > 0 && text[i - 1] == '>') || text.substr(i + 1).starts_with('>'));
    if (close != std::string_view::npos) {
      const std::string_view quoted = text.substr(i + 1, close - i - 1);
      i = close;
      if (!word.empty() || quoted.find_first_of(kBlanks) == std::string_view::npos) {
        word += quoted;
        continue;
      }
      std::vector<Words> inside = split(quoted);
      commands.back().insert(commands.back().end(), inside.front().begin(), inside.front().end());
      commands.insert(commands.end(), inside.begin() + 1, inside.end());
    } else if (c == ' ' || c == '\t') {
      end_word();
    } else if (c == '#' && word.empty()) {
      break;
    } else if (c == ';' || c == '|' || (c == '&' && !redirects)) {
      end_word();
      commands.emplace_back();
    } else {
      word += c;
    }
  }
  end_word();
  return commands;
}

std::string name_of(const std::string& word) { return word.substr(word.rfind('/') + 1); }

bool is_variable(const std::string& word) {
  static const Regex variable(R"([A-Za-z_]\w*=.*)");
  return bool{variable.whole(word)};
}

/// In front of a command, with options of their own.
bool is_prefix(const std::string& word) {
  static const std::set<std::string> kPrefixes{"do", "exec", "nohup", "then", "time"};
  return kPrefixes.contains(name_of(word));
}

/// Takes out "nice -n 10", also behind a launcher: its numbers are none of ranks.
void drop_priority(Words& words) {
  static const Regex lowers("(?:io)?nice"), option(R"(-[cn]|--(?:adjustment|class|classdata))");
  for (auto word = words.begin(); word != words.end();) {
    if (!lowers.whole(name_of(*word))) {
      ++word;
      continue;
    }
    auto end = std::next(word);
    while (end != words.end() && end->starts_with('-'))
      end += option.whole(*end) && std::next(end) != words.end() ? 2 : 1;
    word = words.erase(word, end);
  }
}

/// In front of others in a line, "cd build && ./program", or printing.
bool prepares(const std::string& word) {
  static const std::set<std::string> kPreparing{"cd",  "date",  "echo",   "for",   "module",
                                                "set", "sleep", "source", "ulimit"};
  return kPreparing.contains(word);
}

bool begins_command(const std::string& word, const Regex& program) {
  static const std::set<std::string> kOthers{
      "aprun",      "apptainer", "bash",    "docker",   "enroot", "env",           "export", "flux", "ibrun",
      "jsrun",      "kubectl",   "mpiexec", "mpirun",   "ncu",    "mpiexec.hydra", "nice",   "nsys", "numactl",
      "mpirun_rsh", "orterun",   "podman",  "prterun",  "sh",     "singularity",   "srun",   "ssh",  "stdbuf",
      "sudo",       "taskset",   "timeout", "torchrun", "unset"};
  return is_variable(word) || kOthers.contains(name_of(word)) || program.whole(name_of(word));
}

/// Place of the program; words.size(): none.
std::size_t place_of_program(const Words& words, const Regex& program) {
  const auto found = std::find_if(words.begin(), words.end(), [&](const std::string& word) {
    return !word.starts_with('-') && !is_variable(word) && program.whole(name_of(word));
  });
  return static_cast<std::size_t>(found - words.begin());
}

/// A word of a language behind the program that is no option's value and no file: "nvbandwidth used -b 64".
bool is_prose(const ShellCommand& command) {
  static const Regex said(R"([A-Za-z]?[a-z]+[,.:?!]?)"), takes_value(R"(-.*|.*[<>])");
  for (std::size_t i = command.program + 1; i < command.words.size(); ++i)
    if (said.whole(command.words[i]) && !takes_value.whole(command.words[i - 1])) return true;
  return false;
}

/// Where the line's command begins, and the mark of the prompt in front of it, 0 for none.
struct Begin {
  std::size_t at = std::string::npos;
  char mark = 0;
};

/// Marks of prompts that are no quotation's and no comment's.
bool is_shells(char mark) { return mark == '$' || mark == '+' || mark == '%'; }

Begin begin_of(const std::string& line, const Regex& program) {
  static const Regex counted(R"(\s*\d{1,6}\s\s.*)");  // out of a history
  std::size_t at = line.find_first_not_of(kBlanks);
  if (at != std::string::npos && counted.whole(line))
    at = line.find_first_not_of(kBlanks, line.find_first_of(kBlanks, at));
  char mark = 0;
  for (bool may_begin = true; at != std::string::npos;) {
    std::string word = line.substr(at, line.find_first_of(" \t;&|", at) - at);
    std::erase_if(word, [](char c) { return c == '\'' || c == '"'; });
    if (may_begin && (is_prefix(word) || prepares(word) || begins_command(word, program))) return {at, mark};
    if (may_begin && is_shells(mark) && word == "#") return {};  // a comment that was typed
    const std::size_t end = line.find_first_of(kBlanks, at);
    if (end == std::string::npos) break;
    mark = line[end - 1];
    may_begin = is_shells(mark) || mark == '#' || mark == '>';
    at = line.find_first_not_of(kBlanks, end);
  }
  return {};
}

}  // namespace

std::vector<ShellCommand> shell_commands(const std::string& line, const Regex& program) {
  if (line.size() > kMostLetters) return {};
  const Begin begin = begin_of(line, program);
  if (begin.at == std::string::npos) return {};
  std::vector<ShellCommand> commands;
  for (Words& words : split(std::string_view(line).substr(begin.at))) {
    while (!words.empty() && is_prefix(words.front())) {
      words.erase(words.begin());
      while (!words.empty() && words.front().starts_with('-')) words.erase(words.begin());
    }
    drop_priority(words);
    if (words.empty() || prepares(words.front()) || !begins_command(words.front(), program)) continue;
    ShellCommand command{std::move(words), 0};
    command.program = place_of_program(command.words, program);
    const bool heading =
        command.words.size() == 1 && !is_shells(begin.mark) && command.words.front().find('/') == std::string::npos;
    if (command.runs() && (heading || is_prose(command))) continue;
    commands.push_back(std::move(command));
  }
  return commands;
}

std::string JoinedLines::add(const std::string& line) {
  const bool more = line.ends_with('\\');
  if (text_.size() <= kMostLetters) text_ += more ? line.substr(0, line.size() - 1) + ' ' : line;
  if (more) return "";
  std::string text = std::exchange(text_, "");
  return text.size() > kMostLetters ? "" : text;
}

}  // namespace linkcast
