#include "models/algorithms/multicast.hpp"

#include <algorithm>

#include "sim/base/index.hpp"

namespace linkcast {

using collective::Figure;

namespace {

// One thread block of multicast, whose warps copy into the shared buffer, load sums and store. source: assumed, as a
// block of a ring in Simple (sim/records/parameter_rows.hpp); 475 GB/s of bus that nccl-tests is said to show on 8 H100
// need 17 GB/s of each
constexpr LibraryRow kChannel{{.what = "channel_Bps",
                               .unit = "B/s",
                               .meaning = "NCCL: most that one thread block moves by NVSwitch",
                               .subject = "nvls",
                               .prior = Prior{25e9, 0.5}}};  // source: as above
constexpr LibraryRow kLinkShare{{.what = "link_share",
                                 .unit = "1",
                                 .meaning = "NCCL: share of the links' rate that multicast attains",
                                 .subject = "nvls"}};

}  // namespace

std::vector<const ParameterRow*> multicast_parameters() { return {&kChannel, &kLinkShare}; }

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
                                          const collective::LatencyRows& rows) {
  const LibraryParameters known = request.platform.library_parameters();
  const std::string& library = request.communicator.library;
  collective::CollectiveCost cost;
  const Learned share =
      learned(known, library, kLinkShare, request.library.multicast_share(request.platform, request.communicator));
  const Learned block = learned(known, library, kChannel);
  cost.link_share = std::min(1.0, share.value);
  cost.set(Figure::kLinks, {{uncertainty::term::kSerialisation, 0, ErrorPart(share),
                             uncertainty::source_of(share, uncertainty::kTable), &kLinkShare}});
  cost.channel_Bps = block.value;
  cost.set(Figure::kBlock, {collective::term_of(uncertainty::term::kSerialisation, block, kChannel)});
  if (request.communicator.nodes > 1) collective::set_network_rate(request, cost);
  collective::set_table_latency(request, algorithm, rows, cost);
  collective::wait_for_slowest(request, cost);
  return cost;
}

std::vector<std::string> multicast_warnings(const collective::CollectiveJob& job,
                                            const collective::CollectivePlan& plan) {
  if (plan.cost.measured(Figure::kLinks)) return {};
  return {"what multicast by NVSwitch attains of the links was never measured on " + job.node().topology().name +
          ": it is what the library counts on; nvls false leaves it out"};
}

}  // namespace linkcast
