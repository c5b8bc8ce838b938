#pragma once
// Answers about copies: one, several at once, and the ways there are between two GPUs.
#include <string>

#include "sim/engine/problem.hpp"
#include "sim/platform/platform.hpp"
#include "sim/records/object_reader.hpp"

namespace linkcast::copy {

Json p2p_answer(const Platform& platform, Solver& solver, ObjectReader& r);
Json flows_answer(const Platform& platform, Solver& solver, ObjectReader& r);
/// Every way the runtime or a program could take between two GPUs, fastest first.
Json routes_answer(const Platform& platform, Solver& solver, ObjectReader& r);

}  // namespace linkcast::copy
