#include "calibrate/import/xml_node.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <set>

#include "calibrate/import/topology_request.hpp"
#include "sim/base/input_error.hpp"
#include "sim/base/limits.hpp"

namespace linkcast::topology_import {
namespace {

constexpr int kDeepest = 100;  // files of NCCL and hwloc nest about 15 deep; readers recurse. source: ours

/// Finds what pugixml lets pass.
class Checker final : public pugi::xml_tree_walker {
 public:
  explicit Checker(const XmlFile& file) : file_(file) {}
  bool for_each(pugi::xml_node& node) override {
    if (node.type() != pugi::node_element) return true;
    const XmlNode element(file_, node);
    if (depth() > kDeepest) element.fail(fmt::format("nested deeper than {} elements", kDeepest));
    std::set<std::string> names;
    for (const pugi::xml_attribute attribute : node.attributes())
      if (!names.insert(attribute.name()).second) element.fail(attribute.name(), "is given twice");
    return true;
  }

 private:
  const XmlFile& file_;
};

/// Memory of a document is looked at as it grows: it takes 64 B where the text has 4.
void* watched(std::size_t size_B) {
  constexpr unsigned kOften = 256;  // source: ours, 8 MiB of pugixml's pages between two looks
  thread_local unsigned calls = 0;
  if (++calls % kOften == 0 && work::Scope::current() != nullptr) work::refuse_memory_in_use(work::memory_in_use_B());
  return std::malloc(size_B);  // NOLINT(cppcoreguidelines-no-malloc): freed by free()
}

}  // namespace

XmlFile::XmlFile(std::string path)
    : path_(std::move(path)), text_(read_text(path_)), document_(std::make_unique<pugi::xml_document>()) {
  pugi::set_memory_management_functions(watched, std::free);
  const auto result = document_->load_buffer(text_.data(), text_.size(), pugi::parse_default, pugi::encoding_utf8);
  if (!result) fail_at(path_, line_of(result.offset), std::string("not XML: ") + result.description());
  for (pugi::xml_node next = document_->document_element().next_sibling(); next; next = next.next_sibling())
    if (next.type() == pugi::node_element)
      fail_at(path_, line_of(next.offset_debug()),
              std::string("a second document begins, '") + next.name() + "': import them one by one");
  Checker checker(*this);
  document_->traverse(checker);
}

int XmlFile::line_of(std::ptrdiff_t offset) const {
  const auto end = text_.begin() + std::clamp<std::ptrdiff_t>(offset, 0, static_cast<std::ptrdiff_t>(text_.size()));
  return 1 + static_cast<int>(std::count(text_.begin(), end, '\n'));
}

XmlNode XmlFile::root_named(const std::string& name, const std::string& otherwise) const {
  if (root().name() != name) root().fail(otherwise + ": its root is " + name);
  return root();
}

void XmlNode::for_each_child(const Handlers& handlers, const std::string& unknown) const {
  for (const XmlNode& child : children()) {
    const auto handler = handlers.find(child.name());
    if (handler == handlers.end()) child.fail(unknown);
    handler->second(child);
  }
}

std::vector<XmlNode> XmlNode::children() const {
  std::vector<XmlNode> nodes;
  for (const pugi::xml_node child : node_.children()) {
    if (child.type() == pugi::node_element) nodes.emplace_back(*file_, child);
  }
  return nodes;
}

std::vector<XmlNode> XmlNode::children(const std::string& name) const {
  auto nodes = children();
  std::erase_if(nodes, [&](const XmlNode& node) { return node.name() != name; });
  return nodes;
}

std::optional<std::string> XmlNode::find(const char* attribute) const {
  const pugi::xml_attribute found = node_.attribute(attribute);
  if (!found) return std::nullopt;
  return found.value();
}

std::vector<std::pair<std::string, std::string>> XmlNode::attributes() const {
  std::vector<std::pair<std::string, std::string>> all;
  for (const pugi::xml_attribute attribute : node_.attributes()) all.emplace_back(attribute.name(), attribute.value());
  return all;
}

std::string XmlNode::text(const char* attribute) const {
  if (auto value = find(attribute)) return *value;
  fail(attribute, "missing attribute");
}

int XmlNode::number(const char* attribute, int least) const {
  const std::string value = text(attribute);
  const bool minus = value.starts_with('-');
  const auto number = whole_number(minus ? value.substr(1) : value);
  const int signed_number = number.value_or(0) * (minus ? -1 : 1);
  if (!number || signed_number < least)
    fail(attribute, fmt::format("'{}' is no whole number of at least {}", value, least));
  return signed_number;
}

void XmlNode::set(const char* attribute, const std::string& value) {
  if (!node_.attribute(attribute)) node_.append_attribute(attribute);
  node_.attribute(attribute).set_value(value.c_str());
}

XmlNode XmlNode::add(const char* name) { return {*file_, node_.append_child(name)}; }

std::string XmlNode::path() const {
  std::string path;
  for (pugi::xml_node node = node_; node.type() == pugi::node_element; node = node.parent()) {
    int before = 1;
    for (pugi::xml_node other = node.previous_sibling(node.name()); other; other = other.previous_sibling(node.name()))
      ++before;
    const bool alone = before == 1 && !node.next_sibling(node.name());
    path = "/" + std::string(node.name()) + (alone ? "" : fmt::format("[{}]", before)) + path;
  }
  return path;
}

void XmlNode::fail(const std::string& what) const {
  const std::string place = fmt::format("{} line {}", file_->path(), file_->line_of(node_.offset_debug()));
  throw InputError(place, path(), what);
}

void XmlNode::fail(const char* attribute, const std::string& what) const {
  const std::string place = fmt::format("{} line {}", file_->path(), file_->line_of(node_.offset_debug()));
  throw InputError(place, path() + "/@" + attribute, what);
}

}  // namespace linkcast::topology_import
