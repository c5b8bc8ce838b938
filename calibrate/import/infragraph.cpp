// JSON of InfraGraph 3 -> topology/1: one device of the file, the node of a system. What linkcast itself exports comes
// back as it was; of other files kinds of links are read from names, and what these do not say is assumed or asked for.
#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <map>
#include <set>

#include "calibrate/import/gpu_facts.hpp"
#include "calibrate/import/infragraph_graph.hpp"
#include "calibrate/import/topology_request.hpp"
#include "sim/base/regex.hpp"
#include "sim/records/topology_writer.hpp"

namespace linkcast::infragraph {
namespace {

using topology_import::TopologyRequest;

/// "Tesla V100; compute capability 7.0": the model, and what follows `key`.
std::string told(const std::string& description, const std::string& key) {
  const Match match = Regex("; " + key + " ([^;]+)").find(description);
  return match ? match[1] : "";
}
std::string model_of(const std::string& description) {
  return Regex("; (compute capability|vendor|group) [^;]+").removed_from(description);
}

class Reader {
 public:
  Reader(const ImportRequest& request, const TopologyRequest& checked)
      : request_(checked), device_(read_device(request.files.front(), checked.option("device"))) {
    notes_ = device_.notes;
  }

  Json run() {
    drop_passive();
    name_nodes();
    for (const auto& [node, id] : ids_) write_device(node, id);
    std::set<std::tuple<std::string, std::string, std::string>> written;
    for (const Edge& edge : device_.edges) {
      const Link& link = device_.links[static_cast<std::size_t>(edge.link)];
      const CableFacts cable = cable_of(device_, link, ends_of(edge), request_);
      const auto& [a, b] = std::minmax(ids_.at(edge.a), ids_.at(edge.b));
      if (!written.emplace(a, b, cable.kind).second)
        throw InputError(
            device_.file, edge.pointer,
            "a second " + cable.kind + " between " + a + " and " + b + ": give it once with the rate of all links");
      writer_.cable(ids_.at(edge.a), ids_.at(edge.b), cable.kind, cable.count, cable.rate,
                    "InfraGraph link '" + link.name + "', taken as one direction" +
                        (cable.note.empty() ? "" : "; " + cable.note));
    }
    for (const Component& part : device_.components)
      if (part.type == "xpu" && model_of_gpu(part) != model_of(part.description))
        notes_.push_back("assumed: '" + part.name + "' is " + model_of_gpu(part) +
                         (request_.option("gpu") ? ", as the option says" : ", by the name of the device"));
    std::string source = "InfraGraph device '" + device_.name + "'";
    for (const std::string& note : notes_) source += "; " + note;
    for (const std::string& other : device_.others) source += "; device '" + other + "' is left out";
    if (device_.network) source += "; the network between instances is left out";
    return writer_.json(request_.name(), device_.description.empty() ? device_.name : device_.description,
                        source + "; " + request_.pcie_peer_source(), request_.pcie_peer());
  }

 private:
  [[nodiscard]] const Component& component(const Node& node) const {
    return device_.components[static_cast<std::size_t>(node.component)];
  }
  [[nodiscard]] bool is(const Node& node, const char* type) const { return component(node).type == type; }
  [[nodiscard]] bool passive(const Node& node) const {
    static const std::set<std::string> active = {"cpu", "xpu", "nic", "switch"};
    return !active.count(component(node).type);
  }

  void drop_passive();
  void name_nodes();
  void write_device(const Node& node, const std::string& id);
  [[nodiscard]] std::string model_of_gpu(const Component& gpu) const;
  [[nodiscard]] int sm_of(const Component& gpu) const;
  [[nodiscard]] std::string vendor_of(const Component& cpu) const;
  void gpu_facts(const Node& gpu, Ends& ends) const;
  [[nodiscard]] std::vector<const Edge*> accelerator_edges(const Node& node) const;
  [[nodiscard]] double trunk(const Node& node) const;
  [[nodiscard]] Ends ends_of(const Edge& edge) const;

