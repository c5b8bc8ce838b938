#include "sim/base/spelled.hpp"

#include <fmt/format.h>

#include <mutex>
#include <set>
#include <utility>

#include "sim/base/log.hpp"

namespace linkcast {

std::string old_spelling_text(const std::string& key, std::string_view old, const std::string& now) {
  return fmt::format("{}: '{}' is called '{}' now; the old name goes on working in this version only", key, old, now);
}

void warn_of_old_spelling(const std::string& key, std::string_view old, const std::string& now) {
  static std::mutex lock;
  static std::set<std::pair<std::string, std::string>> warned;
  {
    const std::lock_guard guard(lock);
    if (!warned.emplace(key, old).second) return;
  }
  log::Log("records").warning("{}", old_spelling_text(key, old, now));
}

}  // namespace linkcast
