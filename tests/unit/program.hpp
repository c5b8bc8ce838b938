#pragma once
// Runs the real program in the repository's root and keeps what it printed.
#include <sys/wait.h>

#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <stdexcept>
#include <string>

#include "tests/support/scratch_folder.hpp"

namespace linkcast::test {

struct Run {
  int code = -1;
  std::string out, err;
};

inline std::string text_of_file(const std::filesystem::path& path) {
  std::ifstream in(path, std::ios::binary);
  std::ostringstream text;
  text << in.rdbuf();
  return text.str();
}

/// @param command  a shell command line, run in the repository's root
inline Run run_command(const std::string& command) {
  const ScratchFolder scratch;
  const std::string err = (scratch / "stderr").string();
  const std::string line = "cd '" + test::data_dir() + "' && { " + command + "; } 2>'" + err + "'";
  FILE* pipe = ::popen(line.c_str(), "r");
  if (!pipe) throw std::runtime_error("popen failed");
  Run run;
  char block[4096];
  for (std::size_t count = 0; (count = std::fread(block, 1, sizeof block, pipe)) > 0;) run.out.append(block, count);
  const int status = ::pclose(pipe);
  run.code = WIFEXITED(status) ? WEXITSTATUS(status) : -1;
  run.err = text_of_file(err);
  return run;
}

/// @param arguments  as on a shell's command line
inline Run run_program(const std::string& arguments) { return run_command("'" + test::program() + "' " + arguments); }

inline long lines_of(const std::string& text) { return std::count(text.begin(), text.end(), '\n'); }

}  // namespace linkcast::test
