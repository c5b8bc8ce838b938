#pragma once
// What a NIC whose engine is known does with a queue of equal messages: one behind the other, each stage takes the next
// as soon as it is free. Reads by the card alone, loop-back on one card, and messages between two nodes.
#include "sim/activities/cluster_message.hpp"
#include "sim/engine/problem.hpp"
#include "sim/platform/cluster.hpp"
#include "sim/records/object_reader.hpp"

namespace linkcast::copy {

/// True if the query's `dst` or `via` is a NIC of the platform.
bool names_nic(const Platform& platform, const Json& query);

/// src to dst nic: what the card reads, thrown away inside it. src to the same memory via nic: out and in by one card.
/// @throws InputError  nothing is known of the NIC's engine
Json nic_p2p_answer(const Cluster& cluster, Solver& solver, ObjectReader& r);

/// One of many equal messages between two nodes, sent one behind the other.
/// @throws InputError  nothing is known of the NIC's engine
Json message_queue_answer(const Cluster& cluster, Solver& solver, const activities::Message& message);

}  // namespace linkcast::copy
