// One switch that every NIC has a cable to.
#include "models/fabrics/switched_fabric.hpp"
#include "sim/machine/fabric.hpp"

namespace linkcast {
namespace {

class SingleSwitchFabric final : public fabrics::SwitchedFabric {
 public:
  using SwitchedFabric::SwitchedFabric;
  [[nodiscard]] const std::vector<std::string>& distances() const override {
    static const std::vector<std::string> names = {"same switch"};
    return names;
  }

 protected:
  [[nodiscard]] std::string switch_name(int /*number*/) const override { return "switch"; }
  // There is no second switch: the base class asks none of these.
  [[nodiscard]] FabricLink switch_cable(int /*cable*/) const override { return {}; }
  [[nodiscard]] int ways(int /*from*/, int /*to*/) const override { return 0; }
  void way(int /*from*/, int /*to*/, int /*which*/, std::vector<int>& /*links*/) const override {}
  [[nodiscard]] int switch_distance(int /*from*/, int /*to*/) const override { return 0; }
};

class SingleSwitch final : public FabricGenerator {
 public:
  [[nodiscard]] std::unique_ptr<Fabric> build(ObjectReader& parameters, int nics_per_node) const override {
    fabrics::Placement placement(parameters, nics_per_node, "radix", 1);
    const int nodes = placement.endpoints() / nics_per_node;
    placement.group(parameters, 1, nodes, 1, 1, "radix");
    auto classes = fabrics::read_link_classes(parameters, {"host"});
    parameters.finish();
    return std::make_unique<SingleSwitchFabric>(placement, std::move(classes), 1, 0);
  }
  [[nodiscard]] Json sized(int nodes, int nics_per_node) const override {
    return {{"nodes", nodes},
            {"radix", std::max(fabrics::kUsualRadix, nodes * nics_per_node)},
            {"links", {{"host", Json::object()}}}};
  }
};

const bool single_switch_registered = fabric_generators().add(
    {"single_switch", "one switch with a cable to every NIC",
     "W. Dally, B. Towles, Principles and Practices of Interconnection Networks, 2004, chapter 3: the crossbar"},
    [] { return std::make_unique<SingleSwitch>(); });

}  // namespace
}  // namespace linkcast
