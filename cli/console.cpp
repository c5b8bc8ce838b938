#include "cli/console.hpp"

#include <fmt/format.h>
#include <spdlog/cfg/helpers.h>
#include <spdlog/spdlog.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <chrono>
#include <cstdlib>
#include <iostream>
#include <sstream>

#include "sim/base/input_error.hpp"

namespace linkcast::cli {
namespace {

constexpr const char* kVariable = "LINKCAST_LOG";
constexpr const char* kClear = "\r\x1b[K";

/// Columns of the terminal; a longer line would wrap, and not be taken away again.
std::size_t width() {
  winsize size{};
  constexpr std::size_t usual = 80;
  return ::ioctl(STDERR_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col > 0 ? size.ws_col : usual;
}

/// Notes are bare, warnings and errors say so, what -v adds has its time and room.
class LineFormatter final : public spdlog::formatter {
 public:
  void format(const spdlog::details::log_msg& message, spdlog::memory_buf_t& into) override {
    const auto out = std::back_inserter(into);
    const double since_s = std::chrono::duration<double>(message.time - start_).count();
    switch (message.level) {
      case spdlog::level::trace:
      case spdlog::level::debug:
        fmt::format_to(out, "[{:.3f} s] {}: ", since_s,
                       fmt::string_view(message.logger_name.data(), message.logger_name.size()));
        break;
      case spdlog::level::warn:
        fmt::format_to(out, "warning: ");
        break;
      case spdlog::level::err:
      case spdlog::level::critical:
        fmt::format_to(out, "error: ");
        break;
      default:
        break;
    }
    into.append(message.payload.data(), message.payload.data() + message.payload.size());
    into.push_back('\n');
  }
  [[nodiscard]] std::unique_ptr<spdlog::formatter> clone() const override {
    return std::make_unique<LineFormatter>(*this);
  }

 private:
  spdlog::log_clock::time_point start_ = spdlog::log_clock::now();
};

/// spdlog leaves out what it does not know.
void refuse_wrong_levels(const std::string& text) {
  std::istringstream parts(text);
  for (std::string part; std::getline(parts, part, ',');) {
    const std::string level = part.substr(part.find('=') + 1);
    if (level != "off" && spdlog::level::from_str(level) == spdlog::level::off)
      throw InputError(std::string(kVariable) + ": '" + level +
                       "' is no level: one of trace, debug, info, warn, error, off");
  }
}

}  // namespace

Console::Console() : terminal_(isatty(STDERR_FILENO) == 1) {}

void Console::put(const std::string& text) const { std::cerr << text; }

void Console::status(const std::string& text) {
  const std::lock_guard<std::mutex> lock(mutex_);
  if (text.empty() && status_.empty()) return;
  status_ = text.substr(0, width() - 1);
  beating_ = false;
  put(kClear + status_);
}

void Console::beat(const std::string& text) {
  const std::lock_guard<std::mutex> lock(mutex_);
  if (!terminal_ || (!status_.empty() && !beating_) || (text.empty() && status_.empty())) return;
  status_ = text.substr(0, width() - 1);
  beating_ = true;
  put(kClear + status_);
}

void Console::sink_it_(const spdlog::details::log_msg& message) {
  spdlog::memory_buf_t line;
  formatter_->format(message, line);
  put((status_.empty() ? "" : kClear) + std::string(line.data(), line.size()) + status_);
}

std::shared_ptr<Console> set_up_log(int verbose, bool quiet) {
  const auto console = std::make_shared<Console>();
  spdlog::set_default_logger(std::make_shared<spdlog::logger>("linkcast", console));
  spdlog::set_formatter(std::make_unique<LineFormatter>());
  spdlog::set_level(spdlog::level::info);  // whatever an earlier command of the process said
  if (const char* levels = std::getenv(kVariable); levels != nullptr) {
    refuse_wrong_levels(levels);
    spdlog::cfg::helpers::load_levels(levels);
  }
  if (verbose > 0) spdlog::set_level(verbose > 1 ? spdlog::level::trace : spdlog::level::debug);
  if (quiet) spdlog::set_level(spdlog::level::err);
  return console;
}

}  // namespace linkcast::cli
