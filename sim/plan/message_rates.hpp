#pragma once
// What the messages of a group get: they share the thread blocks of a GPU, and queue for its links.
#include <vector>

#include "sim/machine/collective.hpp"
#include "sim/machine/communicator.hpp"
#include "sim/machine/platform.hpp"

namespace linkcast::activities {

/// Payload that kernels get through a direct way between two GPUs; infinite for any other.
double kernel_Bps(const Platform& platform, const Hop& hop);

class MessageRates {
 public:
  /// A message with the thread blocks that the library gives it.
  struct Sent {
    PairMessage message;
    MessageChoice choice;
    double channel_Bps = 0;  ///< payload that one thread block moves
  };
  /// @param own  what blocks also copy of what a rank keeps, in messages
  MessageRates(const std::vector<Sent>& messages, int ranks, double own);
  /// Of a group in which each rank sends such a message to each other.
  MessageRates(const Sent& each, int ranks, double own);

  /// Blocks of a message, as if none had several parts: those of a block share its rate.
  [[nodiscard]] double channels(const MessageChoice& choice) const;
  /// Most payload that a message between nodes gets, which queues for no link here: of one block at least, since
  /// proxies take messages to many nodes one after the other.
  [[nodiscard]] double rate_Bps(const Sent& sent) const;
  /// @param queueing  channels of all messages that take the same link
  [[nodiscard]] double rate_Bps(const Sent& sent, double link_Bps, double queueing) const;

 private:
  void share_blocks(int messages, int channels, double own, int all_channels);

  double on_one_block_ = 1;  ///< parts that some block gets
};

}  // namespace linkcast::activities
