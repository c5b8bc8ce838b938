#include "sim/forecast/copy_terms.hpp"

#include <algorithm>
#include <cmath>
#include <map>

#include "sim/base/index.hpp"
#include "sim/plan/host_memory.hpp"
#include "sim/plan/wire_bound.hpp"

namespace linkcast::uncertainty {
namespace {

// Copies that share nothing but a GPU, or share a link fairly. source: 4 H200, 2026-11-21a, patterns of
// calibrate/data/hgx-h200: each way of a pair loses 1.2 % to the other way, and nothing in the model says so
constexpr double kSharing = 0.015;
// Kernels of GPUs that send to several and receive from several others at once. source: the same data, ring_both and
// all_to_all by kernels took 1.1 to 1.7 times as long as max-min fair shares say
constexpr double kMixing = 0.25;

// The curve of a message was measured between two nodes next to each other; other pairs of the same distance scatter.
// source: paper 002 (SC24), section V-B1: 3.7 to 5.7 us under one switch on the same system
constexpr double kPairError = 0.1;
// Error of a start-up that stands in. source: as kStandInError of transfer.cpp
constexpr double kMessageStandInError = 0.3;

// Start-up of host copies to the memory of the other socket, where fits see those to the own one alone: standard
// deviation of ln. source: Summit (calibrate/data/summit/memcpy.json), 216 points: 9 to 16 % longer, 1.6 of these
constexpr double kFarStart = 0.09;

bool to_other_socket(const Platform& platform, const activities::PlannedTransfer& plan) {
  return plan.transport == "host" && std::any_of(plan.links.begin(), plan.links.end(), [&](int link) {
           return is_socket_cable(platform.topology().cables[at(platform.constraints()[at(link)].cable)].kind);
         });
}

/// Where the scatter of a copy stands: apart for both directions at once, where such copies were measured.
std::string scatter_row(const Calibration& calibration, const activities::PlannedTransfer& plan, double bytes) {
  if (!plan.bidirectional) return plan.model;
  const bool up = plan.model.rfind("d2h", 0) == 0;
  const std::string row = (up ? "h2d" + plan.model.substr(3) : plan.model) + kBidirectionalRow;
  return scatter_of_kind(calibration, row, bytes) != nullptr ? row : plan.model;
}

}  // namespace

void add_copy(const Platform& platform, const activities::PlannedTransfer& plan, double bytes, Terms& terms,
              std::set<std::string>& warnings) {
  for (const Resolved& used : plan.used)
    if (!used.calibrated)
      warnings.insert(platform.calibration().find(used.name)
                          ? "start-up of " + plan.model + " copies was not measured: " + used.name + " stands in"
                          : "parameter " + used.name + " was not measured on this machine: an assumption stands in");
  if (plan.transport == "host" && activities::to_far_memory(platform, plan.links)) {
    const double flowing = std::max(0.0, 1 - plan.latency_s / terms.device_s());  // the start-up is that of any copy
    terms.add_once(term::kMisfit, activities::kFarMemorySpread * flowing, kAssumed);
    warnings.insert("copies to the memory of the other socket were not measured on " + platform.topology().name +
                    ": assumed to take twice as long as to its own");
  }
  if (plan.transport == "staged" && plan.chosen)
    warnings.insert("staged copies are moved by the runtime: engine and direction have no effect on them");
  const Calibration& calibration = platform.calibration();
  const std::string row = scatter_row(calibration, plan, bytes);
  terms.add_largest(term::kMisfit, scatter_of(calibration, row, bytes), scatter_source(calibration, row));
  const std::string_view source = plan.used.empty() ? kAssumed : source_of(calibration, plan.used.front());
  terms.add_largest(term::kSerialisation, plan.rate_error_s / terms.device_s(), source);  // until a link limits it
  const double far_s = to_other_socket(platform, plan) ? kFarStart * plan.latency_s : 0;
  terms.add_largest(term::kBase, std::hypot(plan.delay_error_s, far_s) / terms.device_s(), source);
}

void add_message(const Cluster& cluster, const activities::PlannedMessage& plan, double bytes, Terms& terms,
                 std::set<std::string>& warnings) {
  const Platform& node = cluster.node();
  const std::string_view source = plan.stand_in ? kOtherMachines : message_source(node, plan.transport, bytes);
  terms.add_largest(term::kMisfit, scatter_of(node.calibration(), plan.transport, bytes),
                    scatter_source(node.calibration(), plan.transport));
  terms.add_largest(term::kSerialisation, plan.rate_error, source);
  terms.add_largest(term::kBase, plan.delay_error_s / terms.device_s(), source);
  if (!plan.distance.empty()) terms.add_largest(term::kDistance, kPairError, kAssumed);
  if (!plan.warning.empty()) warnings.insert(plan.warning);
  if (!plan.stand_in) return;
  terms.add_once(term::kMisfit, kMessageStandInError, kOtherMachines);
  warnings.insert("no message inside a node of " + node.topology().name +
                  " of this size was measured: what its steps take on other machines and the rates of links stand in");
}

void add_limit(const Platform& node, int limit, const std::string& id, Terms& terms, std::set<std::string>& warnings) {
  const Resolved& rate = node.constraints()[at(limit)].capacity;
  terms.add_largest(term::kSerialisation, rate.rel_error, source_of(node.calibration(), rate, kNominal));
  if (!rate.calibrated) warnings.insert("the rate of " + id + " is nominal, not calibrated");
}

double add_waits(const Platform& platform, const activities::PlannedTransfer& plan, bool own_rate, Terms& terms) {
  const double waits_s = plan.wait.value * (plan.waits + (own_rate ? plan.chunk_waits : 0));
  if (waits_s > 0)
    terms.add_largest(term::kContention, plan.wait.rel_error * waits_s / terms.device_s(),
                      source_of(platform.calibration(), plan.wait));
  return waits_s;
}

std::string_view rate_source(const Cluster& cluster, int key) {
  const Platform& node = cluster.node();
  const int of_nodes = cluster.nodes() * static_cast<int>(node.constraints().size());
  if (key < of_nodes)
    return source_of(node.calibration(), node.constraints()[at(key) % node.constraints().size()].capacity, kNominal);
  if (!cluster.calibrated(key)) return kNominal;
  for (const std::string& name : Transports::message_names())
    if (Transports::crosses_network(name) && node.transports().message(name) != nullptr)
      return message_source(node, name, 1);
  return kMeasured;
}

std::string_view message_source(const Platform& node, const std::string& transport, double bytes) {
  const TransportModel* curve = node.transports().message(transport);
  return curve == nullptr ? kAssumed : source_of(node.calibration(), curve->regime(bytes).startup);
}

std::string_view scatter_source(const Calibration& calibration, const std::string& transport) {
  return scatter_of_kind(calibration, transport, 0) != nullptr ? kScatter : kAssumed;
}

Terms terms_of_copy(const activities::ProblemBuilder& builder, const Solution& solution,
                    const activities::PlannedTransfer& plan, double bytes) {
  const Platform& platform = builder.platform();
  Terms terms(platform.calibration(), solution.makespan_s);
  std::set<std::string> warnings;
  add_copy(platform, plan, bytes, terms, warnings);
  int limit = solution.limited_by[at(plan.main_activity)];
  if (limit == kOwnCap) limit = plan.cap_link;
  if (limit >= 0) add_limit(platform, limit, "", terms, warnings);
  add_extrapolation(platform, bytes, plan.latency_s, terms, warnings);
  terms.bound(activities::wire_bound_s(platform, builder.problem()));
  return terms;
}

void add_sharing(const std::vector<activities::Transfer>& transfers, Terms& terms, std::set<std::string>& warnings) {
  if (transfers.size() < 2) return;
  terms.add(term::kContention, kSharing, kScatter);
  std::map<int, std::set<int>> targets, sources;
  for (const activities::Transfer& t : transfers) {
    if (t.by != activities::MoveBy::kSm || t.source == t.target) continue;
    targets[t.source].insert(t.target);
    sources[t.target].insert(t.source);
  }
  for (const auto& [gpu, out] : targets) {
    if (out.size() < 2 || sources[gpu].size() < 2) continue;
    terms.add(term::kContention, kMixing);
    warnings.insert(
        "kernels of one GPU exchange with several others at once: such traffic took 1.1 to 1.7 times as long as "
        "fair sharing says on the machine where it was measured");
    return;
  }
}

void add_extrapolation(const Platform& platform, double size_B, double latency_s, Terms& terms,
                       std::set<std::string>& warnings) {
  const Calibration& calibration = platform.calibration();
  if (size_B <= calibration.valid_to_B && size_B >= calibration.valid_from_B) return;
  const bool above = size_B > calibration.valid_to_B;
  if (calibration.valid_from_B < calibration.valid_to_B)  // one size is no range
    warnings.insert("size is " + std::string(above ? "above" : "below") + " the calibrated range " +
                    to_text(Bytes{calibration.valid_from_B}) + " to " + to_text(Bytes{calibration.valid_to_B}) +
                    ": extrapolated");
  const double some_B = std::max(1.0, size_B);  // nothing is as far away as one byte
  const double doublings = std::abs(std::log2(some_B / (above ? calibration.valid_to_B : calibration.valid_from_B)));
  const double time_s = terms.device_s(), grows = time_s > 0 ? std::max(0.0, 1 - latency_s / time_s) : 0;
  terms.add(term::kMisfit, grows * scatter_beyond_sizes(calibration, doublings));
}

}  // namespace linkcast::uncertainty
