// Torus: nodes in a grid of any number of dimensions, each dimension closed to rings. The NIC is the router.
#include <fmt/format.h>

#include <algorithm>

#include "models/fabrics/switched_fabric.hpp"
#include "sim/machine/fabric.hpp"

namespace linkcast {
namespace {

/// Endpoint numbers run through the first dimension first. Cable dimension * nodes + e goes from e one step up in that
/// dimension, so a ring of two nodes has two cables: both ports of each router are in use.
class TorusFabric final : public Fabric {
 public:
  TorusFabric(std::vector<FabricLinkClass> classes, std::vector<int> sizes)
      : classes_(std::move(classes)), sizes_(std::move(sizes)) {
    for (const int size : sizes_) {
      steps_.push_back(nodes_);
      nodes_ *= size;
    }
  }

  [[nodiscard]] int endpoints() const override { return nodes_; }
  [[nodiscard]] int switches() const override { return 0; }
  [[nodiscard]] int links() const override { return 2 * nodes_ * static_cast<int>(sizes_.size()); }
  [[nodiscard]] const std::vector<FabricLinkClass>& classes() const override { return classes_; }
  [[nodiscard]] std::string vertex_name(int vertex) const override { return fmt::format("nic{}", vertex); }

  [[nodiscard]] FabricLink link(int id) const override {
    const auto dimension = static_cast<std::size_t>(id / 2 / nodes_);
    const int low = id / 2 % nodes_, high = moved(low, dimension, 1);
    return id % 2 == 0 ? FabricLink{low, high, 0} : FabricLink{high, low, 0};
  }

  /// Dimension-ordered: only where the other side of a ring is equally far both ways round are there two ways.
  [[nodiscard]] int minimal_ways(int from, int to) const override {
    int ways = 1;
    for (std::size_t d = 0; d < sizes_.size(); ++d)
      if (2 * steps_up(from, to, d) == sizes_[d]) ways *= 2;
    return ways;
  }

  void minimal_way(int from, int to, int which, std::vector<int>& links) const override {
    for (std::size_t d = 0; d < sizes_.size(); ++d) {
      const int up = steps_up(from, to, d), down = sizes_[d] - up;
      bool upwards = up < down;
      if (up == down) {
        upwards = which % 2 == 0;
        which /= 2;
      }
      for (int step = 0; step < (upwards ? up : down % sizes_[d]); ++step) {
        const int next = moved(from, d, upwards ? 1 : -1);
        const int low = upwards ? from : next;
        links.push_back(2 * (static_cast<int>(d) * nodes_ + low) + (upwards ? 0 : 1));
        from = next;
      }
    }
  }

  /// Over each other node once. Two ways round a ring are taken in turn by the number of that node.
  [[nodiscard]] int detours(int /*from*/, int /*to*/) const override { return nodes_ - 2; }
  void detour(int from, int to, int which, std::vector<int>& links) const override {
    int via = which;
    if (via >= std::min(from, to)) ++via;
    if (via >= std::max(from, to)) ++via;
    minimal_way(from, via, via % minimal_ways(from, via), links);
    minimal_way(via, to, via % minimal_ways(via, to), links);
  }

  [[nodiscard]] const std::vector<std::string>& distances() const override {
    static const std::vector<std::string> names = {"neighbours", "further apart"};
    return names;
  }
  [[nodiscard]] int distance(int from, int to) const override {
    int hops = 0;
    for (std::size_t d = 0; d < sizes_.size(); ++d)
      hops += std::min(steps_up(from, to, d), sizes_[d] - steps_up(from, to, d));
    return hops > 1 ? 1 : 0;
  }

 private:
  [[nodiscard]] int coordinate(int node, std::size_t d) const { return node / steps_[d] % sizes_[d]; }
  [[nodiscard]] int steps_up(int from, int to, std::size_t d) const {
    return (coordinate(to, d) - coordinate(from, d) + sizes_[d]) % sizes_[d];
  }
  [[nodiscard]] int moved(int node, std::size_t d, int by) const {
    const int at = coordinate(node, d);
    return node + ((at + by + sizes_[d]) % sizes_[d] - at) * steps_[d];
  }

  std::vector<FabricLinkClass> classes_;
  std::vector<int> sizes_, steps_;
  int nodes_ = 1;
};

class Torus final : public FabricGenerator {
 public:
  [[nodiscard]] std::unique_ptr<Fabric> build(ObjectReader& parameters, int nics_per_node) const override {
    const auto sizes = parameters.required<std::vector<int>>("dimensions");
    if (sizes.empty()) parameters.fail("dimensions", "a torus needs at least one dimension");
    std::int64_t nodes = 1;
    for (const int size : sizes) {
      if (size < 2) parameters.fail("dimensions", fmt::format("a dimension of {} is no ring: at least 2", size));
      nodes *= size;
      fabrics::checked_count(parameters, "dimensions", 2 * nodes * static_cast<std::int64_t>(sizes.size()), "links");
    }
    if (nics_per_node != 1)
      parameters.fail(
          "nics",
          fmt::format("the NIC of a torus is its router: name the one NIC of {} that is in the torus", nics_per_node));
    auto classes = fabrics::read_link_classes(parameters, {"torus"});
    parameters.finish();
    return std::make_unique<TorusFabric>(std::move(classes), sizes);
  }
  /// The three dimensions of that many nodes or a few more that differ least.
  [[nodiscard]] Json sized(int nodes, int /*nics_per_node*/) const override {
    std::vector<int> sizes = {2, 2, 2};
    while (static_cast<std::int64_t>(sizes[0]) * sizes[1] * sizes[2] < nodes)
      ++*std::min_element(sizes.begin(), sizes.end());
    return {{"dimensions", sizes}, {"links", {{"torus", Json::object()}}}};
  }
};

const bool torus_registered =
    fabric_generators().add({"torus", "a grid of nodes closed to rings, dimension after dimension",
                             "W. Dally, B. Towles, Principles and Practices of Interconnection Networks, 2004, "
                             "chapters 5 and 8; R. Ammendola et "
                             "al., GPU peer-to-peer techniques applied to a cluster interconnect, 2013, section III-B"},
                            [] { return std::make_unique<Torus>(); });

}  // namespace
}  // namespace linkcast
