#pragma once
// RCCL's cost model, the fixed rules on top of it, and its channels by size.
#include <optional>
#include <string>
#include <vector>

#include "models/libraries/rccl/preset.hpp"

namespace linkcast::rccl {

/// All that the choice depends on but the call.
struct Situation {
  const Release& release;
  const Communicator& communicator;
  Generation generation;
  const TuningTable& table;
  bool all_to_all = false;  ///< a whole node of MI300X or newer
};

/// Before the first step, in all tables.
Seconds base_latency(const std::string& protocol);
/// One step inside a node.
Seconds hop_latency(const AlgorithmFigures& figures, const std::string& protocol, const std::string& path_class);

/// Rows of ring and tree.
std::vector<TunerEntry> tuner_table(const Situation& here, const TunerRequest& request);

/// The protocol that a rule by size puts in the place of the model's.
/// @returns empty: it stays
std::string protocol_by_size(const Situation& here, const TunerRequest& request);

/// The kernel that all pairs of a node of MI300X run in the place of rings and trees, if this call takes it.
std::optional<TunerChoice> all_pairs(const Situation& here, const TunerRequest& request);

/// Channels of a row: fewer while the size leaves their threads idle.
TunerChoice with_channels(const Situation& here, const TunerEntry& entry, const TunerRequest& request);

}  // namespace linkcast::rccl
