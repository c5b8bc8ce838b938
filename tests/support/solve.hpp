#pragma once
#include <string>

#include "sim/engine/solvers.hpp"

namespace linkcast::test {

inline Solution solve(const std::string& solver, const Problem& problem) { return make_solver(solver)->run(problem); }

}  // namespace linkcast::test
