#pragma once
// Plug-ins by name. A plug-in is one file that registers itself: in models/, or where a room offers others to join in.
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "sim/base/text.hpp"

namespace linkcast {

struct PluginInfo {
  std::string name;  ///< as written on the command line
  std::string summary;
  std::string source;  ///< citation; a plug-in without one is refused
};

template <class Interface>
class Registry {
 public:
  using Factory = std::function<std::unique_ptr<Interface>()>;

  /// @param what  noun for error messages, e.g. "library"
  explicit Registry(std::string what) : what_(std::move(what)) {}

  bool add(PluginInfo info, const Factory& factory) {
    if (info.source.empty()) throw InvariantError(what_ + " '" + info.name + "' names no source");
    const std::string name = info.name;
    if (!entries_.emplace(name, Entry{std::move(info), factory()}).second)
      throw InvariantError(what_ + " '" + name + "' is registered twice");
    return true;
  }

  /// Null: there is none of this name.
  const Interface* find(const std::string& name) const {
    const auto it = entries_.find(name);
    return it == entries_.end() ? nullptr : it->second.instance.get();
  }

  /// @throws InputError  with the known names
  const Interface& get(const std::string& name) const {
    if (const Interface* found = find(name)) return *found;
    throw unknown_name(what_, name, names());
  }

  [[nodiscard]] std::vector<PluginInfo> list() const {
    std::vector<PluginInfo> infos;
    for (const auto& [key, entry] : entries_) infos.push_back(entry.info);
    return infos;
  }

  [[nodiscard]] std::vector<std::string> names() const {
    std::vector<std::string> names;
    for (const auto& [key, entry] : entries_) names.push_back(key);
    return names;
  }

 private:
  struct Entry {
    PluginInfo info;
    std::unique_ptr<Interface> instance;
  };
  std::string what_;
  std::map<std::string, Entry> entries_;
};

}  // namespace linkcast