  const TopologyRequest& request_;
  Device device_;
  std::map<Node, std::string> ids_;
  std::vector<std::string> notes_;
  TopologyWriter writer_;
};

/// Slots, ports and memory are no devices here. One with two neighbours over one link is part of the cable, one with
/// fewer leads nowhere, one with more shares out a link: a switch.
void Reader::drop_passive() {
  for (int c = 0; c < static_cast<int>(device_.components.size()); ++c) {
    Component& component = device_.components[static_cast<std::size_t>(c)];
    if (!passive({c, 0})) continue;
    bool through = false, nowhere = false, shares = false;
    for (int i = 0; i < component.count; ++i) {
      std::vector<std::size_t> at;
      for (std::size_t e = 0; e < device_.edges.size(); ++e)
        if (device_.edges[e].a == Node{c, i} || device_.edges[e].b == Node{c, i}) at.push_back(e);
      const auto far = [&](std::size_t e) {
        return device_.edges[e].a == Node{c, i} ? device_.edges[e].b : device_.edges[e].a;
      };
      if (at.size() > 2 || (at.size() == 2 && device_.edges[at[0]].link != device_.edges[at[1]].link)) {
        shares = true;
        continue;
      }
      if (at.size() == 2)
        device_.edges.push_back({far(at[0]), far(at[1]), device_.edges[at[0]].link, device_.edges[at[0]].pointer});
      (at.size() == 2 ? through : nowhere) = true;
      for (auto e = at.rbegin(); e != at.rend(); ++e)
        device_.edges.erase(device_.edges.begin() + static_cast<std::ptrdiff_t>(*e));
    }
    const std::string what = "component '" + component.name + "' (" + component.type + ") ";
    if (through) notes_.push_back(what + "is part of the cable through it");
    if (nowhere) notes_.push_back(what + "is left out");
    if (!shares) continue;
    notes_.push_back("assumed: " + what + "is a switch where it joins several");
    component.type = "switch";
  }
}

/// Ids of linkcast's own exports come back ("plx8-11" counts from plx8); GPUs count through all components.
void Reader::name_nodes() {
  static const Regex run("(.*[^0-9])([0-9]{1,6})-([0-9]{1,6})"), single(".*[0-9]");
  std::set<Node> joined;
  for (const Edge& edge : device_.edges) joined.insert({edge.a, edge.b});  // both ends
  int gpus = 0;
  std::set<std::string> taken;
  for (int c = 0; c < static_cast<int>(device_.components.size()); ++c) {
    const Component& part = device_.components[static_cast<std::size_t>(c)];
    std::string plain;
    for (const char ch : part.name) plain += std::isalnum(static_cast<unsigned char>(ch)) || ch == '-' ? ch : '_';
    const Match match = run.whole(plain);
    const bool is_run = match && std::stol(match[3]) - std::stol(match[2]) + 1 == part.count;
    const std::string prefix = is_run ? match[1] : plain + (single.whole(plain) ? "_" : "");
    const int first = is_run ? std::stoi(match[2]) : 0;
    for (int i = 0; i < part.count; ++i) {
      if (passive({c, i}) || (is({c, i}, "switch") && !joined.count({c, i}))) continue;
      std::string id = fmt::format("{}{}", prefix, first + i);
      if (part.count == 1 && single.whole(plain)) id = plain;
      if (is({c, i}, "xpu")) id = fmt::format("gpu{}", gpus++);
      if (!taken.insert(id).second)
        throw InputError(device_.file, part.pointer + "/name", "'" + id + "' is the name of two things");
      ids_[{c, i}] = id;
    }
  }
}

/// The model of a GPU: what the user says, its description, else the device's name ("dgx_gb200").
std::string Reader::model_of_gpu(const Component& gpu) const {
  if (const auto option = request_.option("gpu")) return *option;
  const std::string own = model_of(gpu.description);
  if (find_gpu_model(own) || request_.option("sm")) return own;
  std::string words = device_.name;
  std::replace(words.begin(), words.end(), '_', ' ');
  const auto model = find_gpu_model(words);
  return model ? std::string(model->words) : own;
}

int Reader::sm_of(const Component& gpu) const {
  static const Regex capability("; compute capability ([0-9]{1,3})\\.([0-9])");
  if (const Match match = capability.find(gpu.description)) return std::stoi(match[1] + match[2]);
  if (const auto sm = request_.number("sm")) return *sm;
  if (const auto model = find_gpu_model(model_of_gpu(gpu))) return model->sm;
  throw InputError(device_.file, gpu.pointer + "/description",
                   "does not say which GPUs these are: add option gpu=MODEL, e.g. gpu=H100, or option sm=90");
}

std::string Reader::vendor_of(const Component& cpu) const {
  static const std::set<std::string> known = {"intel", "amd", "ibm", "arm"};
  if (const std::string own = told(cpu.description, "vendor"); known.count(own)) return own;
  if (const auto option = request_.choice("cpu", known)) return *option;
  static const std::vector<std::pair<Regex, std::string>> makers = {{Regex("(?i)intel|xeon"), "intel"},
                                                                    {Regex("(?i)amd|epyc"), "amd"},
                                                                    {Regex("(?i)ibm|power[89]"), "ibm"},
                                                                    {Regex("(?i)\\barm\\b|grace|neoverse"), "arm"}};
  for (const auto& [words, maker] : makers)
    if (words.find(cpu.description)) return maker;
  return "";
}

void Reader::write_device(const Node& node, const std::string& id) {
  const Component& part = component(node);
  const std::string model = model_of(part.description);
  const std::map<std::string, std::function<void()>> writers{
      {"xpu", [&] { writer_.gpu(std::stoi(id.substr(3)), model_of_gpu(part), sm_of(part)); }},
      {"cpu", [&] { writer_.cpu(id, model, vendor_of(part)); }},
      {"nic", [&] { writer_.device(id, "nic", model); }}};
  if (const auto writer = writers.find(part.type); writer != writers.end()) return writer->second();
  const bool nvswitch = std::any_of(device_.edges.begin(), device_.edges.end(), [&](const Edge& e) {
    return (e.a == node || e.b == node) && is_accelerator_link(device_.links[static_cast<std::size_t>(e.link)]);
  });
  const std::string group = told(part.description, "group");
  writer_.device(id, nvswitch ? "nvswitch" : "pcie_switch", model, nvswitch && group.empty() ? part.name : group);
}

void Reader::gpu_facts(const Node& gpu, Ends& ends) const {
  ends.sm = sm_of(component(gpu));
  ends.gpu = model_of_gpu(component(gpu));
  const auto model = find_gpu_model(ends.gpu);
  if (!model) return;
  ends.pcie = model->pcie_generation;
  ends.gpu_links = model->nvlinks;
  ends.chip_Bps = model->chip_Bps;
}

/// Edges of a node on which NVLinks can be, in their order.
std::vector<const Edge*> Reader::accelerator_edges(const Node& node) const {
  std::vector<const Edge*> edges;
  for (const Edge& edge : device_.edges)
    if ((edge.a == node || edge.b == node) && !is(edge.a, "cpu") && !is(edge.b, "cpu") &&
        is_accelerator_link(device_.links[static_cast<std::size_t>(edge.link)]))
      edges.push_back(&edge);
  return edges;
}

/// NVLinks of the GPUs on a switch for each of its edges to other switches.
double Reader::trunk(const Node& node) const {
  double gpu_links = 0, trunks = 0;
  for (const Edge* edge : accelerator_edges(node)) {
    const Node& far = edge->a == node ? edge->b : edge->a;
    if (!is(far, "xpu")) ++trunks;
    if (!is(far, "xpu")) continue;
    const auto model = find_gpu_model(model_of_gpu(component(far)));
    if (model) gpu_links += static_cast<double>(model->nvlinks) / static_cast<double>(accelerator_edges(far).size());
  }
  return trunks > 0 ? gpu_links / trunks : 0;
}

Ends Reader::ends_of(const Edge& edge) const {
  Ends ends;
  ends.cpus = is(edge.a, "cpu") && is(edge.b, "cpu");
  ends.a_cpu = is(edge.a, "cpu") || is(edge.b, "cpu");
  for (const Node& node : {edge.a, edge.b}) {
    if (is(node, "xpu")) {
      gpu_facts(node, ends);
      const auto edges = accelerator_edges(node);
      ends.a_gpu = true;
      ends.gpu_edges = static_cast<int>(edges.size());
      ends.gpu_edge = static_cast<int>(std::find(edges.begin(), edges.end(), &edge) - edges.begin());
      ends.switched = std::all_of(edges.begin(), edges.end(),
                                  [&](const Edge* e) { return is(e->a, "switch") || is(e->b, "switch"); });
    }
    if (is(node, "cpu")) ends.vendor = vendor_of(component(node));
  }
  if (ends.sm > 0) return ends;
  const auto gpu = std::find_if(ids_.begin(), ids_.end(), [&](const auto& item) { return is(item.first, "xpu"); });
  gpu_facts(gpu->first, ends);  // between others: what the GPUs of this machine have
  if (is(edge.a, "switch") && is(edge.b, "switch")) ends.trunk = std::min(trunk(edge.a), trunk(edge.b));
  return ends;
}

class InfragraphImporter final : public Importer {
 public:
  [[nodiscard]] std::vector<ImportOption> options() const override { return topology_import::described_options(kKeys); }
  [[nodiscard]] Json run(const ImportRequest& request) const override {
    const TopologyRequest checked(request, kKeys, 1);
    return Reader(request, checked).run();
  }

 private:
  const std::set<std::string> kKeys = {"device", "gpu", "sm", "nvlink", "pcie", "cpu", "pcie_peer"};
};

const bool infragraph_registered =
    importers().add({"infragraph", "JSON of InfraGraph 3 (one device of it) -> topology/1",
                     "openapi.yaml of the Python package infragraph 3.1.0"},
                    [] { return std::make_unique<InfragraphImporter>(); });

}  // namespace
}  // namespace linkcast::infragraph
