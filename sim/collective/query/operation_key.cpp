#include "sim/collective/query/operation_key.hpp"

#include "sim/plugin/collective.hpp"

namespace linkcast::collective {

query::Key operation_key(bool required) {
  return {.name = "op",
          .help = required ? "operation" : "show the library's cost model for this operation",
          .required = required,
          .registered = [] { return collectives().names(); },
          .listed = "collectives",
          .example = "\"all_reduce\"",
          .cli = {.name = "--op"}};
}

}  // namespace linkcast::collective
