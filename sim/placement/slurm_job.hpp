#pragma once
// A job as Slurm's job_submit and prolog see it, and where to put it.
// source: Slurm, job_submit_plugins and slurm.conf(5), gres.conf(5): --gres=gpu:TYPE:NUMBER, tres_per_node
// "gres/gpu:TYPE:NUMBER"
#include "sim/placement/best_node.hpp"

namespace linkcast::placement {

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
