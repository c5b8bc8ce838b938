#pragma once
// Rows that queries about copies share.
#include <optional>

#include "sim/forecast/copy_request.hpp"
#include "sim/query/key.hpp"
#include "sim/query/query_kind.hpp"

namespace linkcast::copy {

query::Key source_key();
query::Key target_key();
query::Key size_key(bool required);
query::Key engine_key();
/// @param unset  what holds where it is not given
query::Key direction_key(const std::string& unset);
query::Key timing_key(const std::string& unset);
/// launch: graph or process
query::Key copy_launch_key();
/// Reads it. @returns  nothing for graph, or where it is not said
std::optional<CopyHost> read_host(const query::Question& asked, ObjectReader& r);
/// The platform as a machine. @param networked  with the nodes that its fabric joins; else one node alone
const Cluster& machine_of(const query::Question& asked, bool networked);

}  // namespace linkcast::copy
