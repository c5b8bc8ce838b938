#include "sim/forecast/call_sizes.hpp"
#include "sim/forecast/collective_answer.hpp"
#include "sim/forecast/collective_forecast.hpp"
#include "sim/forecast/collective_ranks.hpp"
#include "sim/forecast/library_view.hpp"

namespace linkcast::collective {
namespace {

/// Only a fallback's limit is known without a size: its hops through host memory.
std::vector<std::string> bottleneck_of(const Platform& node, const Communicator& communicator) {
  std::vector<Hop> hops;
  if (communicator.fallback)
    for (const Channel& channel : communicator.channels)
      hops.insert(hops.end(), channel.hops.begin(), channel.hops.end());
  return host_links(node, hops);
}

}  // namespace

Json rings_answer(const catalogue::Machine& machine, ObjectReader& r) {
  CollectiveRanks ranks = read_ranks(machine, r);
  const Platform& node = ranks.machine.node();
  const std::string library_id = read_library(ranks, r);
  read_exits(library_id, ranks, r);
  const auto op = r.optional<std::string>("op");
  const double size_B = op ? SizedCall(*op, ranks.nodes * static_cast<int>(ranks.gpus.size()), r).size_B() : 0;
  if (op && collectives().get(*op).shape() == Shape::kPairs)
    r.fail("op", *op + " is made of messages, which take no rings");
  const bool nvls = r.optional<bool>("nvls").value_or(true);
  r.finish();
  const auto built = communicator_of(machine, library_id, ranks);
  const Communicator& communicator = *built;
  Json out = communicator_json(communicator);
  out["library"] = library_id;
  out["ranks"] = ranks.nodes * static_cast<int>(ranks.gpus.size());
  if (!ranks.one_node()) {
    out["nodes"] = communicator.nodes;
    out["gpus_per_node"] = communicator.gpus.size();
    out.update(nics_json(ranks.machine, communicator));
    out["library_network_channel_bandwidth_Bps"] = communicator.network_channel_bandwidth.si;
  }
  const std::string grouped = op ? collectives().get(*op).grouped_call() : "";
  const std::string call = grouped.empty() ? op.value_or("") : grouped;
  if (op) out.update(tuner_json(ring_library(library_id), node, communicator, {call, {size_B}, "", "", nvls}));
  out["bottleneck"] = bottleneck_of(node, communicator);
  out["warnings"] = Json::array();
  return out;
}

}  // namespace linkcast::collective
