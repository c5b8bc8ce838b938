#include "cli/serve/node_states.hpp"

#include <algorithm>
#include <cctype>
#include <filesystem>
#include <stdexcept>
#include <utility>

#include "sim/base/atomic_file.hpp"
#include "sim/machine/machine_files.hpp"
#include "sim/records/gpu_models.hpp"

namespace linkcast::serve {
namespace {

constexpr const char* kSchema = "node-states/1";

NodeStates::Nodes read(const std::string& file) {
  NodeStates::Nodes nodes;
  if (file.empty() || !std::filesystem::exists(file)) return nodes;
  const Json record = read_json_file(file);
  ObjectReader r(record, file);
  r.schema(kSchema);
  const Json& list = r.raw("nodes");
  if (!list.is_object()) r.fail("nodes", "must be an object of nodes by name");
  for (const auto& item : list.items()) nodes[item.key()] = item.value();
  r.finish();
  return nodes;
}

/// A disk that is full is no fault of who sent the state.
void write(const std::string& file, const Json& record) {
  try {
    write_atomically(file, record.dump(1) + "\n");
  } catch (const InputError& error) {
    throw std::runtime_error(std::string("state: ") + error.what());
  }
}

}  // namespace

NodeStates::NodeStates(std::string file) : file_(std::move(file)) {
  Nodes nodes = read(file_);
  try {
    replace(std::move(nodes));  // says now, and not at the first change, that it cannot be written
  } catch (const std::runtime_error& error) {
    throw InputError(error.what());
  }
}

std::shared_ptr<const NodeStates::Nodes> NodeStates::all() const {
  const std::lock_guard<std::mutex> lock(mutex_);
  return nodes_;
}

void NodeStates::set(const std::string& node, Json state) {
  const std::lock_guard<std::mutex> one_writer(writing_);
  Nodes nodes = *all();
  nodes[node] = std::move(state);
  replace(std::move(nodes));
}

bool NodeStates::forget(const std::string& node) {
  const std::lock_guard<std::mutex> one_writer(writing_);
  Nodes nodes = *all();
  if (nodes.erase(node) == 0) return false;
  replace(std::move(nodes));
  return true;
}

void NodeStates::replace(Nodes nodes) {
  if (!file_.empty()) write(file_, Json{{"schema", kSchema}, {"nodes", nodes}});
  const std::lock_guard<std::mutex> lock(mutex_);
  nodes_ = std::make_shared<const Nodes>(std::move(nodes));
}

namespace {

/// "NVIDIA-A100-SXM4-40GB" and "NVIDIA A100-SXM4-40GB" alike: letters and digits alone.
std::string bare(const std::string& name) {
  std::string text;
  for (const char c : name)
    if (std::isalnum(static_cast<unsigned char>(c)))
      text += static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  return text;
}

std::string listed(const std::vector<std::string>& names) {
  std::string text;
  for (const std::string& name : names) text += (text.empty() ? "" : ", ") + name;
  return text;
}

}  // namespace

std::string platform_of_labels(catalogue::Catalogue& catalogue, const std::vector<std::string>& served,
                               const GpuLabels& labels, const std::string& wanted) {
  const std::string what = std::to_string(labels.count) + " x " + labels.product;
  for (const char* part : {"-MIG-", "-SHARED"})
    if (labels.product.find(part) != std::string::npos)
      throw InputError("label nvidia.com/gpu.product: " + labels.product + " gives parts of GPUs away");
  std::vector<std::string> same_name, same_model;
  for (const std::string& id : served) {
    const Platform& platform = catalogue.machine(id)->platform();
    if (platform.gpu_count() != labels.count) continue;
    const std::string& name = platform.topology().devices[static_cast<std::size_t>(platform.gpu(0))].model;
    if (bare(name) == bare(labels.product)) same_name.push_back(id);
    if (same_gpu_model(name, labels.product)) same_model.push_back(id);
  }
  std::vector<std::string>& fit = same_name.empty() ? same_model : same_name;
  if (std::find(fit.begin(), fit.end(), wanted) != fit.end()) return wanted;
  catalogue::MachineFiles(catalogue.data_dir()).drop_variants(fit);
  if (fit.size() == 1) return fit.front();
  if (fit.empty()) throw InputError("labels: no platform that is served has " + what);
  throw InputError("labels: " + what + " are in " + listed(fit) + ": annotation linkcast/platform says which");
}

}  // namespace linkcast::serve
