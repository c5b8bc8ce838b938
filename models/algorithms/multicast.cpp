#include "models/algorithms/multicast.hpp"

#include <algorithm>

#include "sim/base/index.hpp"

namespace linkcast {

std::vector<int> multicast_heads(const Communicator& communicator) {
  if (communicator.nodes == 1) {
    std::vector<int> heads = communicator.gpus;
    heads.resize(at(std::min(static_cast<int>(heads.size()), communicator.nvls_channels)));
    return heads;
  }
  std::vector<int> heads;
  for (const Channel& channel : communicator.channels)
    if (std::find(heads.begin(), heads.end(), channel.order.front()) == heads.end())
      heads.push_back(channel.order.front());
  return heads;
}

std::vector<std::vector<int>> multicast_orders(const Communicator& communicator) {
  std::vector<std::vector<int>> orders;
  for (const int head : multicast_heads(communicator)) orders.push_back({head});
  return orders;
}

collective::CollectiveCost multicast_cost(const collective::CostRequest& request, const std::string& algorithm,
                                          const key::SwitchRows& rows) {
  const LibraryParameters known = request.platform.library_parameters();
  const std::string& library = request.communicator.library;
  collective::CollectiveCost cost;
  const Learned share = learned(known, library, key::nvls_link_share,
                                request.library.multicast_share(request.platform, request.communicator));
  const Learned block = learned(known, library, key::nvls_channel);
  cost.link_share = std::min(1.0, share.value);
  cost.link_spread = ErrorPart(share);
  cost.rate_measured = share.measured;
  cost.channel_Bps = block.value;
  cost.channel_terms = {collective::rate_term(uncertainty::term::kSerialisation, block, key::nvls_channel)};
  if (request.communicator.nodes > 1) collective::set_network_rate(request, cost);
  collective::set_table_latency(request, algorithm, rows, cost);
  const double slow = collective::slowest_member(request.platform, request.communicator);
  collective::slow_down(cost, slow, slow);
  return cost;
}

std::vector<std::string> multicast_warnings(const collective::CollectiveJob& job,
                                            const collective::CollectivePlan& plan) {
  if (plan.cost.rate_measured) return {};
  return {"what multicast by NVSwitch attains of the links was never measured on " + job.node().topology().name +
          ": it is what the library counts on; nvls false leaves it out"};
}

}  // namespace linkcast
