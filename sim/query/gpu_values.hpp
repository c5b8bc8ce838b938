#pragma once
// GPUs in queries by any of their names, and sizes with units, before the kinds read them.
#include <optional>
#include <string>

#include "sim/base/release.hpp"
#include "sim/machine/topology.hpp"
#include "sim/query/key.hpp"

namespace linkcast::query {

/// A query that stays with whoever gave it, copied once something in it changes.
class GivenQuery {
 public:
  /// @param given  outlives it
  explicit GivenQuery(const Json& given) : given_(&given) {}
  GivenQuery(const GivenQuery&) = delete;
  GivenQuery& operator=(const GivenQuery&) = delete;
  ~GivenQuery() {
    if (own_) release(*own_);
  }
  [[nodiscard]] const Json& get() const { return own_ ? *own_ : *given_; }
  Json& change() { return own_ ? *own_ : own_.emplace(*given_); }

 private:
  const Json* given_;
  std::optional<Json> own_{};
};

/// Writes gpu<number> or numbers in place of names of GPUs, in the keys whose rows say that they take them, and bytes
/// in place of sizes such as "64MiB".
/// @throws InputError  with the pointer: what of it names no GPU of the machine, or is no size
void take_numbers(const KeyTable& table, const Topology& topology, const std::string& file, const std::string& pointer,
                  GivenQuery& query);
/// The query after that.
Json with_numbers(const KeyTable& table, const Json& query, const Topology& topology, const std::string& file);

}  // namespace linkcast::query
