#pragma once
// Rings over members of one node as channels: which hop goes where.
#include <string>
#include <vector>

#include "models/libraries/pair_transports.hpp"
#include "sim/machine/communicator.hpp"

namespace linkcast {

/// @param gpus  GPU numbers by member index. @param ring  member indices. @param links  of each hop, given to this ring
Channel pair_channel(const PairTable& pairs, const std::vector<int>& gpus, const std::vector<int>& ring, double links);

/// Over all hops of these rings.
PathClass worst_class(const PairTable& pairs, const std::vector<std::vector<int>>& rings);

/// "every hop by peer access", "hop 3->4 through host memory"
std::string host_hops(const PairTable& pairs, const std::vector<int>& ring, const std::vector<int>& gpus);

/// "3->4", "1->6 and 7->0", "0->5, 5->2 and 2->0"
std::string listed(const std::vector<std::string>& parts);

}  // namespace linkcast
