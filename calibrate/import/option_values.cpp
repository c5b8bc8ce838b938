#include "calibrate/import/option_values.hpp"

#include <algorithm>

#include "calibrate/import/text_file.hpp"
#include "sim/base/parse.hpp"
#include "sim/base/text.hpp"
#include "sim/machine/gpu_names.hpp"

namespace linkcast {
namespace {

[[noreturn]] void fail(const std::string& key, const std::string& value, const std::string& allowed) {
  throw InputError("option " + key + ": '" + value + "' is not " + allowed);
}

}  // namespace

std::optional<std::string> option_text(const ImportRequest& request, const std::string& key) {
  const auto it = request.options.find(key);
  if (it == request.options.end()) return std::nullopt;
  if (it->second.empty()) throw InputError("option " + key + ": has no value");
  return it->second;
}

std::optional<std::string> option_choice(const ImportRequest& request, const std::string& key,
                                         const std::vector<std::string>& allowed) {
  const auto value = option_text(request, key);
  if (value && std::find(allowed.begin(), allowed.end(), *value) == allowed.end())
    fail(key, *value, "allowed: one of " + joined(allowed));
  return value;
}

std::optional<bool> option_second(const ImportRequest& request, const std::string& key, const std::string& first,
                                  const std::string& second) {
  const auto said = option_choice(request, key, {first, second});
  return said ? std::optional(*said == second) : std::nullopt;
}

std::optional<std::int64_t> option_count(const ImportRequest& request, const std::string& key) {
  const auto value = option_text(request, key);
  if (!value) return std::nullopt;
  const auto count = whole_number(*value);
  if (!count || *count < 1) fail(key, *value, "a whole number from 1 to 2^31 - 1");
  return *count;
}

std::optional<std::int64_t> option_bytes(const ImportRequest& request, const std::string& key) {
  const auto value = option_text(request, key);
  if (!value) return std::nullopt;
  try {
    const double bytes = parse_bytes(*value).si;
    if (bytes < 1 || bytes > kLargest_B) fail(key, *value, "a size from 1 B to 2^53 B");
    return static_cast<std::int64_t>(bytes);
  } catch (const UnitError& error) {
    throw InputError("option " + key + ": " + error.what());
  }
}

std::optional<std::vector<int>> option_gpus(const ImportRequest& request, const std::string& key) {
  const auto value = option_text(request, key);
  if (!value) return std::nullopt;
  std::vector<int> gpus;
  for (std::size_t begin = 0; begin <= value->size();) {
    const std::size_t comma = std::min(value->find(',', begin), value->size());
    const auto read = read_gpu_text(value->substr(begin, comma - begin));
    for (int gpu = read ? read->first : -1; gpu <= (read ? read->last : -1); ++gpu) {
      if (gpu < 0 || std::find(gpus.begin(), gpus.end(), gpu) != gpus.end())
        fail(key, *value, "a list of GPU numbers, each once: write 0,1,3,2");
      gpus.push_back(gpu);
    }
    begin = comma + 1;
  }
  return gpus;
}

std::string required_choice(const ImportRequest& request, const std::string& key,
                            const std::vector<std::string>& allowed, const std::string& why) {
  const auto value = option_choice(request, key, allowed);
  if (!value) throw InputError("option " + key + ": is needed, " + why + ": one of " + joined(allowed));
  return *value;
}

}  // namespace linkcast
