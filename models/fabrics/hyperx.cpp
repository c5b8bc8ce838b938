// HyperX: switches in a grid of any number of dimensions; two that differ in one coordinate alone share a cable.
#include <fmt/format.h>

#include <algorithm>
#include <numeric>
#include <utility>

#include "models/fabrics/switched_fabric.hpp"
#include "sim/machine/fabric.hpp"

namespace linkcast {
namespace {

int product(const std::vector<int>& sizes) { return std::accumulate(sizes.begin(), sizes.end(), 1, std::multiplies{}); }

/// Switch numbers run through the first dimension first. Cables are numbered dimension by dimension, then line by line:
/// a line is the switches that differ in that dimension alone.
class HyperXFabric final : public fabrics::SwitchedFabric {
 public:
  HyperXFabric(fabrics::Placement placement, std::vector<FabricLinkClass> classes, std::vector<int> sizes)
      : SwitchedFabric(placement, std::move(classes), product(sizes), cables(sizes)), sizes_(std::move(sizes)) {
    int step = 1, first = 0;
    for (const int size : sizes_) {
      dimensions_.push_back({size, step, first, fabrics::PairNumbers(size)});
      step *= size;
      first += product(sizes_) / size * dimensions_.back().pairs.pairs();
    }
  }

  static int cables(const std::vector<int>& sizes) {
    int ports = 0;
    for (const int size : sizes) ports += size - 1;
    return static_cast<int>(static_cast<std::int64_t>(product(sizes)) * ports / 2);
  }

  [[nodiscard]] const std::vector<std::string>& distances() const override {
    static const std::vector<std::string> line = {"same switch", "one dimension apart"};
    static const std::vector<std::string> grid = {"same switch", "one dimension apart", "further apart"};
    return dimensions_.size() > 1 ? grid : line;
  }

 protected:
  [[nodiscard]] FabricLink switch_cable(int cable) const override {
    std::size_t d = dimensions_.size() - 1;
    while (dimensions_[d].first_cable > cable) --d;
    const Dimension& along = dimensions_[d];
    const int line = (cable - along.first_cable) / along.pairs.pairs();
    const auto [i, j] = along.pairs.ends((cable - along.first_cable) % along.pairs.pairs());
    const int start = line / along.step * along.step * along.size + line % along.step;
    return {start + i * along.step, start + j * along.step, 1};
  }

  [[nodiscard]] std::string switch_name(int number) const override {
    std::string name = "switch";
    for (std::size_t d = 0; d < dimensions_.size(); ++d)
      name += fmt::format("{}{}", d == 0 ? "" : ".", dimensions_[d].coordinate(number));
    return name;
  }

  [[nodiscard]] int ways(int /*from*/, int /*to*/) const override { return 1; }

  void way(int from, int to, int /*which*/, std::vector<int>& links) const override {
    for (const Dimension& along : dimensions_) {
      const int here = along.coordinate(from), there = along.coordinate(to);
      if (here == there) continue;
      const int line = from / (along.step * along.size) * along.step + from % along.step;
      const int cable = along.first_cable + line * along.pairs.pairs() + along.pairs.number(here, there);
      links.push_back(link_of(cable, here < there));
      from += (there - here) * along.step;
    }
  }

  [[nodiscard]] int switch_distance(int from, int to) const override {
    int apart = 0;
    for (const Dimension& along : dimensions_)
      if (along.coordinate(from) != along.coordinate(to)) ++apart;
    return apart > 1 ? 2 : 1;
  }

 private:
  struct Dimension {
    int size = 0, step = 0;  ///< switches along it, and from one to the next in numbers of switches
    int first_cable = 0;
    fabrics::PairNumbers pairs;
    [[nodiscard]] int coordinate(int number) const { return number / step % size; }
  };

  std::vector<int> sizes_;
  std::vector<Dimension> dimensions_;
};

class HyperX final : public FabricGenerator {
 public:
  [[nodiscard]] std::unique_ptr<Fabric> build(ObjectReader& parameters, int nics_per_node) const override {
    fabrics::Placement placement(parameters, nics_per_node, "endpoints_per_switch");
    const auto sizes = parameters.required<std::vector<int>>("dimensions");
    if (sizes.empty()) parameters.fail("dimensions", "a hyperx needs at least one dimension");
    std::int64_t switches = 1, ports = 0;
    for (const int size : sizes) {
      if (size < 2) parameters.fail("dimensions", fmt::format("a dimension of {} joins nothing: at least 2", size));
      switches *= size;
      ports += size - 1;
      fabrics::checked_count(parameters, "dimensions", switches * ports, "links");
    }
    const int radix = fabrics::count_of(parameters, "radix");
    if (placement.ports() + ports > radix)
      parameters.fail("radix", fmt::format("{} ports are too few: {} to endpoints and {} to other switches", radix,
                                           placement.ports(), ports));
    const int nodes = placement.endpoints() / nics_per_node;
    placement.group(parameters, 1, nodes, static_cast<int>(switches), static_cast<int>(switches), "dimensions");
    fabrics::checked_count(parameters, "dimensions", 2 * (placement.endpoints() + switches * ports / 2), "links");
    auto classes = fabrics::read_link_classes(parameters, {"host", "hyperx"});
    parameters.finish();
    return std::make_unique<HyperXFabric>(placement, std::move(classes), sizes);
  }
  /// Two dimensions of about as many switches as each has NICs.
  [[nodiscard]] Json sized(int nodes, int nics_per_node) const override {
    int ports = nics_per_node, size = 2;
    const auto room = [&] { return static_cast<std::int64_t>(ports / nics_per_node) * size * size; };
    while (room() < nodes) size < ports ? ++size : ports += nics_per_node;
    return {{"nodes", nodes},
            {"switches_per_node", 1},
            {"endpoints_per_switch", ports},
            {"dimensions", {size, size}},
            {"radix", std::max(fabrics::kUsualRadix, ports + 2 * (size - 1))},
            {"links", {{"host", Json::object()}, {"hyperx", fabrics::between_switches()}}}};
  }
};

const bool hyperx_registered = fabric_generators().add(
    {"hyperx", "switches in a grid, all to all along each dimension; ways take dimension after dimension",
     "J. Ahn et al., HyperX: Topology, Routing, and Packaging of Efficient Large-Scale Networks, SC09"},
    [] { return std::make_unique<HyperX>(); });

}  // namespace
}  // namespace linkcast
