#include "cli/serve/process_metrics.hpp"

#include <fmt/format.h>
#include <sys/resource.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <sstream>
#include <vector>

#include "sim/query/provenance.hpp"

namespace linkcast::serve {
namespace {

// Numbers of fields behind the name in /proc/self/stat. source: proc(5), less the two before them and one for counting
// from 0
enum Field : std::size_t { kUserTicks = 11, kSystemTicks = 12, kThreads = 17, kStart = 19, kVirtual = 20, kPages = 21 };

std::vector<double> process_fields() {
  std::ifstream file("/proc/self/stat");
  std::string text;
  std::getline(file, text);
  std::istringstream fields(text.substr(std::min(text.rfind(')') + 1, text.size())));  // a name may hold blanks
  std::vector<double> values{0};                                                       // the state is a letter
  std::string state;
  fields >> state;
  for (double value = 0; fields >> value;) values.push_back(value);
  values.resize(std::max<std::size_t>(values.size(), kPages + 1));
  return values;
}

/// Seconds since 1970 at which the system started; 0: unknown.
double boot_s() {
  std::ifstream file("/proc/stat");
  for (std::string line; std::getline(file, line);)
    if (line.starts_with("btime ")) return std::stod(line.substr(std::string("btime ").size()));
  return 0;
}

std::size_t open_files() {
  std::error_code error;
  std::size_t count = 0;
  for (std::filesystem::directory_iterator one("/proc/self/fd", error), end; !error && one != end; one.increment(error))
    ++count;
  return count == 0 ? 0 : count - 1;  // one is that of the folder itself
}

void add(std::string& text, const char* name, const char* type, const char* help, double value) {
  text += fmt::format("# HELP {0} {1}\n# TYPE {0} {2}\n{0} {3}\n", name, help, type, value);
}

}  // namespace

std::string process_metrics() {
  std::string text = fmt::format(
      "# HELP linkcast_build_info The program that answers; always 1.\n# TYPE linkcast_build_info gauge\n"
      "linkcast_build_info{{version=\"{}\",commit=\"{}\"}} 1\n",
      query::build_version(), query::build_commit());
  const std::vector<double> fields = process_fields();
  const auto ticks = static_cast<double>(::sysconf(_SC_CLK_TCK));
  rlimit files{};
  ::getrlimit(RLIMIT_NOFILE, &files);
  add(text, "process_cpu_seconds_total", "counter", "CPU time, of user and system.",
      (fields[kUserTicks] + fields[kSystemTicks]) / ticks);
  add(text, "process_open_fds", "gauge", "Open file descriptors.", static_cast<double>(open_files()));
  add(text, "process_max_fds", "gauge", "Most file descriptors.", static_cast<double>(files.rlim_cur));
  add(text, "process_virtual_memory_bytes", "gauge", "Virtual memory.", fields[kVirtual]);
  add(text, "process_resident_memory_bytes", "gauge", "Resident memory.",
      fields[kPages] * static_cast<double>(::sysconf(_SC_PAGESIZE)));
  add(text, "process_start_time_seconds", "gauge", "Start of the process, since 1970.",
      boot_s() + fields[kStart] / ticks);
  add(text, "process_threads", "gauge", "Threads of the process.", fields[kThreads]);
  return text;
}

}  // namespace linkcast::serve
