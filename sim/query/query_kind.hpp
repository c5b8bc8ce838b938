#pragma once
// Kinds of queries that rooms above the forecasts answer. One file each; they register themselves.
#include "sim/catalogue/catalogue.hpp"
#include "sim/plugin/registry.hpp"
#include "sim/records/object_reader.hpp"

namespace linkcast::query {

class QueryKind {
 public:
  virtual ~QueryKind() = default;
  /// Keys of the result besides those that every answer has.
  /// @param r  the query; id, kind, platform, edits and solver are read already
  /// @throws InputError  as answer_or_throw()
  [[nodiscard]] virtual Json answer(catalogue::Catalogue& catalogue, const std::string& platform_id,
                                    ObjectReader& r) const = 0;
};

Registry<QueryKind>& query_kinds();

}  // namespace linkcast::query
