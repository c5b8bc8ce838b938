#pragma once
// Rows that queries about copies share.
#include "sim/query/key.hpp"

namespace linkcast::copy {

query::Key source_key();
query::Key target_key();
query::Key size_key(bool required);
query::Key engine_key();
/// @param unset  what holds where it is not given
query::Key direction_key(const std::string& unset);
query::Key timing_key(const std::string& unset);
/// What the answer says of one copy.
query::KeyTable copy_results();

}  // namespace linkcast::copy
