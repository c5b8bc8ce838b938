#include "calibrate/import/importer.hpp"

namespace linkcast {

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
