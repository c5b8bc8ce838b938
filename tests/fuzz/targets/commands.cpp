// Whole commands, for what only they read; slower than the readers alone.
#include <iostream>
#include <sstream>

#include "cli/command.hpp"
#include "cli/command_line.hpp"
#include "tests/fuzz/targets/target.hpp"

namespace linkcast::fuzz {
namespace {

/// Standard output and errors, kept instead of printed.
class Kept {
 public:
  Kept() : out_(std::cout.rdbuf(printed_.rdbuf())), err_(std::cerr.rdbuf(said_.rdbuf())) {}
  Kept(const Kept&) = delete;
  Kept& operator=(const Kept&) = delete;
  ~Kept() {
    std::cout.rdbuf(out_);
    std::cerr.rdbuf(err_);
    std::cout.clear();
    std::cerr.clear();
  }
  [[nodiscard]] std::string said() const { return said_.str(); }

 private:
  std::ostringstream printed_, said_;
  std::streambuf *out_, *err_;
};

/// `{}` is the file.
void command(const std::vector<std::string>& words, const Input& input) {
  static const std::string data = data_dir();
  std::vector<const char*> argv{"linkcast", "--data-dir", data.c_str()};
  for (const std::string& each : words) argv.push_back(each == "{}" ? input.path.c_str() : each.c_str());
  int code = 0;
  std::string said;
  {
    const Kept kept;
    code = cli::command_line(static_cast<int>(argv.size()), argv.data(), false);
    said = kept.said();
  }
  // source: docs/answers.md, exit codes; 4: a comparison failed, 5: diagnose is undecided
  constexpr int kFine = 0, kLate = 130, kMissed = 4, kUndecided = 5;
  const bool undecided = words.front() == "diagnose" && code == kUndecided;
  if (code != kFine && code != kLate && code != cli::kBadInput && code != kMissed && !undecided)
    found("exit code " + std::to_string(code) + ": " + said);
  if (code == cli::kBadInput && said.find("error: ") == std::string::npos)
    found("exit code 2 without a line of ours: " + said);
}

}  // namespace

std::vector<Target> command_targets() {
  std::vector<Target> all;
  const auto add = [&](const char* name, const char* suffix, std::vector<std::string> words) {
    all.push_back({name, suffix, [words = std::move(words)](const Input& input) { command(words, input); }});
  };
  add("diagnose", ".txt", {"diagnose", "--platform", "p100-dgx1", "--force", "{}"});
  add("fit", ".json", {"calibrate", "fit", "{}", "--topology", "p100-dgx1", "--bootstrap", "0"});
  add("replay", ".jsonl", {"replay", "{}", "--platform", "hgx-h200"});
  add("platform", ".json", {"predict", "collective", "--platform", "{}", "--op", "all_reduce", "--size", "1MB"});
  add("schedule", ".json", {"schedule", "{}", "--platform", "v100-dgx1"});
  return all;
}

}  // namespace linkcast::fuzz
