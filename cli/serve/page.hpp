#pragma once
// The interactive page: files of cli/serve/page, compiled into the program.
#include <string_view>

namespace linkcast::serve {

struct PageFile {
  std::string_view content, type;  ///< type: of the header Content-Type
};

/// @param name  index.html, page.css or page.js
PageFile page_file(std::string_view name);

}  // namespace linkcast::serve
