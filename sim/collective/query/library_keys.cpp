#include "sim/collective/query/library_keys.hpp"

#include "sim/plugin/collective.hpp"
#include "sim/plugin/communicator.hpp"

namespace linkcast::collective {
namespace {

template <class Plugin>
std::vector<std::string> names(const Registry<Plugin>& registry) {
  std::vector<std::string> list;
  for (const PluginInfo& info : registry.list()) list.push_back(info.name);
  return list;
}

}  // namespace

query::Key operation_key(bool required) {
  return {.name = "op",
          .help = required ? "operation" : "show the library's cost model for this operation",
          .required = required,
          .registered = [] { return names(collectives()); },
          .listed = "collectives",
          .example = "\"all_reduce\"",
          .cli = {.name = "--op"}};
}

query::Key library_key() {
  return {.name = "library",
          .help = "communication library",
          .unset = "that of the machine's time",
          .registered = [] { return names(libraries()); },
          .listed = "libraries",
          .example = "\"nccl-2.18\"",
          .cli = {.name = "--library"}};
}

}  // namespace linkcast::collective
