#pragma once
// Rows that several kinds have.
#include "sim/query/key.hpp"

namespace linkcast::query {

/// noise, samples, service_level: the traffic that a message or an operation between nodes meets.
const KeyTable& noise_keys();
/// allocation, allocation_seed, beside: other jobs on the same fabric.
const KeyTable& job_keys();
/// What the answer says of noise.
const KeyTable& noise_results();
/// time_s, time_low_s, time_high_s
const KeyTable& interval_results();
/// gpus, or nodes and gpus_per_node.
const KeyTable& member_keys();
/// library
Key library_key();
/// bottleneck
const Key& bottleneck_result();

}  // namespace linkcast::query
