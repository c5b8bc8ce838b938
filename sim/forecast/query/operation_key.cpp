#include "sim/forecast/query/operation_key.hpp"

#include "sim/machine/collective.hpp"

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

query::Key pxn_key() {
  return {.name = "pxn",
          .type = query::ValueType::kFlag,
          .help = "GPUs send by the NIC of another one; false: none does, as NCCL_PXN_DISABLE=1",
          .unset = "where the library has it",
          .example = "false",
          .needs = {"nodes"},
          .cli = {.name = "--pxn", .opposite = "--no-pxn"}};
}

}  // namespace linkcast::collective
