#pragma once
// Terms of simulated copies and messages: how sure start-up, rate and scatter are, and what was assumed.
#include <set>
#include <string>
#include <vector>

#include "sim/forecast/terms.hpp"
#include "sim/plan/cluster_message.hpp"
#include "sim/plan/transfer.hpp"

namespace linkcast::uncertainty {

/// Adds how sure a planned copy is, and warns of parameters that stand in for unmeasured ones. Of several copies the
/// largest error of each kind counts.
void add_copy(const Platform& platform, const activities::PlannedTransfer& plan, double bytes, Terms& terms,
              std::set<std::string>& warnings);
void add_message(const Cluster& cluster, const activities::PlannedMessage& plan, double bytes, Terms& terms,
                 std::set<std::string>& warnings);
/// Adds how sure the rate of a constraint that limited a copy is. @param id  as the answer names it
/// @param limit  number of a constraint of the node
void add_limit(const Platform& node, int limit, const std::string& id, Terms& terms, std::set<std::string>& warnings);
/// Adds what a copy waits for those of its GPU in the other direction. @param own_rate  no link limited it
/// @returns  seconds
double add_waits(const Platform& platform, const activities::PlannedTransfer& plan, bool own_rate, Terms& terms);
/// Source of the rate of a constraint, by its key in the cluster.
std::string_view rate_source(const Cluster& cluster, int key);
/// Source of the start-up of messages of a size. @param transport  PlannedMessage::transport; assumed where it has no
/// curve on this machine
std::string_view message_source(const Platform& node, const std::string& transport, double bytes);
/// Source of scatter_of().
std::string_view scatter_source(const Calibration& calibration, const std::string& transport);
/// Adds what copies inside nodes at once do to each other beyond fair sharing, and says so where it is much.
void add_sharing(const std::vector<activities::Transfer>& transfers, Terms& terms, std::set<std::string>& warnings);
/// Warns of a size outside the calibrated range, where several sizes make one, and adds how sure the rate is there, in
/// the part of the time that grows with the size: the start-up's error is that of its parameter. A rate is never less
/// sure than where nothing was measured. @param latency_s  part of the time that passes before the first byte
void add_extrapolation(const Platform& platform, double size_B, double latency_s, Terms& terms,
                       std::set<std::string>& warnings);
/// All of a copy alone. @param builder, solution  its problem, of a solver that tells what limits
Terms terms_of_copy(const activities::ProblemBuilder& builder, const Solution& solution,
                    const activities::PlannedTransfer& plan, double bytes);

}  // namespace linkcast::uncertainty
