#pragma once
// Messages of a room about its work, on standard error: never a result, and no result depends on them.
#include <fmt/core.h>

#include <memory>
#include <string>
#include <utility>

namespace spdlog {
class logger;
}

namespace linkcast::log {

/// Levels of spdlog. Shown by default: notes, warnings, errors.
enum class Level {
  kTrace,    ///< -vv: details, e.g. each run of a solver
  kDebug,    ///< -v: what was loaded and chosen
  kNote,     ///< "info" of spdlog
  kWarning,  ///< shown behind "warning: "
};

/// spdlog's logger of one room. This header names nothing else of spdlog: that costs a second of each unit.
class Log {
 public:
  /// The same for every call with a name; made when first asked for.
  explicit Log(const char* room);

  template <class... Args>
  void trace(fmt::format_string<Args...> text, Args&&... args) const {
    if (shows(Level::kTrace)) write(Level::kTrace, fmt::format(text, std::forward<Args>(args)...));
  }
  template <class... Args>
  void debug(fmt::format_string<Args...> text, Args&&... args) const {
    if (shows(Level::kDebug)) write(Level::kDebug, fmt::format(text, std::forward<Args>(args)...));
  }
  template <class... Args>
  void note(fmt::format_string<Args...> text, Args&&... args) const {
    if (shows(Level::kNote)) write(Level::kNote, fmt::format(text, std::forward<Args>(args)...));
  }
  template <class... Args>
  void warning(fmt::format_string<Args...> text, Args&&... args) const {
    if (shows(Level::kWarning)) write(Level::kWarning, fmt::format(text, std::forward<Args>(args)...));
  }

  /// False: what is dear to say need not be made.
  [[nodiscard]] bool shows(Level level) const;

 private:
  void write(Level level, const std::string& text) const;

  std::shared_ptr<spdlog::logger> logger_;
};

}  // namespace linkcast::log
