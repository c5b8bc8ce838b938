#pragma once
// Values of `option key=value`, each checked where it is asked for.
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "calibrate/import/importer.hpp"
#include "sim/base/spelled.hpp"

namespace linkcast {

std::optional<std::string> option_text(const ImportRequest& request, const std::string& key);
/// One of `allowed`. @throws InputError  that lists them
std::optional<std::string> option_choice(const ImportRequest& request, const std::string& key,
                                         const std::vector<std::string>& allowed);
/// A value of a vocabulary, as value_of(). @throws InputError  that lists the names as they are written
template <class E>
std::optional<Spelled<E>> option_spelled(const ImportRequest& request, const std::string& key) {
  const auto name = option_text(request, key);
  if (!name) return std::nullopt;
  if (const auto value = value_of<E>(key, *name)) return value;
  return Spelled<E>(*option_choice(request, key, Spelled<E>::names()));
}
/// One of two words: true for the second. @throws InputError  a third word
std::optional<bool> option_second(const ImportRequest& request, const std::string& key, const std::string& first,
                                  const std::string& second);
/// A whole number of at least 1. @throws InputError
std::optional<std::int64_t> option_count(const ImportRequest& request, const std::string& key);
/// A size with a unit, at least one byte: "512MiB". @throws InputError
std::optional<std::int64_t> option_bytes(const ImportRequest& request, const std::string& key);
/// Numbers of GPUs, each once: "0,1,3,2". @throws InputError
std::optional<std::vector<int>> option_gpus(const ImportRequest& request, const std::string& key);
/// The same as option_choice, but needed. @param why  what the files do not say. @throws InputError  if it is missing
std::string required_choice(const ImportRequest& request, const std::string& key,
                            const std::vector<std::string>& allowed, const std::string& why);

}  // namespace linkcast
