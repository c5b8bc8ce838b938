#include "sim/activities/message_rates.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

#include "sim/activities/link_queue.hpp"
#include "sim/activities/transfer.hpp"
#include "sim/units/index.hpp"

namespace linkcast::activities {
double kernel_Bps(const Platform& platform, int from, int to) {
  const auto& route = platform.peer_route(platform.gpu(from), platform.gpu(to));
  double rate = std::numeric_limits<double>::infinity();
  if (!route) return rate;
  for (const int link : route->links) rate = std::min(rate, platform.constraints()[at(link)].capacity.value);
  return rate * (platform.accelerators_only(route->links) ? kernel_link_share() : 1);
}

MessageRates::MessageRates(const MessageChoice& choice, const std::vector<PairMessage>& messages, const Group& group)
    : channel_Bps_(group.channel_Bps), sent_(at(group.ranks)), received_(at(group.ranks)) {
  for (const PairMessage& message : messages) {
    ++sent_[at(message.from)];
    ++received_[at(message.to)];
  }
  share_blocks(choice, group);
}

MessageRates::MessageRates(const MessageChoice& choice, const Group& group)
    : channel_Bps_(group.channel_Bps),
      sent_(at(group.ranks), group.ranks - 1),
      received_(at(group.ranks), group.ranks - 1) {
  share_blocks(choice, group);
}

void MessageRates::share_blocks(const MessageChoice& choice, const Group& group) {
  // Some block gets this many of the parts, and a message ends with its slowest part.
  const int most =
      std::max(*std::max_element(sent_.begin(), sent_.end()), *std::max_element(received_.begin(), received_.end()));
  const int parts = (most + (group.own_part ? 1 : 0)) * choice.channels;
  const int on_one_block = std::max(1, (parts + choice.all_channels - 1) / choice.all_channels);
  channels_ = std::max(1, choice.channels / on_one_block);
}

double MessageRates::rate_Bps(const PairMessage& message, double link_Bps) const {
  const double unhindered = channels_ * channel_Bps_;
  if (std::isinf(unhindered) || std::isinf(link_Bps)) return unhindered;
  const int messages = std::max(sent_[at(message.from)], received_[at(message.to)]);
  return queued_Bps(channels_ * messages, channel_Bps_, link_Bps) / messages;
}

}  // namespace linkcast::activities
