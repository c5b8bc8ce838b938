#include "topologies/formats/nccl_text.hpp"

#include <fmt/format.h>

#include "sim/base/input_error.hpp"

namespace linkcast::exporters::nccl {
namespace {

constexpr std::size_t kLongest = 254;  // source: NVIDIA/nccl src/graph/xml.h, MAX_STR_LEN with the end of the string

void check(const std::string& key, const std::string& value) {
  const bool printable = value.find_first_of("\"<>&\r\n") == std::string::npos;
  if (!printable || value.size() > kLongest)
    throw InputError(fmt::format(
        "'{}' cannot be the {} of a file for NCCL: no quotes, <, > or &, at most {} characters", value, key, kLongest));
}

void write(const Element& element, const std::string& indent, std::string& out) {
  out += indent + "<" + element.name;
  for (const auto& [key, value] : element.attributes) {
    check(key, value);
    out += " ";
    out += key;
    out += "=\"" + value + "\"";
  }
  if (element.children.empty()) {
    out += "/>\n";
    return;
  }
  out += ">\n";
  for (const Element& child : element.children) write(child, indent + "  ", out);
  out += indent + "</" + element.name + ">\n";
}

}  // namespace

std::string to_text(const Element& root) {
  std::string text;
  write(root, "", text);
  return text;
}

}  // namespace linkcast::exporters::nccl
