#include "sim/machine/edited_plane.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "sim/machine/edit_refusal.hpp"

namespace linkcast {
namespace {

std::vector<int> switches_of(const std::string& plane, const Topology& wiring) {
  std::vector<int> found;
  for (std::size_t i = 0; i < wiring.devices.size(); ++i)
    if (wiring.devices[i].kind == DeviceKind::kNvswitch && wiring.devices[i].group == plane)
      found.push_back(static_cast<int>(i));
  return found;
}

/// "gpu0" and "baseboard0" of "gpu0-baseboard0", whichever stands first; nothing if neither end is a plane.
std::pair<std::optional<int>, std::string> ends_at_plane(const std::string& subject, const Topology& wiring) {
  for (auto dash = subject.find('-'); dash != std::string::npos; dash = subject.find('-', dash + 1)) {
    const std::string a = subject.substr(0, dash), b = subject.substr(dash + 1);
    if (wiring.find(a) && !switches_of(b, wiring).empty()) return {wiring.find(a), b};
    if (wiring.find(b) && !switches_of(a, wiring).empty()) return {wiring.find(b), a};
  }
  return {};
}

bool joins(const Cable& cable, int device, const std::vector<int>& switches) {
  const int other = cable.a == device ? cable.b : cable.a;
  return (cable.a == device || cable.b == device) &&
         std::find(switches.begin(), switches.end(), other) != switches.end();
}

std::vector<Edit> cable_edits(const Edit& edit, int device, const std::string& plane, const Topology& wiring) {
  const std::vector<int> switches = switches_of(plane, wiring);
  std::vector<Edit> edits;
  int left = edit.count;
  for (const Cable& cable : wiring.cables) {
    if (!joins(cable, device, switches) || (edit.count > 0 && left == 0)) continue;
    Edit one = edit;
    one.subject = cable.id;
    one.count = std::min(left, cable.count);
    left -= one.count;
    edits.push_back(std::move(one));
  }
  const std::string& id = wiring.devices[static_cast<std::size_t>(device)].id;
  if (edits.empty()) refuse(edit, "no such cable: " + id + " has none to " + plane);
  if (left > 0) refuse(edit, fmt::format("{} has {} links to {} only", id, edit.count - left, plane));
  return edits;
}

}  // namespace

std::vector<Edit> edits_of_plane(const Edit& edit, const Topology& wiring) {
  const bool of_cable = edit.verb == EditVerb::kRemove || edit.verb == EditVerb::kSwap ||
                        edit.verb == EditVerb::kScale || edit.verb == EditVerb::kFlaky;
  if (of_cable) {
    const auto [device, plane] = ends_at_plane(edit.subject, wiring);
    return device ? cable_edits(edit, *device, plane, wiring) : std::vector<Edit>{edit};
  }
  const std::vector<int> switches = wiring.find(edit.subject) ? std::vector<int>() : switches_of(edit.subject, wiring);
  if (edit.verb != EditVerb::kSlow || switches.empty()) return {edit};
  std::vector<Edit> edits;
  for (const int one : switches) {
    edits.push_back(edit);
    edits.back().subject = wiring.devices[static_cast<std::size_t>(one)].id;
  }
  return edits;
}

}  // namespace linkcast
