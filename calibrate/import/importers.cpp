#include "calibrate/import/importer.hpp"

namespace linkcast {

Registry<Importer>& importers() {
  static Registry<Importer> registry("format");  // ready before any importer registers itself, whatever the link order
  return registry;
}

}  // namespace linkcast
