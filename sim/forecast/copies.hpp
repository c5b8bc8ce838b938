#pragma once
// Answers about copies: one, several at once, and the ways there are between two devices. All of a machine: a node is a
// cluster of one, and of a cluster gpu0 is that of its first node.
#include "sim/engine/problem.hpp"
#include "sim/forecast/copy_forecast.hpp"

namespace linkcast::copy {

/// Of any request of copies: those that start together, or one of a queue of messages.
/// @throws InputError  no transport joins two ends, or none was measured
CopyForecast forecast_copies(const Cluster& machine, Solver& solver, const CopyRequest& request);

/// @throws InputError  as read_p2p(), forecast_copies()
/// @param progress  told of draws of noise. @param host  that issues the copies, if one was asked for
/// @param explain  with terms
Json p2p_answer(const Cluster& machine, Solver& solver, ObjectReader& r, log::Progress& progress,
                const std::optional<CopyHost>& host, bool explain);
Json flows_answer(const Cluster& machine, Solver& solver, ObjectReader& r, log::Progress& progress,
                  const std::optional<CopyHost>& host, bool explain);
/// In a node every way the runtime or a program could take; between nodes minimal ways and detours of the fabric, up to
/// `k` of each, each as if the message took it alone. Fastest first.
Json routes_answer(const Cluster& machine, Solver& solver, ObjectReader& r);

}  // namespace linkcast::copy
