#include "sim/plan/message_rates.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

#include "sim/base/index.hpp"
#include "sim/plan/transfer.hpp"
#include "sim/plan/two_limits.hpp"

namespace linkcast::activities {

double kernel_Bps(const Platform& platform, const Hop& hop) {
  double rate = std::numeric_limits<double>::infinity();
  if (hop.kind != HopKind::kPeer) return rate;
  const auto& route = platform.peer_route(platform.gpu(hop.from), platform.gpu(hop.to));
  for (const int link : route->links) rate = std::min(rate, platform.constraints()[at(link)].capacity.value);
  return rate * (platform.accelerators_only(route->links) ? kernel_link_share(platform, route->links) : 1);
}

MessageRates::MessageRates(const std::vector<Sent>& messages, int ranks, double own) {
  if (messages.empty()) return;
  std::vector<int> sent(at(ranks)), received(at(ranks));
  int widest = 0;
  for (const Sent& one : messages) {
    sent[at(one.message.from)] += one.choice.channels;
    received[at(one.message.to)] += one.choice.channels;
    widest = std::max(widest, one.choice.channels);
  }
  const int most =
      std::max(*std::max_element(sent.begin(), sent.end()), *std::max_element(received.begin(), received.end()));
  share_blocks(most, widest, own, messages.front().choice.all_channels);
  bool unidirectional = true;
  for (std::size_t rank = 0; rank < at(ranks); ++rank)
    unidirectional = unidirectional && (sent[rank] == 0 || received[rank] == 0);
  // A block with one message to send and none to receive leaves warps idle that further ones use.
  // source: four H100, gather and scatter on one channel, 32 MiB: three messages in a block 36 and 32 GB/s, one 23 and
  // 21 (calibrate/data/hgx-h100/20261126i-nccl_base.json)
  constexpr double kFurther = 0.5;
  if (unidirectional) on_one_block_ = 1 + (on_one_block_ - 1) * kFurther;
}

MessageRates::MessageRates(const Sent& each, int ranks, double own) {
  share_blocks((ranks - 1) * each.choice.channels, each.choice.channels, own, each.choice.all_channels);
}

void MessageRates::share_blocks(int messages, int channels, double own, int all_channels) {
  // A message ends with its slowest part.
  const auto most = [&](int parts) { return (parts + all_channels - 1) / all_channels; };
  const double with_own = own > 0 ? most(messages + channels) - 1 + own : 0;
  on_one_block_ = std::max({1.0, 1.0 * most(messages), with_own});
}

double MessageRates::channels(const MessageChoice& choice) const { return choice.channels / on_one_block_; }

double MessageRates::rate_Bps(const Sent& sent) const {
  return std::max(1.0, channels(sent.choice)) * sent.channel_Bps;
}

double MessageRates::rate_Bps(const Sent& sent, double link_Bps, double queueing) const {
  const double unhindered = channels(sent.choice) * sent.channel_Bps;
  if (std::isinf(unhindered) || std::isinf(link_Bps)) return unhindered;
  return channels(sent.choice) / of_two_limits_s(1 / sent.channel_Bps, queueing / link_Bps);
}

}  // namespace linkcast::activities
