#pragma once
// Reading of XML files whose every error names file, line and element.
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <pugixml.hpp>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace linkcast::topology_import {

class XmlFile;

/// One element. Valid while its XmlFile is.
class XmlNode {
 public:
  XmlNode(const XmlFile& file, pugi::xml_node node) : file_(&file), node_(node) {}

  [[nodiscard]] std::string name() const { return node_.name(); }
  /// Calls what the table has for the name of each child element, in order. @throws InputError  `unknown`, at a child
  /// that the table does not name
  using Handlers = std::map<std::string_view, std::function<void(const XmlNode&)>>;
  void for_each_child(const Handlers& handlers, const std::string& unknown) const;
  /// Child elements, in order.
  [[nodiscard]] std::vector<XmlNode> children() const;
  [[nodiscard]] std::vector<XmlNode> children(const std::string& name) const;

  /// @throws InputError  without this attribute
  [[nodiscard]] std::string text(const char* attribute) const;
  [[nodiscard]] std::optional<std::string> find(const char* attribute) const;
  [[nodiscard]] std::vector<std::pair<std::string, std::string>> attributes() const;
  /// A whole number of at least `least`. @throws InputError
  [[nodiscard]] int number(const char* attribute, int least) const;

  /// Text inside the element.
  [[nodiscard]] std::string content() const { return node_.child_value(); }
  /// Writes an attribute, or adds an element as its last child: to the document in memory.
  void set(const char* attribute, const std::string& value);
  XmlNode add(const char* name);

  /// "/system/cpu[2]/pci[1]": numbers count elements of the same name, from 1.
  [[nodiscard]] std::string path() const;
  [[noreturn]] void fail(const std::string& what) const;
  [[noreturn]] void fail(const char* attribute, const std::string& what) const;

 private:
  const XmlFile* file_;
  pugi::xml_node node_;
};

class XmlFile {
 public:
  /// @throws InputError  missing file, broken XML, an attribute twice, elements nested too deep to be sensible
  explicit XmlFile(std::string path);
  [[nodiscard]] XmlNode root() const { return {*this, document_->document_element()}; }
  /// The root, which must have this name. @throws InputError  `otherwise`, and which name was expected
  [[nodiscard]] XmlNode root_named(const std::string& name, const std::string& otherwise) const;
  [[nodiscard]] const std::string& path() const { return path_; }
  /// @param offset  into the file
  [[nodiscard]] int line_of(std::ptrdiff_t offset) const;

 private:
  std::string path_, text_;
  std::unique_ptr<pugi::xml_document> document_;
};

}  // namespace linkcast::topology_import
