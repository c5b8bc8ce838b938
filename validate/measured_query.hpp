#pragma once
// The question that a measured collective answers, and what a curve says of a measured message.
#include <string>

#include "sim/records/calibration.hpp"
#include "sim/records/measurement.hpp"

namespace linkcast::validate {

/// Who issued the calls; empty: not known. linkcast-bench times the devices alone.
/// source: calibrate/bench/nccl_ops.cpp; the records' `clock` says so in words
std::string issuer_of(const Measurement& measurement, const MeasuredCollective& c);

/// @throws InputError  a forced number of channels, which is not predicted
Json collective_query(const std::string& platform_id, const Measurement& measurement, const MeasuredCollective& c);

/// Of a message between GPUs of one node: its size lies beyond the end of every curve of such messages, which is of
/// eager ones alone.
bool beyond_curve(const Calibration& calibration, const MeasuredPoint& point);

}  // namespace linkcast::validate
