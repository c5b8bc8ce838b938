#pragma once
// The service described by OpenAPI 3.1, from its own table of paths and the schemas of queries and answers; and a page
// of HTML that shows it.
#include <string>
#include <vector>

#include "sim/base/object_reader.hpp"

namespace linkcast::serve {

/// Key of a query, and the only value of it that is served.
inline constexpr const char *kSolver = "solver", *kServedSolver = "fluid";

struct ApiPath {
  std::string path;     ///< "/v1/nodes/{name}"
  std::string method;   ///< GET, POST, DELETE
  std::string summary;  ///< one line
  std::string takes{};  ///< name of the schema of the body; empty: there is none
  std::string gives{};  ///< name of the schema of the answer; empty: text of `type`
  std::string type = "application/json";
  bool open = false;  ///< without a token
};

/// As query::all_schemas(), of what is served.
Json served_schemas();

/// @source  OpenAPI Specification 3.1.0
Json openapi(const std::vector<ApiPath>& paths);

/// One page that needs no other file. @param api  of openapi()
std::string api_page(const Json& api);

}  // namespace linkcast::serve
