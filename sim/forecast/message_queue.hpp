#pragma once
// What a NIC whose engine is known does with a queue of equal messages: one behind the other, each stage takes the next
// as soon as it is free. Reads by the card alone, loop-back on one card, and messages between two nodes. And what a
// queue inside a node takes: processes post the messages one behind the other, as windows of osu_bw do.
#include "sim/forecast/copy_forecast.hpp"

namespace linkcast::copy {

/// One of many equal messages, sent one behind the other.
/// @param request  of one message, timing back_to_back
/// @throws InputError  nothing is known of the NIC's engine, or no such message was measured
CopyForecast forecast_queue(const Cluster& machine, Solver& solver, const CopyRequest& request);

/// True of messages one behind the other whose ends are in one node, but for those that a NIC sends.
bool is_window_in_node(const CopyRequest& request);

/// One of many equal messages; with two copies in the request, of both directions at once.
/// Those that a GPU copies overlap but for what the process posts and issues, and the copies follow each other as in
/// `predict p2p --timing back_to_back`. Those that processes move themselves overlap in nothing but what posts them.
/// @throws InputError  both directions at once of bytes that processes move
CopyForecast forecast_window(const Cluster& machine, Solver& solver, const CopyRequest& request);

}  // namespace linkcast::copy
