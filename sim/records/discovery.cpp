#include "sim/records/discovery.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <map>
#include <set>

#include "sim/base/object_reader.hpp"
#include "sim/records/cable_kinds.hpp"

namespace linkcast {
namespace {

int whole(ObjectReader& r, const std::string& key, int least) {
  const int value = r.required<int>(key);
  if (value < least) r.fail(key, fmt::format("must be at least {}", least));
  return value;
}

int gpu_number(ObjectReader& r, const std::string& key) {
  const auto id = r.required<std::string>(key);
  int number = -1;
  if (id.starts_with("gpu")) std::from_chars(id.data() + 3, id.data() + id.size(), number);
  if (number < 0 || id != fmt::format("gpu{}", number)) r.fail(key, "'" + id + "': a gpu is called gpu<number>");
  return number;
}

std::vector<DiscoveredLink> read_links(ObjectReader& r) {
  std::vector<DiscoveredLink> links;
  std::set<int> numbers;
  for (ObjectReader& link : r.objects("nvlinks")) {
    if (!numbers.insert(whole(link, "link", 0)).second) link.fail("link", "is listed twice");
    const auto kind = link.choice("remote_kind", {"gpu", "npu", "switch", "unknown"});
    links.push_back({kind, link.required<std::string>("remote_pci")});
    link.finish();
  }
  return links;
}

DiscoveredGpu read_gpu(ObjectReader& r) {
  DiscoveredGpu gpu;
  gpu.model = r.required<std::string>("model");
  gpu.sm = whole(r, "sm", 1);
  whole(r, "multiprocessors", 1);
  whole(r, "copy_engines", 0);
  gpu.pci = r.required<std::string>("pci");
  gpu.pci_path = r.required<std::vector<std::string>>("pci_path");
  gpu.pcie_generation = whole(r, "pcie_generation", 0);
  if (gpu.pcie_generation != 0 && !pcie_lane(gpu.pcie_generation))
    r.fail("pcie_generation", "no such generation is known; 0 says that it could not be read");
  gpu.pcie_width = whole(r, "pcie_width", gpu.pcie_generation == 0 ? 0 : 1);
  if (gpu.pcie_width > 32) r.fail("pcie_width", "must be at most 32");
  gpu.numa_node = whole(r, "numa_node", -1);
  if (gpu.numa_node > 1023) r.fail("numa_node", "must be at most 1023");  // as Linux has it
  gpu.nvlinks = read_links(r);
  return gpu;
}

DiscoveredPair read_pair(ObjectReader& r) {
  DiscoveredPair pair;
  pair.source = gpu_number(r, "source");
  pair.target = gpu_number(r, "target");
  if (pair.source == pair.target) r.fail("target", "a pair is two different GPUs");
  pair.peer_access = r.required<bool>("peer_access");
  pair.native_atomics = r.required<bool>("native_atomics");
  whole(r, "performance_rank", 0);
  return pair;
}

/// Points by what they are about; each may be there once.
struct Points {
  std::map<int, DiscoveredGpu> gpus;
  std::map<std::pair<int, int>, DiscoveredPair> pairs;
  std::set<std::string> waived_gpus;
  int waived = 0;

  void read(ObjectReader r) {
    if (r.choice("status", {"ok", "waived"}) == "waived") {
      ++waived;
      waived_gpus.insert(r.optional<std::string>("device").value_or(""));
      for (const char* key : {"source", "target"}) r.optional<std::string>(key);
      r.required<std::string>("reason");
    } else if (r.has("device")) {
      const int number = gpu_number(r, "device");
      if (!gpus.emplace(number, read_gpu(r)).second) r.fail("device", "is listed twice");
    } else {
      const DiscoveredPair pair = read_pair(r);
      if (!pairs.emplace(std::pair(pair.source, pair.target), pair).second) r.fail("", "this pair is listed twice");
    }
    r.finish();
  }
};

}  // namespace

Discovery read_discovery(const std::string& path) {
  const Json json = read_json_file(path);
  ObjectReader r(json, path);
  r.schema("discovery/1");
  Discovery d;
  d.id = r.required<std::string>("id");
  for (const char* key : {"machine", "topology", "source"}) r.required<std::string>(key);
  r.choice("bench", {"discovery"});
  r.choice("timing", {"single"});
  d.cpu = r.object("environment").required<std::string>("host_cpu");  // the rest is recorded, not interpreted
  r.object("method");
  r.required<std::vector<std::string>>("notes");
  Points points;
  for (ObjectReader& point : r.objects("points")) points.read(point);
  r.finish();
  if (points.gpus.empty() && points.waived == 0) r.fail("points", "holds no point");
  for (auto& [number, gpu] : points.gpus) {
    const std::string expected = fmt::format("gpu{}", d.gpus.size());
    if (number != static_cast<int>(d.gpus.size()))
      r.fail("points", expected + (points.waived_gpus.count(expected) ? " was waived" : " is missing") +
                           ": gpus count from 0 without gaps");
    d.numa_nodes = std::max(d.numa_nodes, gpu.numa_node + 1);
    d.gpus.push_back(std::move(gpu));
  }
  for (const auto& [ends, pair] : points.pairs) {
    if (std::max(ends.first, ends.second) >= static_cast<int>(d.gpus.size()))
      r.fail("points", fmt::format("gpu{} of a pair is not among the devices", std::max(ends.first, ends.second)));
    d.pairs.push_back(pair);
  }
  d.waived = points.waived;
  return d;
}

}  // namespace linkcast
