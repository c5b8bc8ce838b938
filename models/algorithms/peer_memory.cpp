#include "models/algorithms/peer_memory.hpp"

#include <algorithm>
#include <cmath>

#include "sim/plan/mpi_costs.hpp"

namespace linkcast {

using collective::CollectiveCost;
using collective::CollectiveJob;
using collective::CollectivePlan;
using collective::CostRequest;
using collective::Figure;
using uncertainty::Term;

namespace {

// Loads of 16 bytes that all threads have in flight at once come back after this time. source: linkcast-bench's loads
// from a peer, one after the other, on H200: 0.86 us (calibrate/data/hgx-h200/20261121a-remote_load.json), and more of
// them queue
constexpr LibraryRow kLoad{{.what = "load_s",
                            .unit = "s",
                            .meaning = "engines: time of a load from a peer among all that a grid has in flight",
                            .subject = "peer",
                            .prior = Prior{1e-6, 0.3}}};  // source: as above
// Copies inside a GPU were measured. source: assumed
constexpr double kCopySpread = 0.1;

std::string parameters_of(const Communicator& communicator) {
  return communicator.caller.empty() ? communicator.library : "custom-" + communicator.caller;
}

double local_copy_s(const Platform& node, double bytes) {
  const TransportModel& local = node.transports().get("local");
  if (!node.transports().measured("local")) return activities::own_copy_s(node, bytes);
  const Pace pace = local.pace(bytes, std::numeric_limits<double>::infinity());
  return pace.delay_s + (std::isinf(pace.cap_Bps) ? 0 : bytes / pace.cap_Bps);
}

void set_links(const CostRequest& request, const PeerRows& rows, CollectiveCost& cost) {
  const LibraryParameters known = request.platform.library_parameters();
  const std::string library = parameters_of(request.communicator);
  const Learned share = learned(known, library, rows.link_share), crowding = learned(known, library, rows.crowding);
  const double others = crowding.value * (request.communicator.ranks() - 2);
  cost.link_share = std::min(1.0, share.value / (1 + others));
  cost.set(Figure::kLinks,
           {collective::term_of(uncertainty::term::kSerialisation, share, rows.link_share),
            collective::term_of(uncertainty::term::kContention, crowding, rows.crowding, -others / (1 + others))});
}

}  // namespace

const ParameterRow& peer_load() { return kLoad; }

double local_copy_Bps(const Platform& node) {
  constexpr double kLarge_B = 1073741824;
  return kLarge_B / local_copy_s(node, kLarge_B);
}

void exchange_with_all(const CollectiveJob& job, double bytes, activities::ClusterProblem& problem,
                       CollectivePlan& plan) {
  plan.busiest_B = bytes;
  const activities::ChannelLoad load{bytes, plan.cost.link_share, plan.cost.channel_Bps};
  for (const int from : job.communicator.gpus)
    for (const int to : job.communicator.gpus)
      if (from != to) collective::add_in_node(problem, plan, {{from, to, HopKind::kPeer}}, load);
}

const PeerKernel& PeerMemory::kernel(const std::string& protocol) const {
  for (const PeerKernel& one : kernels_)
    if (one.protocol == protocol) return one;
  throw InvariantError("no kernel over peer memory: " + protocol);
}

std::string PeerMemory::refusal(int nodes, bool /*collnet*/) const {
  return nodes == 1 ? "" : "is of engines' kernels over the memory of peers, and all ranks are in one node then";
}

CollectiveCost PeerMemory::cost(const CostRequest& request) const {
  const PeerKernel& kernel = this->kernel(request.protocol);
  const LibraryParameters known = request.platform.library_parameters();
  const std::string library = parameters_of(request.communicator);
  const Learned base = learned(known, library, kernel.rows->base), rank = learned(known, library, kernel.rows->rank);
  CollectiveCost cost;
  cost.base_s = base.value;
  cost.set(Figure::kBase, {collective::term_of(uncertainty::term::kBase, base, kernel.rows->base)});
  cost.hop_s = rank.value;
  cost.set(Figure::kHop, {collective::term_of(uncertainty::term::kHops, rank, kernel.rows->rank)});
  set_links(request, *kernel.rows, cost);
  if (kernel.loads && request.in_flight_B > 0) {
    const Learned load = learned(known, library, kLoad);
    cost.channel_Bps = request.in_flight_B / load.value;
    cost.set(Figure::kBlock, {collective::term_of(uncertainty::term::kSerialisation, load, kLoad, -1)});
  }
  collective::wait_for_slowest(request, cost);
  return cost;
}

void PeerMemory::plan(const CollectiveJob& job, activities::ClusterProblem& problem, CollectivePlan& plan) const {
  const PeerKernel& kernel = this->kernel(plan.choice.protocol);
  CollectiveJob as_tabled = job;  // figures of its kernels are of CUDA graphs, which save nothing more
  as_tabled.launching.kind = launch::Kind::kQueue;
  collective::add_latency(as_tabled, {{job.ranks() - 2.0, 0, 0}, 0}, plan);
  plan.steps = 1;
  const int copies = job.launching.by_host() ? std::max(kernel.copies, kernel.eager_copies) : kernel.copies;
  const double inside_s = copies * local_copy_s(job.node(), job.size_B) + spilled_s(job, kernel);
  plan.latency_s += inside_s;
  plan.latency_terms.push_back(
      {uncertainty::term::kStaging, inside_s, ErrorPart(kCopySpread * inside_s), uncertainty::kAssumed});
  move(job, problem, plan);
}

std::vector<std::vector<int>> PeerMemory::orders(const Communicator& communicator) const { return {communicator.gpus}; }

std::vector<const ParameterRow*> PeerMemory::parameters() const {
  std::vector<const ParameterRow*> rows;
  for (const PeerKernel& one : kernels_)
    for (const ParameterRow* row : one.rows->all()) rows.push_back(row);
  return rows;
}

}  // namespace linkcast
