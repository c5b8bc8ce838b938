// Rail-optimised: NIC k of every node of a unit hangs at the unit's leaf of rail k; spines join all leaves.
#include <fmt/format.h>

#include "models/fabrics/fat_tree.hpp"
#include "sim/machine/fabric.hpp"

namespace linkcast {
namespace {

/// A fat tree of two levels whose leaves are rails; only its names differ.
class RailFabric final : public fabrics::FatTreeFabric {
 public:
  RailFabric(fabrics::Placement placement, std::vector<FabricLinkClass> classes, fabrics::TreeSize size, int rails)
      : FatTreeFabric(placement, std::move(classes), size), rails_(rails) {}
  [[nodiscard]] const std::vector<std::string>& distances() const override {
    static const std::vector<std::string> names = {"same rail", "same unit", "other unit"};
    return names;
  }

 protected:
  [[nodiscard]] std::string switch_name(int number) const override {
    if (number >= size().leaves) return fmt::format("spine{}", number - size().leaves);
    return fmt::format("unit{}/rail{}", number / rails_, number % rails_);
  }
  [[nodiscard]] int switch_distance(int from, int to) const override { return from / rails_ == to / rails_ ? 1 : 2; }

 private:
  int rails_;
};

class RailOptimized final : public FabricGenerator {
 public:
  [[nodiscard]] std::unique_ptr<Fabric> build(ObjectReader& parameters, int nics_per_node) const override {
    fabrics::Placement placement(parameters, nics_per_node, "nodes_per_unit", nics_per_node);
    const int units = fabrics::count_of(parameters, "units");
    const int radix = fabrics::count_of(parameters, "radix", 2);
    fabrics::TreeSize size;
    size.leaves =
        fabrics::checked_count(parameters, "units", static_cast<std::int64_t>(units) * nics_per_node, "leaves");
    size.tops = fabrics::count_of(parameters, "spines");
    size.leaf_cables = fabrics::parallel_cables(parameters, "uplinks_per_leaf", size.tops);
    const std::int64_t cables = size.leaf_cables;
    fabrics::check_radix(parameters, radix, placement.ports(), size.tops * cables, "leaf");
    fabrics::check_radix(parameters, radix, size.leaves * cables, 0, "spine");
    fabrics::check_tree(parameters, size);
    placement.group(parameters, 1, placement.endpoints() / nics_per_node, size.leaves, size.leaves, "units");
    auto classes = fabrics::read_link_classes(parameters, {"host", "leaf_spine"});
    parameters.finish();
    return std::make_unique<RailFabric>(placement, std::move(classes), size, nics_per_node);
  }
  [[nodiscard]] Json sized(int nodes, int nics_per_node) const override {
    const int half = fabrics::kUsualRadix / 2, units = fabrics::parts_of(nodes, half);
    const fabrics::Spines spines = fabrics::spines_above(units * nics_per_node, half);
    return {{"nodes", nodes},
            {"nodes_per_unit", half},
            {"units", units},
            {"radix", spines.radix},
            {"spines", spines.number},
            {"uplinks_per_leaf", half},
            {"links", {{"host", Json::object()}, {"leaf_spine", fabrics::between_switches()}}}};
  }
};

const bool rail_optimized_registered = fabric_generators().add(
    {"rail_optimized", "NIC k of every node at the leaf of rail k, spines above",
     "NVIDIA DGX SuperPOD reference architecture, DGX H100 (RA-11333-001): compute fabric, rail-optimized"},
    [] { return std::make_unique<RailOptimized>(); });

}  // namespace
}  // namespace linkcast
