#pragma once
// What a NIC whose engine is known does with a queue of equal messages: one behind the other, each stage takes the next
// as soon as it is free. Reads by the card alone, loop-back on one card, and messages between two nodes.
#include "sim/forecast/copy_forecast.hpp"

namespace linkcast::copy {

/// One of many equal messages, sent one behind the other.
/// @param request  of one message, timing back_to_back
/// @throws InputError  nothing is known of the NIC's engine, or no such message was measured
CopyForecast forecast_queue(const Cluster& machine, Solver& solver, const CopyRequest& request);

}  // namespace linkcast::copy
