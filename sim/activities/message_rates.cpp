#include "sim/activities/message_rates.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

#include "sim/activities/link_queue.hpp"
#include "sim/activities/transfer.hpp"
#include "sim/units/index.hpp"

namespace linkcast::activities {

double kernel_Bps(const Platform& platform, const Hop& hop) {
  double rate = std::numeric_limits<double>::infinity();
  if (hop.kind != HopKind::kPeer) return rate;
  const auto& route = platform.peer_route(platform.gpu(hop.from), platform.gpu(hop.to));
  for (const int link : route->links) rate = std::min(rate, platform.constraints()[at(link)].capacity.value);
  return rate * (platform.accelerators_only(route->links) ? kernel_link_share() : 1);
}

namespace {

/// Channels of all messages that each rank sends, and that each receives.
template <class Channels>
void count(const std::vector<MessageRates::Sent>& messages, const Channels& channels, std::vector<int>& sent,
           std::vector<int>& received) {
  std::fill(sent.begin(), sent.end(), 0);
  std::fill(received.begin(), received.end(), 0);
  for (const MessageRates::Sent& one : messages) {
    sent[at(one.message.from)] += channels(one.choice);
    received[at(one.message.to)] += channels(one.choice);
  }
}

}  // namespace

MessageRates::MessageRates(const std::vector<Sent>& messages, int ranks, bool own_part)
    : sent_(at(ranks)), received_(at(ranks)) {
  if (messages.empty()) return;
  count(
      messages, [](const MessageChoice& choice) { return choice.channels; }, sent_, received_);
  int own = 0;
  for (const Sent& one : messages) own = std::max(own, own_part ? one.choice.channels : 0);
  const int most =
      std::max(*std::max_element(sent_.begin(), sent_.end()), *std::max_element(received_.begin(), received_.end()));
  share_blocks(most + own, messages.front().choice.all_channels);
  count(
      messages, [&](const MessageChoice& choice) { return channels(choice); }, sent_, received_);
}

MessageRates::MessageRates(const Sent& each, int ranks, bool own_part) {
  share_blocks((ranks - 1 + (own_part ? 1 : 0)) * each.choice.channels, each.choice.all_channels);
  sent_.assign(at(ranks), (ranks - 1) * channels(each.choice));
  received_ = sent_;
}

void MessageRates::share_blocks(int parts, int all_channels) {
  // Some block gets this many of the parts, and a message ends with its slowest part.
  on_one_block_ = std::max(1, (parts + all_channels - 1) / all_channels);
}

int MessageRates::channels(const MessageChoice& choice) const { return std::max(1, choice.channels / on_one_block_); }

double MessageRates::rate_Bps(const Sent& sent, double link_Bps) const {
  const int own = channels(sent.choice);
  const double unhindered = own * sent.channel_Bps;
  if (std::isinf(unhindered) || std::isinf(link_Bps)) return unhindered;
  const int all = std::max(sent_[at(sent.message.from)], received_[at(sent.message.to)]);
  return queued_Bps(all, sent.channel_Bps, link_Bps) / (static_cast<double>(all) / own);
}

}  // namespace linkcast::activities
