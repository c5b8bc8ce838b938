#include "calibrate/import/importer.hpp"

#include <algorithm>

#include "calibrate/import/text_file.hpp"
#include "sim/base/limits.hpp"
#include "sim/base/packed_file.hpp"
#include "sim/base/parse.hpp"
#include "sim/base/text.hpp"
#include "sim/machine/gpu_names.hpp"
#include "sim/machine/trace_source.hpp"
#include "sim/records/measurement.hpp"

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

namespace {

ReadingCost cost_of(const std::string& format) {
  const TraceImporter* trace = trace_importers().find(format);
  return trace != nullptr ? trace->cost() : importers().get(import_format(format)).cost();
}

}  // namespace

void expect_import(const std::string& format, const std::vector<std::string>& files) {
  constexpr double kMega = 1e6;            // source: definition
  constexpr double kProgram_B = 15 * 1e6;  // source: memory of `linkcast --version`
  double size_B = 0;
  for (const std::string& file : files) size_B += unpacked_size_B(file);
  const ReadingCost cost = cost_of(format);
  work::expect({"import", size_B / kMega, "MB", kProgram_B + size_B * cost.byte_B, size_B * cost.byte_s});
}

namespace {

/// Records are such as `check` takes: a figure beyond every range is refused here, whatever the format.
void check_record(const Json& record, const std::vector<std::string>& files) {
  if (record.value("schema", Json()) != "measurement/1") return;
  const std::string name = files.empty() ? "" : files.front();
  try {
    static_cast<void>(parse_measurement(record, name));
  } catch (const InputError& error) {
    const std::string what = error.what();
    throw InputError(joined(files) + ": holds what no record can: " +
                     (what.starts_with(name + ":") ? what.substr(name.size() + 1) : what));
  }
}

}  // namespace

Registry<Importer>& importers() {
  static Registry<Importer> registry("format");  // ready before any importer registers itself, whatever the link order
  return registry;
}

std::string import_format(const std::string& name) { return name == "rccl-tests" ? "nccl-tests" : name; }

Json import_record(const std::string& name, const ImportRequest& request) {
  const std::string format = import_format(name);
  const Importer& importer = importers().get(format);
  for (const auto& [key, value] : request.options) {
    std::string known;
    bool found = false;
    for (const ImportOption& option : importer.options()) {
      found = found || option.key == key;
      known += (known.empty() ? "" : ", ") + option.key;
    }
    if (found) continue;
    throw InputError("option " + key + ": format '" + format + "' " +
                     (known.empty() ? "takes no option" : "has no such option: one of " + known));
  }
  Json record = importer.run(request);
  check_record(record, request.files);
  return record;
}

}  // namespace linkcast
