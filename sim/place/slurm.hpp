#pragma once
// Slurm's formats: which GPUs of which nodes are free, and a job as job_submit and prolog see it.
// source for nodes: `scontrol show nodes --json`, the keys of Slurm's OpenAPI plug-ins 0.0.38 (22.05: `sinfo --json`,
// seen) and data parsers 0.0.39 to 0.0.43 (23.02 to 25.05, by their published OpenAPI descriptions); for jobs:
// job_submit_plugins and slurm.conf(5), gres.conf(5): --gres=gpu:TYPE:NUMBER, tres_per_node "gres/gpu:TYPE:NUMBER"
#include <string>
#include <vector>

#include "sim/place/best_node.hpp"

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

/// A node as Slurm says it is. @param platform  of nodes without a feature that says theirs; empty: they are refused.
/// @param machine  that platform, edits included; null where `platform` is empty
NodeCandidate candidate_of(catalogue::Catalogue& catalogue, const SlurmNode& node, const std::string& platform,
                           const catalogue::MachinePtr& machine);

struct SlurmJob {
  std::string name;  ///< stands for the file in errors
  Json id;
  Json query;  ///< keys job, ranks, top, library?, objective?
  std::vector<NodeCandidate> candidates;
};

/// @param job  {job_id?, num_tasks? or ntasks?, gres? or tres_per_node?, comment, nodes?: [{name, platform, gpus_busy?,
///             with?}] or [name] or
///             "n[1-4]"}. comment says "linkcast:job=all_reduce:64MiB", among other words. GPUs per node from
///             tres_per_node or gres, else one a task.
/// @param known  nodes that the job only names, or does not list
/// @throws InputError
SlurmJob read_slurm_job(const Json& job, const std::string& name, const std::vector<NodeCandidate>& known = {});

/// @returns  {job_id, node, gpus (in rank order), CUDA_VISIBLE_DEVICES, why, time_s,
///            nodes: [{node, time_s} or {node, refused}]}, as best_node()
/// @throws InputError, NoRoom
Json place_slurm_job(catalogue::Catalogue& catalogue, const SlurmJob& job, PlacementMemory& memory);

}  // namespace linkcast::placement
