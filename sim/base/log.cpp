#include "sim/base/log.hpp"

#include <spdlog/sinks/stdout_sinks.h>
#include <spdlog/spdlog.h>

#include <mutex>
#include <string>

namespace linkcast::log {
namespace {

spdlog::level::level_enum level_of(Level level) {
  switch (level) {
    case Level::kTrace:
      return spdlog::level::trace;
    case Level::kDebug:
      return spdlog::level::debug;
    case Level::kNote:
      return spdlog::level::info;
    case Level::kWarning:
      break;
  }
  return spdlog::level::warn;
}

/// Where the program's default logger writes; that of spdlog itself, which has no name, writes to standard output.
std::shared_ptr<spdlog::logger> new_logger(const char* room) {
  const auto usual = spdlog::default_logger();
  auto logger = usual != nullptr && !usual->name().empty()
                    ? usual->clone(room)
                    : std::make_shared<spdlog::logger>(room, std::make_shared<spdlog::sinks::stderr_sink_mt>());
  spdlog::initialize_logger(logger);  // pattern and level as set for this name or for all
  return logger;
}

}  // namespace

Log::Log(const char* room) {
  static std::mutex making;  // of two threads one makes it
  const std::lock_guard<std::mutex> lock(making);
  logger_ = spdlog::get(room);
  if (!logger_) logger_ = new_logger(room);
}

bool Log::shows(Level level) const { return logger_->should_log(level_of(level)); }

void Log::write(Level level, const std::string& text) const {
  logger_->log(level_of(level), spdlog::string_view_t(text));
}

}  // namespace linkcast::log
