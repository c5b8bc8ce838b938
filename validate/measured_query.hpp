#pragma once
// The question that a measured collective answers, and what a curve says of a measured message.
#include <functional>
#include <stdexcept>
#include <string>
#include <vector>

#include "sim/base/object_reader.hpp"
#include "sim/records/calibration.hpp"
#include "sim/records/measurement.hpp"

namespace linkcast::validate {

// Where the numbers of a claim come from: simulation, or measurements.

/// Answers a query of sim/query/query.hpp; tests put a fake here.
using Answer = std::function<Json(const Json& query)>;

/// A query that the simulation could not answer: the claim fails with this text.
struct SimulationError : std::runtime_error {
  using std::runtime_error::runtime_error;
};

/// Whether a query asks for a collective.
inline bool asks_collective(const Json& query) { return query.value("kind", "") == "collective"; }
/// Whether a query asks for a copy, or a message, that this carries.
inline bool asks_for(Carrier carrier, const Json& query) {
  return query.value("transport", "") == Spelled<Carrier>(carrier).name();
}
/// An Answer that looks p2p queries up in measurements instead of simulating: the same quantity, measured.
/// The median of every repetition of the points with the query's platform (the topology measured), src, dst, size_B,
/// transport, via and bidirectional. Queries of kind show go to `structure`; no other kind can be measured so.
/// A query without a matching point throws InputError: the row claims data that does not cover it.
Answer measured_answer(std::vector<Measurement> measurements, Answer structure);

/// Who issued the calls; empty: not known. linkcast-bench times the devices alone.
/// source: calibrate/bench/nccl_ops.cpp; the records' `clock` says so in words
std::string issuer_of(const Measurement& measurement, const MeasuredCollective& c);

/// @throws InputError  a forced number of channels, which is not predicted
Json collective_query(const std::string& platform_id, const Measurement& measurement, const MeasuredCollective& c);

/// Of a message between GPUs of one node: its size lies beyond the end of every curve of such messages, which is of
/// eager ones alone.
bool beyond_curve(const Calibration& calibration, const MeasuredPoint& point);

}  // namespace linkcast::validate
