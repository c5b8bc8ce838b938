#include "sim/plan/message_rates.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

#include "sim/base/index.hpp"
#include "sim/plan/link_queue.hpp"
#include "sim/plan/transfer.hpp"

namespace linkcast::activities {

double kernel_Bps(const Platform& platform, const Hop& hop) {
  double rate = std::numeric_limits<double>::infinity();
  if (hop.kind != HopKind::kPeer) return rate;
  const auto& route = platform.peer_route(platform.gpu(hop.from), platform.gpu(hop.to));
  for (const int link : route->links) rate = std::min(rate, platform.constraints()[at(link)].capacity.value);
  return rate * (platform.accelerators_only(route->links) ? kernel_link_share(platform, route->links) : 1);
}

MessageRates::MessageRates(const std::vector<Sent>& messages, int ranks, bool own_part) {
  if (messages.empty()) return;
  std::vector<int> sent(at(ranks)), received(at(ranks));
  int own = 0;
  for (const Sent& one : messages) {
    sent[at(one.message.from)] += one.choice.channels;
    received[at(one.message.to)] += one.choice.channels;
    own = std::max(own, own_part ? one.choice.channels : 0);
  }
  const int most =
      std::max(*std::max_element(sent.begin(), sent.end()), *std::max_element(received.begin(), received.end()));
  share_blocks(most + own, messages.front().choice.all_channels);
}

MessageRates::MessageRates(const Sent& each, int ranks, bool own_part) {
  share_blocks((ranks - 1 + (own_part ? 1 : 0)) * each.choice.channels, each.choice.all_channels);
}

void MessageRates::share_blocks(int parts, int all_channels) {
  // Some block gets this many of the parts, and a message ends with its slowest part.
  on_one_block_ = std::max(1, (parts + all_channels - 1) / all_channels);
}

int MessageRates::channels(const MessageChoice& choice) const { return std::max(1, choice.channels / on_one_block_); }

double MessageRates::rate_Bps(const Sent& sent) const { return channels(sent.choice) * sent.channel_Bps; }

double MessageRates::rate_Bps(const Sent& sent, double link_Bps, int queueing) const {
  const double unhindered = rate_Bps(sent);
  if (std::isinf(unhindered) || std::isinf(link_Bps)) return unhindered;
  return queued_Bps(queueing, sent.channel_Bps, link_Bps) * channels(sent.choice) / queueing;
}

}  // namespace linkcast::activities
