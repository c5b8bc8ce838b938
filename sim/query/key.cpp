#include "sim/query/key.hpp"

namespace linkcast::query {
namespace {

bool ends_with(const std::string& text, const std::string& end) {
  return text.size() > end.size() && text.compare(text.size() - end.size(), end.size(), end) == 0;
}

}  // namespace

const Key* find_key(const KeyTable& table, const std::string& name) {
  for (const Key& key : table)
    if (key.name == name) return &key;
  return nullptr;
}

KeyTable joined(std::vector<KeyTable> tables) {
  KeyTable all;
  for (KeyTable& table : tables) all.insert(all.end(), table.begin(), table.end());
  return all;
}

bool may_name_file(const Key& key) {
  if (!key.choices.empty() || key.registered || key.gpus != GpuNames::kNone) return false;
  const bool free = key.type == ValueType::kText || key.type == ValueType::kTexts || key.type == ValueType::kAny;
  return free || ((key.type == ValueType::kObject || key.type == ValueType::kObjects) && key.fields.empty());
}

std::string unit_of(const Key& key) {
  if (ends_with(key.name, "_Bps")) return "B/s";
  if (ends_with(key.name, "_B")) return "B";
  return ends_with(key.name, "_s") ? "s" : "";
}

}  // namespace linkcast::query
