#include "validate/diagnosis/causes_between.hpp"

#include <algorithm>

#include "sim/base/parse.hpp"

namespace linkcast::diagnosis {
namespace {

using Edits = std::vector<std::string>;

std::string number_text(double value) { return Json(value).dump(); }

bool between_nodes(const validate::ComparedPoint& point) {
  return point.query.value("nodes", 1) > 1 || point.query.value("dst", "").starts_with("node1/");
}

/// One adapter, its port, its rail: slower, or gone so that the library does without.
void add_nics(const Topology& wiring, std::vector<Cause>& causes) {
  for (const Cable& cable : wiring.cables) {
    const auto nic = [&](int end) { return wiring.devices[static_cast<std::size_t>(end)].kind == DeviceKind::kNic; };
    if (!nic(cable.a) && !nic(cable.b)) continue;
    const std::string id = wiring.devices[static_cast<std::size_t>(nic(cable.a) ? cable.a : cable.b)].id;
    causes.push_back(graded_cause(CauseKind::kNic, id, id + " slower", false,
                                  [id](double times) { return Edits{"slow " + id + ":" + number_text(times)}; }));
    causes.push_back({CauseKind::kNic, id, false, {{1, id + " lost", {"remove " + cable.id}}}});
  }
}

/// Every port of a node slower (an older generation, half of the lanes), or the links between switches.
void add_fabric(const Json& fabric, std::vector<Cause>& causes) {
  const std::string generator = fabric.value("generator", "");
  const Json links = fabric.value("links", Json::object());
  for (const auto& [name, link] : links.items()) {
    const bool ports = name == "host";
    const std::string part = ports ? "all ports" : name + " links", cable = link.value("cable", "");
    const auto shared = [&](const Json& other) { return other.value("cable", "") == cable; };
    const bool alone = std::count_if(links.begin(), links.end(), shared) == 1;
    if (ports ||
        alone)  // `scale` has every class that is of this cable; a slower switch behind a port shows as the port
      causes.push_back(graded_cause(CauseKind::kFabric, part, part + " slower", true, [cable](double times) {
        return Edits{"scale " + cable + ":" + number_text(1 / times)};
      }));
    else
      causes.push_back(graded_cause(CauseKind::kFabric, part, part + " slower", true,
                                    [start = "fabric " + generator + ":links." + name + ".bandwidth=",
                                     rate = parse_bandwidth(link.value("bandwidth", "")).si](double times) {
                                      return Edits{start + number_text(rate / times) + "B/s"};
                                    }));
  }
}

}  // namespace

Cause graded_cause(CauseKind kind, const std::string& part, const std::string& what, bool whole_machine,
                   std::function<std::vector<std::string>(double times)> edits) {
  Cause cause{kind, part, true, {}, std::move(edits), whole_machine};
  for (const double times : kTriedTimes) cause.trials.push_back({times, what, cause.edits(times)});
  return cause;
}

std::vector<Cause> causes_between_nodes(const Platform& platform, const validate::Comparison& comparison) {
  std::vector<Cause> causes;
  if (std::none_of(comparison.points.begin(), comparison.points.end(), between_nodes)) return causes;
  add_nics(platform.wiring(), causes);
  if (platform.wiring().fabric.is_object()) add_fabric(platform.wiring().fabric, causes);
  causes.push_back({CauseKind::kGpuDirect, "all GPUs", false, {{1, "GPUDirect RDMA off", {"disable gpudirect"}}}});
  return causes;
}

}  // namespace linkcast::diagnosis
