#include "sim/query/old_spellings.hpp"

#include <algorithm>

namespace linkcast::query {
namespace {

struct OldSpelling {
  const char* key;
  const char* old;
  const char* now;
};

/// A row stays for one version after the one that changed the spelling.
constexpr OldSpelling kOld[] = {{"engine", "dma", "copy_engine"}};  // 0.2

}  // namespace

std::vector<std::string> respell(const KeyTable& table, Json& query) {
  std::vector<std::string> warnings;
  for (const auto& [name, old, now] : kOld) {
    const auto value = query.find(name);
    if (value == query.end() || *value != old) continue;
    const Key* key = find_key(table, name);
    if (key == nullptr || std::find(key->choices.begin(), key->choices.end(), now) == key->choices.end()) continue;
    *value = now;
    warnings.push_back(std::string(name) + ": '" + old + "' is called '" + now +
                       "' now; the old name goes on working in this version only");
  }
  return warnings;
}

}  // namespace linkcast::query
