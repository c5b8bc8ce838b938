#include "cli/python_program.hpp"

#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <iostream>

namespace linkcast::cli {
namespace fs = std::filesystem;
namespace {

/// --data-dir may name a folder with data alone: the scripts are then those beside the program.
fs::path find_script(const Context& context, const std::string& script) {
  if (!context.data_dir.empty() && fs::exists(fs::path(context.data_dir) / script))
    return fs::path(context.data_dir) / script;
  const fs::path own = fs::path(default_data_dir()) / script;
  if (fs::exists(own)) return own;
  throw InputError("--data-dir: " + own.string() + ": no such file");
}

/// The environment that .ci/prepare makes beside the program; else the interpreter that the distribution's packages
/// belong to; else any.
std::string interpreter(const fs::path& program) {
  for (const fs::path& candidate : {program.parent_path() / "python" / "bin" / "python3", fs::path("/usr/bin/python3")})
    if (::access(candidate.c_str(), X_OK) == 0) return candidate.string();
  return "python3";
}

}  // namespace

void become_python(const Context& context, const std::string& script, const std::vector<std::string>& arguments) {
  const fs::path program = fs::read_symlink("/proc/self/exe");
  const std::string data = fs::absolute(context.data_dir.empty() ? default_data_dir() : context.data_dir).string();
  // -B: no compiled files among the data
  std::vector<std::string> words = {
      interpreter(program), "-B", find_script(context, script).string(), "--program", program.string(),
      "--data-dir",         data};
  words.insert(words.end(), arguments.begin(), arguments.end());
  std::vector<char*> argv;
  for (std::string& word : words) argv.push_back(word.data());
  argv.push_back(nullptr);
  std::cout.flush();
  ::execvp(argv[0], argv.data());
  throw std::runtime_error(words[0] + ": cannot be run: " + std::strerror(errno));
}

}  // namespace linkcast::cli
