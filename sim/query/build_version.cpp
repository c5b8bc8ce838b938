#include "sim/query/provenance.hpp"

namespace linkcast::query {

const char* build_version() { return LINKCAST_VERSION; }
const char* build_commit() { return LINKCAST_GIT; }

}  // namespace linkcast::query
