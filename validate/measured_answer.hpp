#pragma once
#include <string>
#include <vector>

#include "sim/records/measurement.hpp"
#include "validate/answer.hpp"

namespace linkcast::validate {

/// An Answer that looks p2p queries up in measurements instead of simulating: the same quantity, measured.
/// The median of every repetition of the points with the query's platform (the topology measured), src, dst, size_B,
/// transport, via and bidirectional. Queries of kind show go to `structure`; no other kind can be measured so.
/// A query without a matching point throws InputError: the row claims data that does not cover it.
Answer measured_answer(std::vector<Measurement> measurements, Answer structure);

}  // namespace linkcast::validate
