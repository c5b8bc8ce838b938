#include "sim/forecast/query/operation_key.hpp"

#include "sim/machine/collective.hpp"
#include "sim/query/shared_keys.hpp"

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

query::KeyTable exit_keys() {
  return {{.name = "pxn",
           .type = query::ValueType::kFlag,
           .help = "GPUs send by the NIC of another one; false: none does, as NCCL_PXN_DISABLE=1",
           .unset = "where the library has it",
           .example = "false",
           .needs = {"nodes"},
           .cli = {.name = "--pxn", .opposite = "--no-pxn"}},
          {.name = "cross_nic",
           .type = query::ValueType::kWhole,
           .help = "a ring leaves a node by: 0 the NIC that it came in by, 1 any, 2 any where that carries more, as "
                   "NCCL_CROSS_NIC",
           .unset = "2",
           .least = 0,
           .most = 2,
           .example = "0",
           .needs = {"nodes"},
           .cli = {.name = "--cross-nic"}},
          {.name = "gdr_level",
           .help = "worst class of path over which NICs access GPU memory, as NCCL_NET_GDR_LEVEL",
           .unset = "what the library's version takes",
           .choices = query::path_classes(),
           .example = "\"PHB\"",
           .needs = {"nodes"},
           .cli = {.name = "--gdr-level"}}};
}

}  // namespace linkcast::collective
