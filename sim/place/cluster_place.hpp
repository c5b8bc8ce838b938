#pragma once
// Where to put a job on a cluster: whole nodes, as near to each other and as far from their neighbours' traffic as
// pays.
#include "sim/base/object_reader.hpp"
#include "sim/machine/catalogue.hpp"

namespace linkcast::placement {

/// Keys nodes (of the machine: the first ones of its fabric) or groups (node-groups/1: its nodes by name, laid onto the
/// fabric as NamedNodes does; nodes are then named everywhere), job (a collective), ranks, gpus_per_node? (all), busy?
/// [node numbers or "node3"], with? [{job, nodes}] (calls without a pause; their nodes are busy), objective?, top?,
/// library?.
/// @returns  of the best: nodes in rank order, time_s, time_low_s, time_high_s, alone_s, rule (what it was built by),
/// why;
///           bound_s: bytes over rate of what every placement crosses, gap: time over it, less 1; placements: the `top`
///           best that were forecast [{nodes, rule, time_s, regret, groups: how many of each level}]; first_free,
///           names beside nodes and switches [{name, nodes}] with groups;
///           neighbours [{job, nodes, before_s, time_s, slowdown}], search {exact, forecasts}, warnings
/// @throws InputError
Json place_on_nodes(catalogue::Catalogue& catalogue, const catalogue::MachinePtr& machine, ObjectReader& r);

}  // namespace linkcast::placement
