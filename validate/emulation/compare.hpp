#pragma once
// What real GPUs did in a study's topologies, against what was forecast.
#include <string>

#include "sim/base/object_reader.hpp"

namespace linkcast::emulation {

/// Reads study.json, forecast.json and results/ of a folder: records of linkcast-bench (measurement/1 whose method
/// names the case), logs of nccl-tests (<case>.<operation>[.<occasion>].log), and NCCL's graphs
/// (<case>[.<occasion>].graph.xml).
/// @returns  cases, each with rings and trees chosen against forecast and its times; operations, the errors from 1 MiB
///           on; graphs, how many were equal
/// @throws InputError  a file that cannot be read, or is of no case
Json compare_study(const std::string& folder);

}  // namespace linkcast::emulation
