#pragma once
// Foreign formats into records of linkcast. One file a format; each registers itself.
#include <map>
#include <string>
#include <vector>

#include "sim/base/object_reader.hpp"
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

}  // namespace linkcast
