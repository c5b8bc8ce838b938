// Fat tree of two or three levels, full or tapered.
#include <fmt/format.h>

#include "models/fabrics/fat_tree_fabric.hpp"
#include "sim/machine/fabric_generator.hpp"

namespace linkcast {
namespace {

int read_radix(ObjectReader& parameters) {
  const int radix = fabrics::count_of(parameters, "radix", 2);
  // source: M. Al-Fares et al., SIGCOMM 2008: half of the ports of a switch go up in the full tree, of which all others
  // are subsets
  if (radix % 2 != 0)
    parameters.fail("radix", "must be even: a full tree has half of the ports of a switch up, half down");
  return radix;
}

fabrics::TreeSize two_levels(ObjectReader& parameters, int radix, int endpoint_ports) {
  fabrics::TreeSize size;
  size.leaves = fabrics::count_of(parameters, "leaves");
  size.tops = fabrics::count_of(parameters, "spines");
  size.leaf_cables = fabrics::parallel_cables(parameters, "uplinks_per_leaf", size.tops);
  const std::int64_t cables = size.leaf_cables;
  fabrics::check_radix(parameters, radix, endpoint_ports, size.tops * cables, "leaf");
  fabrics::check_radix(parameters, radix, size.leaves * cables, 0, "spine");
  return size;
}

fabrics::TreeSize three_levels(ObjectReader& parameters, int radix, int endpoint_ports) {
  fabrics::TreeSize size;
  size.pods = fabrics::count_of(parameters, "pods", 2);
  size.leaves = fabrics::count_of(parameters, "leaves_per_pod");
  size.tops = fabrics::count_of(parameters, "aggregations_per_pod");
  size.leaf_cables = fabrics::parallel_cables(parameters, "uplinks_per_leaf", size.tops);
  const int cores = fabrics::count_of(parameters, "cores");
  if (cores % size.tops != 0)
    parameters.fail(
        "cores",
        fmt::format("{} core switches do not divide into one set for each of the {} aggregation switches of a pod",
                    cores, size.tops));
  size.cores = cores / size.tops;
  size.core_cables = fabrics::parallel_cables(parameters, "uplinks_per_aggregation", size.cores);
  const std::int64_t leaf_cables = size.leaf_cables, core_cables = size.core_cables;
  fabrics::check_radix(parameters, radix, endpoint_ports, size.tops * leaf_cables, "leaf");
  fabrics::check_radix(parameters, radix, size.leaves * leaf_cables, size.cores * core_cables, "aggregation");
  fabrics::check_radix(parameters, radix, size.pods * core_cables, 0, "core");
  return size;
}

class FatTree final : public FabricGenerator {
 public:
  [[nodiscard]] std::unique_ptr<Fabric> build(ObjectReader& parameters, int nics_per_node) const override {
    const int levels = parameters.required<int>("levels");
    if (levels != 2 && levels != 3) parameters.fail("levels", "must be 2 or 3; one level is a single_switch");
    fabrics::Placement placement(parameters, nics_per_node, "endpoints_per_leaf");
    const int radix = read_radix(parameters);
    const bool two = levels == 2;
    const auto size =
        two ? two_levels(parameters, radix, placement.ports()) : three_levels(parameters, radix, placement.ports());
    fabrics::check_tree(parameters, size);
    const int nodes = placement.endpoints() / nics_per_node;
    placement.group(parameters, 1, nodes, size.all_leaves(), size.all_leaves(), two ? "leaves" : "leaves_per_pod");
    auto classes = two ? fabrics::read_link_classes(parameters, {"host", "leaf_spine"})
                       : fabrics::read_link_classes(parameters, {"host", "leaf_aggregation", "aggregation_core"});
    parameters.finish();
    return std::make_unique<fabrics::FatTreeFabric>(placement, std::move(classes), size);
  }
};

const bool fat_tree_registered =
    fabric_generators().add({"fat_tree", "leaves and spines, or leaves, aggregation and core switches; full or tapered",
                             "C. Leiserson, Fat-Trees, IEEE Transactions on Computers C-34(10), 1985; M. Al-Fares et "
                             "al., A Scalable, Commodity "
                             "Data Center Network Architecture, SIGCOMM 2008"},
                            [] { return std::make_unique<FatTree>(); });

}  // namespace
}  // namespace linkcast
