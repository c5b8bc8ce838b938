#pragma once
// What a communication library believes, as JSON: its rings and trees, its cost model. No forecast of linkcast.
#include "sim/base/object_reader.hpp"
#include "sim/machine/library.hpp"

namespace linkcast::collective {

/// Keys of a rings answer that follow from the communicator alone.
Json communicator_json(const Communicator& communicator);

/// Rows of the tuner and what the library takes; without rows if its version has no cost model.
Json tuner_json(const RingLibrary& library, const Platform& platform, const Communicator& communicator,
                const TunerRequest& request);

/// Of several nodes: by which NICs each ring and tree enters and leaves a node, and how.
Json nics_json(const Cluster& machine, const Communicator& communicator);

}  // namespace linkcast::collective
