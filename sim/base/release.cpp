#include "sim/base/release.hpp"

namespace linkcast {

void release(Json& tree) {
  if (auto* members = tree.get_ptr<Json::object_t*>()) {
    for (auto& [key, value] : *members)
      if (value.is_structured()) release(value);
    members->clear();
  } else if (auto* items = tree.get_ptr<Json::array_t*>()) {
    for (Json& item : *items)
      if (item.is_structured()) release(item);
    items->clear();
  }
}

}  // namespace linkcast
