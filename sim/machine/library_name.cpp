#include "sim/machine/library_name.hpp"

#include <fmt/format.h>

#include <cctype>
#include <cstdio>
#include <optional>
#include <utility>
#include <vector>

#include "sim/machine/library.hpp"
#include "sim/records/parameters.hpp"

namespace linkcast {
namespace {

/// "2.28.9-1", "2.28.9+cuda12.8" and "22809" are 2, 28.
std::optional<std::pair<int, int>> version_written(std::string number) {
  number = number.substr(0, number.find_first_of("-+"));
  constexpr std::size_t kLongest = 12;  // source: ours, longer than any version
  if (number.empty() || number.size() > kLongest || number.find_first_not_of("0123456789.") != std::string::npos)
    return {};
  int major = 0, minor = 0;
  if (std::sscanf(number.c_str(), "%d.%d", &major, &minor) == 2) return std::pair(major, minor);
  constexpr int kLeastCode = 1000;  // source: NCCL 1.0
  if (number.find('.') != std::string::npos || major < kLeastCode) return {};
  return nccl_version(major);
}

}  // namespace

std::string library_meant(std::string_view name) {
  if (libraries().find(std::string(name)) != nullptr) return "";
  std::string rest, family = "nccl";
  for (const char c : name) rest += static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  const bool rccl = rest.starts_with("rccl"), named = rccl || rest.starts_with(family);
  if (rccl) family = "rccl";
  if (named) rest.erase(0, rest.find_first_not_of("- _v", family.size()));
  const std::vector<std::string> versions = library_versions(family, [](const RingLibrary&) { return true; });
  if (versions.empty()) return "";
  if (named && rest.empty()) return versions.back();
  const auto wanted = version_written(rest), newest = version_written(library_version_name(versions.back()));
  constexpr int kFarthest = 20;  // source: ours, so many minor versions are years
  if (!wanted || !newest || wanted->first > newest->first || wanted->first < 1) return "";
  if (wanted->first == newest->first && wanted->second > newest->second + kFarthest) return "";
  return nearest_version(family, wanted->first, wanted->second);
}

std::string registered_library(const std::string& name) {
  const std::string meant = library_meant(name);
  return meant.empty() ? name : meant;
}

std::string registered_nccl(const std::string& version) {
  return version.empty() ? "" : registered_library("nccl-" + version);
}

std::string library_meant_text(const std::string& key, std::string_view name, const std::string& meant) {
  const bool number = name.find_first_of("0123456789") != std::string_view::npos;
  return fmt::format("{}: {} is forecast as {}, the {} version that is modelled", key, name, meant,
                     number ? "nearest" : "newest");
}

}  // namespace linkcast
