#include "cli/serve/page.hpp"

#include <algorithm>
#include <iterator>
#include <page_files.hpp>

#include "sim/base/input_error.hpp"

namespace linkcast::serve {

PageFile page_file(std::string_view name) {
  const auto* const found = std::find_if(std::begin(kPageFiles), std::end(kPageFiles),
                                         [&](const EmbeddedFile& file) { return file.name == name; });
  if (found == std::end(kPageFiles)) throw InvariantError("page: no such file");
  const std::string_view suffix = name.substr(name.rfind('.'));
  return {found->content, suffix == ".js"    ? "text/javascript; charset=utf-8"
                          : suffix == ".css" ? "text/css; charset=utf-8"
                                             : "text/html; charset=utf-8"};
}

}  // namespace linkcast::serve
