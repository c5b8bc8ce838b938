#pragma once
// Builds a topology/1 record device by device. Header only: linkcast-bench is built without our libraries.
#include <array>
#include <cstdio>
#include <set>
#include <string>
#include <utility>

#include "sim/base/object_reader.hpp"
#include "sim/base/quantity.hpp"

namespace linkcast {

/// "15.754 GB/s": as topologies write rates.
inline std::string rate_text(BytesPerSecond rate) {
  std::array<char, 32> text{};
  std::snprintf(text.data(), text.size(), "%.5g GB/s", rate.si / 1e9);
  return text.data();
}

class TopologyWriter {
 public:
  /// Empty texts are left out.
  void device(const std::string& id, const std::string& kind, const std::string& model = "",
              const std::string& group = "") {
    Json device = {{"id", id}, {"kind", kind}};
    if (!model.empty()) device["model"] = model;
    if (!group.empty()) device["group"] = group;
    add(id, std::move(device));
  }
  /// @param uuid, bus_id  as its driver names it
  void gpu(int number, const std::string& model, int sm, const std::string& uuid = "", const std::string& bus_id = "") {
    const std::string id = "gpu" + std::to_string(number);
    Json device = {{"id", id}, {"kind", "gpu"}};
    if (!model.empty()) device["model"] = model;
    device["sm"] = sm;
    if (!uuid.empty()) device["uuid"] = uuid;
    if (!bus_id.empty()) device["bus_id"] = bus_id;
    add(id, std::move(device));
  }
  void cpu(const std::string& id, const std::string& model, const std::string& vendor) {
    Json device = {{"id", id}, {"kind", "cpu"}};
    if (!model.empty()) device["model"] = model;
    if (!vendor.empty()) device["vendor"] = vendor;
    add(id, std::move(device));
  }
  [[nodiscard]] bool has(const std::string& id) const { return ids_.count(id) != 0; }

  /// @param rate  one cable of the bundle, one direction
  void cable(const std::string& a, const std::string& b, const std::string& kind, int count, BytesPerSecond rate,
             const std::string& source) {
    cables_.push_back(
        {{"between", {a, b}}, {"kind", kind}, {"count", count}, {"bandwidth", rate_text(rate)}, {"source", source}});
  }
  [[nodiscard]] bool has_cables() const { return !cables_.empty(); }

  [[nodiscard]] Json json(const std::string& name, const std::string& title, const std::string& source,
                          const std::string& pcie_peer) const {
    return {{"schema", "topology/1"}, {"name", name},        {"title", title},   {"source", source},
            {"pcie_peer", pcie_peer}, {"devices", devices_}, {"cables", cables_}};
  }

 private:
  void add(const std::string& id, Json device) {
    if (!ids_.insert(id).second) throw InvariantError("device '" + id + "' is written twice");
    devices_.push_back(std::move(device));
  }

  std::set<std::string> ids_;
  Json devices_ = Json::array(), cables_ = Json::array();
};

}  // namespace linkcast
