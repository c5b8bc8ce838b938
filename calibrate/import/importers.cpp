#include "calibrate/import/importer.hpp"

namespace linkcast {

Registry<Importer>& importers() {
  static Registry<Importer> registry("format");  // ready before any importer registers itself, whatever the link order
  return registry;
}

Json import_record(const std::string& format, const ImportRequest& request) {
  const Importer& importer = importers().get(format);
  for (const auto& [key, value] : request.options) {
    std::string known;
    bool found = false;
    for (const ImportOption& option : importer.options()) {
      found = found || option.key == key;
      known += (known.empty() ? "" : ", ") + option.key;
    }
    if (found) continue;
    throw InputError("--option " + key + ": format '" + format + "' " +
                     (known.empty() ? "takes no option" : "has no such option: one of " + known));
  }
  return importer.run(request);
}

}  // namespace linkcast
