#include "calibrate/import/importer.hpp"

#include "sim/base/limits.hpp"
#include "sim/base/packed_file.hpp"
#include "sim/machine/trace_source.hpp"

namespace linkcast {
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
  return importer.run(request);
}

}  // namespace linkcast
