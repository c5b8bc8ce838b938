#pragma once
// Settings of NCCL, as people write them in its environment, as keys of a query.
#include <string>
#include <vector>

#include "sim/base/object_reader.hpp"
#include "sim/machine/topology.hpp"

namespace linkcast::query {

/// "NCCL_PROTO=^LL,NCCL_MAX_NCHANNELS=8" as an object; values may have commas. For the command line.
/// @param option  for errors
Json nccl_environment_of(const std::string& text, const std::string& option);

/// Edits of the machine that settings in "nccl_env" stand for: NCCL_IB_DISABLE, NCCL_IB_QPS_PER_CONNECTION.
struct NcclEdits {
  std::vector<std::string> edits{}, warnings{};
};
/// @param topology  of the machine with its other edits
NcclEdits nccl_edits(const Json& query, const Topology& topology);

/// Puts other keys in the place of "nccl_env": algorithm, protocol, without, channels, least_channels, most_channels,
/// nvls, collnet, pxn, cross_nic, gdr_level, p2p_level, buffer_B, ll_buffer_B, ll128_buffer_B, peer_channels, shm,
/// plugin_tuner. What nccl_edits() reads is left out.
/// @returns  warnings: what changes nothing that is forecast
/// @throws InputError  a variable that is not modelled, a value that NCCL does not have, a key that says it too
/// @source  NCCL user guide, "Environment Variables"
std::vector<std::string> take_nccl_environment(Json& query);

}  // namespace linkcast::query
