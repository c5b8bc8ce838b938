#include "cli/serve/node_states.hpp"

#include <filesystem>
#include <stdexcept>
#include <utility>

#include "sim/base/atomic_file.hpp"

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

}  // namespace linkcast::serve
