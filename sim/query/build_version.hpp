#pragma once
// What was built: on its own, so that a commit recompiles nothing else.

namespace linkcast::query {

/// "0.1.0"
[[nodiscard]] const char* build_version();
/// The commit, abbreviated as git does; empty: not built from a checkout.
[[nodiscard]] const char* build_commit();

}  // namespace linkcast::query
