#pragma once
// Which GPUs of which nodes are free, as Slurm says: what `scontrol show nodes --json` prints.
// source: the keys of Slurm's OpenAPI plug-ins 0.0.38 (22.05: `sinfo --json`, seen) and data parsers 0.0.39 to 0.0.43
// (23.02 to 25.05, by their published OpenAPI descriptions)
#include <string>
#include <vector>

#include "sim/records/object_reader.hpp"

namespace linkcast::placement {

struct SlurmNode {
  std::string name;
  std::string platform{};   ///< of a feature "linkcast=PLATFORM"; empty: there is none
  int gpus = 0;             ///< all of them
  std::vector<int> busy{};  ///< ascending; numbers as Slurm counts them
  std::string unusable{};   ///< why it takes no job now; empty: it does
};

struct SlurmNodes {
  std::vector<SlurmNode> nodes;
  std::vector<std::string> warnings;
};

/// @param name  stands for the file in errors
/// @throws InputError  another command's JSON, a version before 0.0.38, errors that Slurm reports in it, no nodes, GRES
///                     that cannot be read, GPUs in use without their numbers, a node twice
SlurmNodes read_slurm_nodes(const Json& printed, const std::string& name);

}  // namespace linkcast::placement
