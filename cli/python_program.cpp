#include "cli/python_program.hpp"

#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <iostream>

#include "sim/engine/worker_program.hpp"

namespace linkcast::cli {
namespace fs = std::filesystem;
namespace {

/// The environment that .ci/prepare makes beside the program; else the interpreter that the distribution's packages
/// belong to; else any.
std::string interpreter(const fs::path& program) {
  for (const fs::path& candidate : {program.parent_path() / "python" / "bin" / "python3", fs::path("/usr/bin/python3")})
    if (::access(candidate.c_str(), X_OK) == 0) return candidate.string();
  return "python3";
}

}  // namespace

std::string find_script(const Context& context, const std::string& script) {
  if (!context.data_dir.empty() && fs::exists(fs::path(context.data_dir) / script))
    return (fs::path(context.data_dir) / script).string();
  const fs::path own = fs::path(default_data_dir()) / script;
  if (fs::exists(own)) return own.string();
  throw InputError("--data-dir: " + own.string() + ": no such file");
}

int run_hooked(std::vector<std::string> command, const std::string& folder,
               const std::map<std::string, std::string>& environment) {
  constexpr int kNoProgram = 127;  // source: POSIX, exit status of a shell whose command is not found
  constexpr int kSignal = 128;     // source: POSIX shells add it to the number of the signal that ended a command
  const char* before = std::getenv("PYTHONPATH");
  const std::string path = before == nullptr || *before == '\0' ? folder : folder + ":" + before;
  std::vector<char*> argv;
  for (std::string& word : command) argv.push_back(word.data());
  argv.push_back(nullptr);
  const pid_t child = ::fork();
  if (child < 0) throw std::runtime_error(command[0] + ": no process for it: " + std::strerror(errno));
  if (child == 0) {
    for (const auto& [name, value] : environment) ::setenv(name.c_str(), value.c_str(), 1);
    ::setenv("PYTHONPATH", path.c_str(), 1);
    ::execvp(argv[0], argv.data());
    ::_exit(kNoProgram);
  }
  int status = 0;
  while (::waitpid(child, &status, 0) < 0 && errno == EINTR) continue;
  if (WIFSIGNALED(status)) return kSignal + WTERMSIG(status);
  if (WEXITSTATUS(status) == kNoProgram) throw InputError(command[0] + ": cannot be run");
  return WEXITSTATUS(status);
}

void become_python(const Context& context, const std::string& name, const std::vector<std::string>& arguments) {
  const fs::path program = worker_program();
  if (!fs::equivalent(program, "/proc/self/exe"))
    throw InputError(name + ": takes the place of the process that asks: run the command linkcast instead");
  const std::string data = fs::absolute(context.data_dir.empty() ? default_data_dir() : context.data_dir).string();
  // -B: no compiled files among the data
  std::vector<std::string> words = {
      interpreter(program), "-B", find_script(context, "python/run.py"), name, "--program", program.string(),
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
