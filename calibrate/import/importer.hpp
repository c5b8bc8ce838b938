#pragma once
// Foreign formats into records of linkcast. One file a format; each registers itself.
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "sim/base/object_reader.hpp"
#include "sim/base/spelled.hpp"
#include "sim/machine/registry.hpp"
#include "sim/machine/trace_source.hpp"

namespace linkcast {

/// Before an import: what it will take by the size of its files. Of what is no plain file nothing is known.
/// @param format  of a measurement, a topology or a trace
/// @throws InputError  more than work::limits() allow
void expect_import(const std::string& format, const std::vector<std::string>& files);

struct ImportRequest {
  std::vector<std::string> files;
  std::string machine;   ///< id of the machine the files come from; also the name of an imported topology
  std::string topology;  ///< topology whose device ids the result uses; ignored by importers of topologies
  std::map<std::string, std::string> options;  ///< what the files do not print: `option key=value`
};

/// A key that a format takes in ImportRequest::options.
struct ImportOption {
  std::string key;
  std::string text;  ///< for --help: what it says, which values, what holds without it
};

class Importer {
 public:
  virtual ~Importer() = default;
  [[nodiscard]] virtual std::vector<ImportOption> options() const { return {}; }
  [[nodiscard]] virtual ReadingCost cost() const {
    return {2e-7, 45};  // source: `limits_test.py --imports`: csv, each line a point of its own; logs take 6 B, XML 12
  }
  /// @returns one record of schema measurement/1 or topology/1. @throws InputError  file and line of what cannot be
  /// read
  [[nodiscard]] virtual Json run(const ImportRequest& request) const = 0;
};

/// All importers. A plug-in's summary says what it reads and which schema it gives.
Registry<Importer>& importers();

/// Of a name that people give it too: rccl-tests print what nccl-tests do.
std::string import_format(const std::string& name);

/// Runs the importer of a format. @throws InputError  also for an option that the format does not take
Json import_record(const std::string& format, const ImportRequest& request);

// Values of `option key=value`, each checked where it is asked for.

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
