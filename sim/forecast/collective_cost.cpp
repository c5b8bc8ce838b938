#include "sim/forecast/collective_cost.hpp"

#include <algorithm>
#include <cmath>
#include <map>

#include "sim/base/index.hpp"
#include "sim/records/calibration.hpp"

namespace linkcast::collective {

namespace term = uncertainty::term;

namespace {

// Two blocks together move no less than one of them alone, and so on: at most as many times slower as there are.
constexpr double kMostCrowding = 1;  // source: counted, 1 + crowding = 2 for two blocks

/// Of the nodes beyond two.
double doublings_of(const Communicator& communicator) { return std::log2(communicator.nodes) - 1; }

/// Most thread blocks whose lines one GPU's proxy sends.
int blocks_of_proxy(const Communicator& communicator, int blocks) {
  std::map<int, int> by_gpu;
  int most = 1;
  for (int block = 0; block < blocks; ++block) {
    const Channel& ring = communicator.channels[at(block) % communicator.channels.size()];
    const int gpu = ring.out.handover ? ring.out.handover->to : ring.order.back();
    most = std::max(most, ++by_gpu[gpu]);
  }
  return most;
}

}  // namespace

double slowest_member(const Platform& platform, const Communicator& communicator) {
  double most = 1;
  for (const int gpu : communicator.gpus)
    most = std::max(most, platform.topology().devices[at(platform.gpu(gpu))].slow);
  return most;
}

double mean_slowness(const Platform& platform, const Communicator& communicator) {
  double sum = 0;
  for (const int gpu : communicator.gpus) sum += platform.topology().devices[at(platform.gpu(gpu))].slow;
  return sum / static_cast<double>(communicator.gpus.size());
}

void slow_down(CollectiveCost& cost, double slow, double hops) {
  cost.base_s *= slow;
  cost.hop_s *= hops;
  cost.copy_s *= hops;
  cost.reduce_s *= hops;
  cost.read_s *= hops;
  cost.channel_Bps /= slow;
}

void wait_for_slowest(const CostRequest& request, CollectiveCost& cost) {
  const double slow = slowest_member(request.platform, request.communicator);
  slow_down(cost, slow, slow);
}

void set_latency(const CostRequest& request, CollectiveCost& cost) {
  const auto of = [&](const LibraryRow& row, Seconds table) {
    return learned(request.platform.library_parameters(), request.communicator.library, row, {table.si, kTableSpread});
  };
  const Learned base = of(key::ring_base[request.protocol], request.library.base_latency(request.protocol));
  const Learned hop = of(key::ring_hop[request.protocol],
                         request.library.hop_latency(request.protocol, request.communicator.path_class));
  cost.base_s = base.value;
  cost.set(Figure::kBase, {{term::kBase, 0, ErrorPart(base), uncertainty::source_of(base, uncertainty::kTable),
                            &key::ring_base[request.protocol]}});
  cost.hop_s = hop.value;
  cost.set(Figure::kHop, {{term::kHops, 0, ErrorPart(hop), uncertainty::source_of(hop, uncertainty::kTable),
                           &key::ring_hop[request.protocol]}});
}

void set_step_costs(const CostRequest& request, CollectiveCost& cost) {
  if (request.library.keeps_step()) return;
  const auto set = [&](Figure figure, std::string_view label, const LibraryRow& row) {
    const Learned value = learned(request.platform.library_parameters(), request.communicator.library, row);
    cost.set(figure, {term_of(label, value, row)});
    return value.value;
  };
  cost.copy_s = set(Figure::kCopy, term::kHops, key::ring_copy[request.protocol]);
  cost.reduce_s = set(Figure::kReduce, term::kHops, key::ring_reduce[request.protocol]);
  cost.read_s = set(Figure::kRead, term::kHops, key::ring_read[request.protocol]);
  cost.copy_steps = set(Figure::kCopySteps, term::kSerialisation, key::ring_copy_steps[request.protocol]);
  cost.reduce_steps = set(Figure::kReduceSteps, term::kSerialisation, key::ring_reduce_steps[request.protocol]);
  cost.read_steps = set(Figure::kReadSteps, term::kSerialisation, key::ring_read_steps[request.protocol]);
}

void set_block_rate(const CostRequest& request, CollectiveCost& cost) {
  const Communicator& communicator = request.communicator;
  const LibraryParameters known = request.platform.library_parameters();
  const LibraryRow& channel = key::ring_channel[request.protocol];
  const Prior inside =
      request.library.block_rate(request.platform, communicator, request.protocol).value_or(*channel.prior);
  const Learned rate = learned(known, communicator.library, channel, inside);
  const Learned crowding = learned(known, communicator.library, key::ring_crowding[request.protocol]);
  const double others = std::min(crowding.value, kMostCrowding) * std::sqrt(std::max(0, request.blocks - 1));
  cost.channel_Bps = rate.value / (1 + others);
  cost.set(Figure::kBlock,
           {term_of(term::kSerialisation, rate, channel),
            term_of(term::kContention, crowding, key::ring_crowding[request.protocol], -others / (1 + others))});
  if (const auto prior = request.library.host_wait(); prior && communicator.fallback) {
    const Learned wait = learned(known, communicator.library, key::ring_host_wait[request.protocol], *prior);
    cost.host_wait = wait.value;
    // Two routes of one rate attain 1 / (1 + wait) of it.
    cost.add(Figure::kBlock,
             term_of(term::kHostPath, wait, key::ring_host_wait[request.protocol], -wait.value / (1 + wait.value)));
  }
}

void set_network_rate(const CostRequest& request, CollectiveCost& cost) {
  const Communicator& communicator = request.communicator;
  if (communicator.nodes == 1) return;
  const bool proxy = request.protocol == "LL";
  const LibraryRow& row = proxy ? key::network_proxy : key::network_channel;
  // source: 3.1 GB/s on two SummitDev nodes with NCCL 2.0 (calibrate/data/summitdev), whose NICs carry 25
  constexpr double kEarlySpread = 1;
  const Prior prior{row.prior->value, request.library.keeps_step() ? kEarlySpread : row.prior->spread};
  const Learned network = learned(request.platform.library_parameters(), communicator.library, row, prior);
  constexpr double kLines = 120.0 / 128;  // source: LL128 has 8 bytes of flag in each line of 128
  cost.network_Bps = proxy                         ? network.value / blocks_of_proxy(communicator, request.blocks)
                     : request.protocol == "LL128" ? network.value * kLines
                                                   : network.value;
  cost.set(Figure::kNetwork, {term_of(term::kSerialisation, network, row)});
}

void set_growth(const CostRequest& request, CollectiveCost& cost) {
  const Communicator& communicator = request.communicator;
  const Learned growth = learned(request.platform.library_parameters(), communicator.library, key::network_growth);
  const double doublings = doublings_of(communicator);
  cost.growth = std::pow(1 + growth.value, doublings);
  cost.set(Figure::kGrowth,
           {term_of(term::kContention, growth, key::network_growth, doublings * growth.value / (1 + growth.value))});
}

void set_rates(const CostRequest& request, CollectiveCost& cost) {
  set_block_rate(request, cost);
  if (request.communicator.nodes == 1) return;
  set_network_rate(request, cost);
  set_growth(request, cost);
  const Learned hop =
      learned(request.platform.library_parameters(), request.communicator.library, key::network_hop[request.protocol]);
  const Learned growth =
      learned(request.platform.library_parameters(), request.communicator.library, key::network_hop_growth);
  cost.network_hop_s = hop.value * (1 + growth.value * doublings_of(request.communicator));
  cost.set(Figure::kNetworkHop, {{term::kHops, 0, ErrorPart(hop), uncertainty::source_of(hop, uncertainty::kTable),
                                  &key::network_hop[request.protocol]}});
}

std::vector<const ParameterRow*> LatencyRows::own() const {
  std::vector<const ParameterRow*> rows;
  for (const LibraryRow* row : {&base, &hop, &network_hop, &rank})
    if (row->subject == hop.subject) rows.push_back(row);
  return rows;
}

/// The errors of the parts are taken as independent.
void set_table_latency(const CostRequest& request, const std::string& algorithm, const LatencyRows& rows,
                       CollectiveCost& cost) {
  const AlgorithmLatency table = request.library.algorithm_latency(request.communicator, algorithm);
  double sum = 0, error = 0;
  std::string_view inside = uncertainty::kMeasured, between = uncertainty::kMeasured;
  const auto add = [&](const LibraryRow& row, double each_s, double count, std::string_view& source) {
    if (each_s * count <= 0) return;
    const Learned part =
        learned(request.platform.library_parameters(), request.communicator.library, row, {each_s, kTableSpread});
    sum += part.value * count;
    error = std::hypot(error, part.spread * part.value * count);
    const std::string_view own = uncertainty::source_of(part, uncertainty::kTable);  // the least sure of all counts
    if (own == uncertainty::kTable || (source != uncertainty::kTable && !part.provenance.starts_with("fitted")))
      source = own;
  };
  add(rows.base, table.base_s, 1, inside);
  add(rows.hop, table.inside.each_s, table.inside.count, inside);
  add(rows.network_hop, table.between.each_s, table.between.count, between);
  add(rows.rank, table.ranks.each_s, table.ranks.count, inside);
  cost.base_s = sum;
  cost.set(Figure::kBase, {{term::kBase, 0, ErrorPart(sum > 0 ? error / sum : 0), inside}});
  cost.set(Figure::kNetworkHop, {{term::kHops, 0, {}, between}});
}

double tail_share(const Platform& platform, const Communicator& communicator, const std::string& protocol,
                  const CollectiveTraits& traits, int steps) {
  if (!traits.reduces || traits.gathers || traits.root || steps <= 0) return 1;
  const Learned tail = learned(platform.library_parameters(), communicator.library, key::ring_tail[protocol]);
  return steps / (steps + tail.value);
}

uncertainty::Term term_of(std::string_view label, const Learned& value, const ParameterRow& row, double factor) {
  return {label, 0, ErrorPart(value).times(factor), uncertainty::source_of(value, uncertainty::kAssumed), &row};
}

void CollectiveCost::set(Figure of, const std::vector<uncertainty::Term>& terms) {
  std::erase_if(terms_, [of](const auto& one) { return one.first == of; });
  for (const uncertainty::Term& one : terms) add(of, one);
}

std::vector<uncertainty::Term> CollectiveCost::terms(Figure of) const {
  std::vector<uncertainty::Term> found;
  for (const auto& [figure, one] : terms_)
    if (figure == of) found.push_back(one);
  return found;
}

uncertainty::Term CollectiveCost::term(Figure of) const {
  for (const auto& [figure, one] : terms_)
    if (figure == of) return one;
  return {};
}

bool CollectiveCost::measured(Figure of) const {
  bool any = false;
  for (const auto& [figure, one] : terms_) {
    if (figure != of && !(of == Figure::kBase && figure == Figure::kHop)) continue;
    if (!uncertainty::from_data(one.source)) return false;
    any = any || figure == of;
  }
  return any;
}

std::vector<uncertainty::Term> CollectiveCost::latency_terms(const Hops& hops) const {
  const auto part = [&](Figure of, std::string_view label, double seconds, double whole_s) {
    uncertainty::Term one = term(of);
    one.label = label;
    one.seconds = seconds;
    one.spread = one.spread.times(whole_s);
    return one;
  };
  const double inside_s = hops.inside * hop_s, storing_s = hops.storing * copy_s, adding_s = hops.adding * reduce_s,
               reading_s = hops.reading * read_s, between_s = hops.between * network_hop_s;
  std::vector<uncertainty::Term> parts = {part(Figure::kBase, term::kBase, base_s, base_s),
                                          part(Figure::kHop, term::kHops, inside_s, inside_s),
                                          part(Figure::kSteps, term::kHops, 0, base_s + inside_s)};
  if (adding_s > 0) parts.push_back(part(Figure::kReduce, term::kHops, adding_s, adding_s));
  if (storing_s > 0) parts.push_back(part(Figure::kCopy, term::kHops, storing_s, storing_s));
  if (reading_s > 0) parts.push_back(part(Figure::kRead, term::kHops, reading_s, reading_s));
  parts.push_back(part(Figure::kNetworkHop, term::kHops, between_s, between_s));
  return parts;
}

}  // namespace linkcast::collective
