#pragma once
// A job as Slurm's job_submit and prolog see it, and where to put it.
// source: Slurm, job_submit_plugins and slurm.conf(5), gres.conf(5): --gres=gpu:TYPE:NUMBER, tres_per_node
// "gres/gpu:TYPE:NUMBER"
#include "sim/placement/placement_memory.hpp"

namespace linkcast::placement {

/// @param job  {job_id?, num_tasks? or ntasks?, gres? or tres_per_node?, comment, nodes: [{name, platform, gpus_busy?,
///             with?}]}. comment says "linkcast:job=all_reduce:64MiB", among other words. GPUs per node from
///             tres_per_node or gres, else one a task.
/// @param name  stands for the file in errors
/// @returns  {job_id, node, gpus (in rank order), CUDA_VISIBLE_DEVICES, why, time_s,
///            nodes: [{node, time_s} or {node, refused}]}. Of nodes as fast as each other the one with the fewest free
///            GPUs, then the first.
/// @throws InputError  also if no node has so many GPUs free
Json place_slurm_job(catalogue::Catalogue& catalogue, const Json& job, const std::string& name,
                     PlacementMemory& memory);

}  // namespace linkcast::placement
