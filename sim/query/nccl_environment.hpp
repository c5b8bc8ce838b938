#pragma once
// Settings of NCCL, as people write them in its environment, as keys of a query.
#include <string>
#include <vector>

#include "sim/base/object_reader.hpp"

namespace linkcast::query {

/// "NCCL_PROTO=^LL,NCCL_MAX_NCHANNELS=8" as an object; values may have commas. For the command line.
/// @param option  for errors
Json nccl_environment_of(const std::string& text, const std::string& option);

/// Puts other keys in the place of "nccl_env": algorithm, protocol, without, channels, least_channels, most_channels,
/// nvls, collnet, pxn, p2p_level.
/// @returns  warnings: what changes nothing that is forecast
/// @throws InputError  a variable that is not modelled, a value that NCCL does not have, a key that says it too
/// @source  NCCL user guide, "Environment Variables"
std::vector<std::string> take_nccl_environment(Json& query);

}  // namespace linkcast::query
