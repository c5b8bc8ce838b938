#include "cli/serve/request_log.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <chrono>

#include "sim/base/object_reader.hpp"
#include "sim/base/quick_json.hpp"

namespace linkcast::serve {

RequestLog::RequestLog(const std::string& file) {
  if (file.empty()) return;
  constexpr mode_t kMode = 0640;  // source: open(2): for the owner and those who read logs
  file_ = ::open(file.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, kMode);
  if (file_ < 0) throw InputError("log: " + file + ": cannot be written");
}

RequestLog::~RequestLog() {
  if (file_ >= 0) ::close(file_);
}

void RequestLog::add(const std::string& method, const std::string& route, int status, double taken_s, std::size_t in_B,
                     std::size_t out_B) const {
  if (file_ < 0) return;
  const std::chrono::duration<double> now = std::chrono::system_clock::now().time_since_epoch();
  const std::string line = write_quickly({{"at_s", now.count()},
                                          {"method", method},
                                          {"route", route},
                                          {"status", status},
                                          {"taken_s", taken_s},
                                          {"in_B", in_B},
                                          {"out_B", out_B}}) +
                           "\n";
  const ssize_t written = ::write(file_, line.data(), line.size());  // one call: lines of threads do not mix
  static_cast<void>(written);
}

}  // namespace linkcast::serve
