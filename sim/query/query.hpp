#pragma once
#include <functional>

#include "sim/catalogue/catalogue.hpp"
#include "sim/records/object_reader.hpp"

namespace linkcast::query {

/// Answers one query, the same for a batch line, the command line and a claim.
/// Keys of the query: id (any), platform, kind (p2p, flows, collective, rings, routes, show, fabric), solver?,
/// edits? [str] (what-if, sim/platform/edit.hpp), and per kind
///   p2p: src, dst, size_B, transport?, via?, bidirectional?, engine? (dma, sm),
///        direction? (read: the target pulls; write: the source pushes)
///   flows: flows [[src, dst, size_B], ...], transport?, engine?
///   collective: op, gpus [int], size_B, library?, protocol?, algorithm?, nvls?, calls?, alternatives?,
///        with? [{op, gpus, size_B, library?}]: other communicators that start at the same moment
///   p2p and collective between nodes (docs/noise.md): noise? (seed), samples?, service_level?; collective:
///        allocation? (packed, random), allocation_seed?, beside? [{op, nodes, service_level?}]
///   rings: gpus, library?          routes: src, dst, size_B?          show, fabric: nothing more
///   kinds of other rooms (sim/query/query_kind.hpp): replay: trace (application or file), options? {key: value},
///        placement? [int], ranks?, library?, local?; the result is that of sim/replay/replay_run.hpp, and
///        traffic (sums over ranks) {compute_s, communication_s, exposed_s, total_s, total_B, kinds [{name, calls,
///        size_B, time_s}]}
/// Keys of the result: id, kind, then
///   p2p: time_s, time_low_s, time_high_s, bandwidth_Bps (bidirectional: both directions added), latency_s,
///        transport, route, bottleneck, limited_by, warnings
///   flows: time_s (all done), time_low_s, time_high_s, flow_times_s, bandwidth_Bps (all bytes / time), bottleneck
///   collective: time_s .., algbw_Bps, busbw_Bps, algorithm, protocol, channels, channel_bandwidth_Bps, fallback;
///        of several: alone_s, slowdown, others [{op, gpus, size_B, library, time_s, alone_s}]
///   with noise, p2p and collective: time_s of the median draw, quiet_s, seed, samples, service_level,
///        percentiles {p5, p25, p50, p75, p95, p99}, mean_s, min_s, max_s; with beside: alone_s, slowdown, beside
///   rings: channels, path_class, library_channel_bandwidth_Bps, link_equivalents, blocks, fallback, why
///   routes: routes [{transport, via, time_s, bandwidth_Bps, latency_s, bottleneck, route}], fastest first
///   show: gpus, devices, cables, parameters, sources
///   fabric: endpoints, nodes, switches, diameter_links, classes, distances, bisection, expected
/// Sizes are bytes, times seconds, bandwidths bytes per second.
/// A query that cannot be answered gives {"id": ..., "error": "..."}.
Json answer(catalogue::Catalogue& catalogue, const Json& query);

/// The same, but throws. @param name  stands for the file in errors, e.g. "batch.jsonl line 3"
Json answer_or_throw(catalogue::Catalogue& catalogue, const Json& query, const std::string& name);

/// What the kind of a query adds to the answer. @param r  has had id, kind, platform, edits and solver read
using KindAnswer = std::function<Json(const std::string& platform_id, ObjectReader& r)>;
/// The same for one who answers the kind in a way of his own.
Json answer_or_throw(catalogue::Catalogue& catalogue, const Json& query, const std::string& name,
                     const KindAnswer& kind_answer);

}  // namespace linkcast::query
