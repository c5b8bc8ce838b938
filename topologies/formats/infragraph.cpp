#include "topologies/formats/infragraph.hpp"

#include <fmt/format.h>

#include <cctype>
#include <map>
#include <set>

#include "sim/base/quantity.hpp"

namespace linkcast::exporters {
namespace {

/// Names may hold letters, digits, blanks and -_()><[]. @source  openapi.yaml, pattern of every name
std::string name_of(const std::string& text) {
  std::string name;
  for (const char c : text)
    name += std::isalnum(static_cast<unsigned char>(c)) || std::string(" -_()").find(c) != std::string::npos ? c : '_';
  return name;
}

/// "gpu12" to "gpu" and 12; a name without a number to itself and -1.
std::pair<std::string, int> split(const std::string& id) {
  const auto end = id.find_last_not_of("0123456789");
  const std::string digits = id.substr(end == std::string::npos ? 0 : end + 1);
  if (digits.empty() || digits.size() > 6 || (digits.size() > 1 && digits.front() == '0')) return {id, -1};
  return {id.substr(0, id.size() - digits.size()), std::stoi(digits)};
}

std::string choice_of(DeviceKind kind) {
  if (kind == DeviceKind::kGpu) return "xpu";
  return kind == DeviceKind::kCpu || kind == DeviceKind::kNic ? to_text(kind) : "switch";
}

std::string description_of(const Device& device) {
  std::string text = device.model.empty() ? to_text(device.kind) : device.model;
  if (device.kind == DeviceKind::kGpu)
    text += fmt::format("; compute capability {}.{}", device.sm / 10, device.sm % 10);
  if (!device.vendor.empty()) text += "; vendor " + device.vendor;
  if (!device.group.empty()) text += "; group " + device.group;
  return text;
}

/// Devices of one description whose ids count up without gaps.
struct Component {
  std::string name, prefix, choice, description;
  int first = 0, count = 1;
};

class Writer {
 public:
  explicit Writer(const Topology& topology) : topology_(topology) {
    for (const Device& device : topology.devices) place(device);
    std::map<std::string, int> runs;
    for (const Component& c : components_) ++runs[c.prefix];
    for (Component& c : components_) {
      const bool whole = c.first == 0 && runs[c.prefix] == 1;
      if (c.first >= 0 && !whole) c.name += std::to_string(c.first);
      if (c.first >= 0 && !whole && c.count > 1) c.name += fmt::format("-{}", c.first + c.count - 1);
    }
  }

  Json json() {
    Json components = Json::array(), edges = Json::array();
    for (const Component& c : components_)
      components.push_back({{"name", c.name},
                            {"description", c.description},
                            {"count", c.count},
                            {"choice", c.choice},
                            {c.choice, Json::object()}});
    for (const Cable& cable : topology_.cables)
      edges.push_back({{"ep1", {{"component", endpoint(cable.a)}}},
                       {"ep2", {{"component", endpoint(cable.b)}}},
                       {"scheme", "one2one"},
                       {"link", link_of(cable)}});
    const std::string name = name_of(topology_.name);
    const Json device{{"name", name},
                      {"description", topology_.title},
                      {"components", components},
                      {"links", links_},
                      {"edges", edges}};
    return {{"name", name + " infrastructure"},
            {"description",
             "written by linkcast; bandwidths are those of all links of an edge, one direction. " + topology_.source},
            {"devices", Json::array({device})},
            {"links", Json::array()},
            {"instances", Json::array({{{"name", name}, {"device", name}, {"count", 1}}})},
            {"edges", Json::array()}};
  }

 private:
  void place(const Device& device) {
    const auto [prefix, number] = split(device.id);
    const std::string description = description_of(device), choice = choice_of(device.kind);
    if (!components_.empty()) {
      Component& last = components_.back();
      if (number >= 0 && last.prefix == prefix && last.first + last.count == number &&
          last.description == description && last.choice == choice) {
        places_.emplace_back(components_.size() - 1, last.count++);
        return;
      }
    }
    components_.push_back({prefix, prefix, choice, description, number});
    places_.emplace_back(components_.size() - 1, 0);
  }

  [[nodiscard]] std::string endpoint(int device) const {
    const auto& [component, index] = places_[static_cast<std::size_t>(device)];
    return fmt::format("{}[{}]", components_[component].name, index);
  }

  /// One link a kind, number and rate; names are unique, so a second rate gets a number.
  std::string link_of(const Cable& cable) {
    const std::string plain = cable.count > 1 ? fmt::format("{} x {}", cable.count, cable.kind) : cable.kind;
    const auto key = std::pair(plain, cable.bandwidth.si);
    if (const auto it = names_.find(key); it != names_.end()) return it->second;
    std::string name = plain;
    for (int again = 2; !link_names_.insert(name).second; ++again) name = fmt::format("{} ({})", plain, again);
    const double rate = cable.bandwidth.si * cable.count / kGiga;
    links_.push_back(
        {{"name", name},
         {"description", plain + ", " + to_text(cable.bandwidth) + " each"},
         {"physical", {{"bandwidth", {{"choice", "gigabytes_per_second"}, {"gigabytes_per_second", rate}}}}}});
    return names_[key] = name;
  }

  const Topology& topology_;
  std::vector<Component> components_;
  std::vector<std::pair<std::size_t, int>> places_;  ///< by device: component and index in it
  std::map<std::pair<std::string, double>, std::string> names_;
  std::set<std::string> link_names_;
  Json links_ = Json::array();
};

}  // namespace

std::string infragraph_json(const Topology& topology) { return Writer(topology).json().dump(1) + "\n"; }

}  // namespace linkcast::exporters
