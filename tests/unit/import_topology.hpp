#pragma once
// Runs importers on files of tests/input/import and asks topologies what is wired to what.
#include <algorithm>
#include <fstream>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "calibrate/import/importer.hpp"
#include "sim/base/parse.hpp"
#include "sim/machine/topology.hpp"
#include "tests/support/catch.hpp"
#include "tests/unit/program.hpp"

namespace linkcast::test {

/// Path of an input; names with a slash in front are taken as they are.
inline std::string input(const std::string& name) {
  return !name.empty() && name.front() == '/' ? name : test::data_dir() + "/tests/input/import/" + name;
}

using Options = std::map<std::string, std::string>;

inline Json import_json(const std::string& format, const std::vector<std::string>& files, const Options& options = {},
                        const std::string& machine = "some-box") {
  ImportRequest request{{}, machine, "", options};
  for (const std::string& file : files) request.files.push_back(input(file));
  return importers().get(format).run(request);
}

/// Written and read again by the strict reader.
inline Topology import_file(const std::string& format, const std::vector<std::string>& files,
                            const Options& options = {}) {
  const ScratchFolder scratch;
  const std::string path = (scratch / "topology.json").string();
  std::ofstream(path) << import_json(format, files, options).dump();
  return read_topology(path);
}

inline Topology shipped_topology(const std::string& name) {
  return read_topology(test::data_dir() + "/topologies/" + name + ".json");
}

/// A copy of an input with every occurrence of some texts replaced; each must occur.
class Changed {
 public:
  Changed(const std::string& name, const std::vector<std::pair<std::string, std::string>>& changes)
      : path_((scratch_ / std::filesystem::path(name).filename().string()).string()) {
    std::string text = text_of_file(input(name));
    for (const auto& [from, to] : changes) {
      if (text.find(from) == std::string::npos) throw std::runtime_error(name + " does not hold '" + from + "'");
      for (auto at = text.find(from); at != std::string::npos; at = text.find(from, at + to.size()))
        text.replace(at, from.size(), to);
    }
    std::ofstream(path_, std::ios::binary) << text;
  }
  [[nodiscard]] const std::string& path() const { return path_; }

 private:
  ScratchFolder scratch_;
  std::string path_;
};

inline std::string gpu_id(std::size_t number) { return "gpu" + std::to_string(number); }
/// Index of a GPU among the devices.
inline std::size_t gpu(const Topology& t, std::size_t number) { return static_cast<std::size_t>(t.gpus().at(number)); }

/// The cable between two devices. Fails unless there is exactly one of this kind ("" for any).
inline const Cable& cable(const Topology& t, const std::string& a, const std::string& b, const std::string& kind = "") {
  const Cable* found = nullptr;
  for (const Cable& c : t.cables) {
    if (std::minmax(c.a, c.b) != std::minmax(*t.find(a), *t.find(b)) || (!kind.empty() && c.kind != kind)) continue;
    if (found) throw std::runtime_error("two cables between " + a + " and " + b);
    found = &c;
  }
  if (!found) throw std::runtime_error("no cable " + kind + " between " + a + " and " + b);
  return *found;
}

inline std::string text_of_cable(const Topology& t, const std::string& a, const std::string& b,
                                 const std::string& kind) {
  const Cable& c = cable(t, a, b, kind);
  return std::to_string(c.count) + " x " + to_text(c.bandwidth);
}

inline int links_to_nvswitches(const Topology& t, std::size_t number) {
  int links = 0;
  const int device = t.gpus().at(number);
  for (const Cable& c : t.cables) {
    const int other = c.a == device ? c.b : c.b == device ? c.a : -1;
    if (other >= 0 && t.devices[static_cast<std::size_t>(other)].kind == DeviceKind::kNvswitch) links += c.count;
  }
  return links;
}

/// Straight ones, or through an NVSwitch the links that both have to it.
inline int nvlinks_between(const Topology& t, const std::string& a, const std::string& b) {
  int links = t.direct_links(*t.find(a), *t.find(b));
  for (std::size_t i = 0; i < t.devices.size(); ++i)
    if (t.devices[i].kind == DeviceKind::kNvswitch)
      links +=
          std::min(t.direct_links(*t.find(a), static_cast<int>(i)), t.direct_links(*t.find(b), static_cast<int>(i)));
  return links;
}

/// Devices between two over PCIe and socket cables only, on the shortest way.
inline std::vector<int> host_path(const Topology& t, int from, int to) {
  std::map<int, int> before = {{from, from}};
  std::vector<int> queue = {from};
  for (std::size_t i = 0; i < queue.size(); ++i)
    for (const Cable& c : t.cables) {
      if (!is_pcie_cable(c.kind) && !is_socket_cable(c.kind)) continue;
      const int other = c.a == queue[i] ? c.b : c.b == queue[i] ? c.a : -1;
      if (other >= 0 && before.emplace(other, queue[i]).second) queue.push_back(other);
    }
  std::vector<int> between;
  for (int at = before.at(to); at != from; at = before.at(at)) between.push_back(at);
  return between;
}

/// PIX, PXB, PHB or SYS, as nvidia-smi's legend says.
inline std::string pcie_path(const Topology& t, const std::string& a, const std::string& b) {
  int switches = 0, cpus = 0;
  for (const int device : host_path(t, *t.find(a), *t.find(b))) {
    const DeviceKind kind = t.devices[static_cast<std::size_t>(device)].kind;
    switches += kind == DeviceKind::kPcieSwitch;
    cpus += kind == DeviceKind::kCpu;
  }
  return cpus > 1 ? "SYS" : cpus == 1 ? "PHB" : switches > 1 ? "PXB" : "PIX";
}

/// Kinds of cable that fulfil a predicate, with the rate of one cable.
inline std::map<std::string, double> kinds_and_rates(const Topology& t, bool (*wanted)(const std::string&)) {
  std::map<std::string, double> rates;
  for (const Cable& c : t.cables)
    if (wanted(c.kind)) rates[c.kind] = c.bandwidth.si;
  return rates;
}

/// One entry of a table of nvidia-smi topo -m, read without the importer.
struct TableEntry {
  std::string row, column, text;
};

inline std::vector<TableEntry> table_of(const std::string& name) {
  std::istringstream text(text_of_file(input(name)));
  std::string line, word;
  std::getline(text, line);
  if (const auto at = line.find("\x1b[4m"); at != std::string::npos) line.erase(at, 4);
  std::vector<std::string> columns;
  for (std::istringstream words(line.substr(0, line.find("CPU Affinity"))); words >> word;) columns.push_back(word);
  std::vector<TableEntry> entries;
  for (std::size_t i = 0; i < columns.size() && std::getline(text, line); ++i) {
    std::istringstream words(line);
    words >> word;
    if (word != columns[i]) throw std::runtime_error("row " + word + " is not " + columns[i]);
    for (const std::string& column : columns)
      if (words >> word; column != columns[i]) entries.push_back({columns[i], column, word});
  }
  return entries;
}

/// "GPU3" -> gpu3; "NIC1" and "mlx5_1" -> nic1.
inline std::string device_of(const std::string& name) {
  return (name.rfind("GPU", 0) == 0 ? "gpu" : "nic") + name.substr(name.find_last_not_of("0123456789") + 1);
}

}  // namespace linkcast::test
