#include "calibrate/choices/machine.hpp"

#include <algorithm>
#include <pugixml.hpp>
#include <stdexcept>
#include <utility>

namespace linkcast::choices {
namespace {

constexpr int kUnsaid = 90;  // compute capability where the file says none. source: NCCL asks the GPU then; Hopper

/// Collects what is below one PCI element after the other.
class Reader final : public pugi::xml_tree_walker {
 public:
  bool for_each(pugi::xml_node& node) override {
    const std::string name = node.name();
    if (name == "pci") bus_ = node.attribute("busid").value();
    if (name == "gpu")
      gpus.emplace_back(node.attribute("dev").as_int(), Gpu{bus_, node.attribute("sm").as_int(kUnsaid)});
    if (name == "net")
      nics.push_back({"/stand-in/" + bus_, node.attribute("name").value(), node.attribute("speed").as_int(),
                      node.attribute("gdr").as_bool()});
    return true;
  }
  std::vector<std::pair<int, Gpu>> gpus;
  std::vector<Nic> nics;

 private:
  std::string bus_;
};

}  // namespace

Machine read_machine(const std::string& path) {
  pugi::xml_document document;
  if (const auto result = document.load_file(path.c_str()); !result)
    throw std::runtime_error(path + ": " + result.description());
  Reader reader;
  document.traverse(reader);
  if (reader.gpus.empty()) throw std::runtime_error(path + ": no gpu elements");
  std::sort(reader.gpus.begin(), reader.gpus.end(), [](const auto& a, const auto& b) { return a.first < b.first; });
  Machine read;
  for (auto& [dev, gpu] : reader.gpus) read.gpus.push_back(std::move(gpu));
  read.nics = std::move(reader.nics);
  return read;
}

Machine& machine() {
  static Machine one;
  return one;
}

}  // namespace linkcast::choices
