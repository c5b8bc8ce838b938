#pragma once
// Steps of a recording that nothing marks, by repetition of its work.
#include <string>
#include <vector>

#include "apps-traces/import/kineto_file.hpp"

namespace linkcast::kineto {

/// Numbers the steps of recordings without marks by the sequence of kernels, copies and collectives that repeats, and
/// leaves out what belongs to no whole step. Layers repeat inside a step: only a sequence that encloses others, and
/// repeats to the end, is a step. Recordings with marks stay as they are.
/// @param ranks  of one job. @param steps  that were given as an option; 0: as they are found
/// @returns  what was found or assumed, for people; empty: marks say it
/// @throws InputError  steps that are given, and marked or not there
std::string number_repeated_steps(std::vector<RankRecording>& ranks, int steps);

}  // namespace linkcast::kineto
