#pragma once
// XML as NCCL's own reader takes it: that reader resolves no entities, knows no <?xml?> line and takes the blank before
// "/>", which XML libraries write, for one more attribute.
#include <string>
#include <utility>
#include <vector>

namespace linkcast::exporters::nccl {

struct Element {
  std::string name;
  std::vector<std::pair<std::string, std::string>> attributes;
  std::vector<Element> children;
};

/// Two blanks a level, one element a line. @throws InputError  for a value that NCCL's reader would not give back
std::string to_text(const Element& root);

}  // namespace linkcast::exporters::nccl
