#include "sim/machine/fabric_ports.hpp"

#include <algorithm>
#include <numeric>

#include "sim/base/stop.hpp"

namespace linkcast::bounds {
namespace {

/// Sets of vertices that links have joined (union-find, ways halved).
class Parts {
 public:
  explicit Parts(int vertices) : above_(static_cast<std::size_t>(vertices)) {
    std::iota(above_.begin(), above_.end(), 0);
  }
  int of(int vertex) {
    while (at(vertex) != vertex) vertex = at(vertex) = at(at(vertex));
    return vertex;
  }
  void join(int a, int b) { at(of(a)) = of(b); }

 private:
  int& at(int vertex) { return above_[static_cast<std::size_t>(vertex)]; }
  std::vector<int> above_;
};

}  // namespace

ClassPorts class_ports(const Fabric& fabric, int link_class) {
  const int vertices = fabric.endpoints() + fabric.switches();
  Parts parts(vertices);
  std::vector<int> ports(static_cast<std::size_t>(vertices)), endpoints(ports);
  for (int id = 0; id < fabric.links(); ++id) {
    work::look();
    const FabricLink link = fabric.link(id);
    if (link.link_class != link_class)
      parts.join(link.from, link.to);
    else if (link.from >= fabric.endpoints())
      ++ports[static_cast<std::size_t>(link.from)];
  }
  ClassPorts found;
  for (int vertex = 0; vertex < vertices; ++vertex) {
    found.parts_without += parts.of(vertex) == vertex ? 1 : 0;
    if (vertex < fabric.endpoints()) ++endpoints[static_cast<std::size_t>(parts.of(vertex))];
  }
  found.switches = static_cast<int>(std::count_if(ports.begin(), ports.end(), [](int count) { return count > 0; }));
  found.most = *std::max_element(ports.begin(), ports.end());
  found.endpoints_of_a_part = *std::max_element(endpoints.begin(), endpoints.end());
  return found;
}

}  // namespace linkcast::bounds
