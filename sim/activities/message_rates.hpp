#pragma once
// What the messages of a group get: they share the thread blocks of a GPU, and queue for its links.
#include <vector>

#include "sim/platform/platform.hpp"
#include "sim/plugin/collective.hpp"
#include "sim/plugin/communicator.hpp"

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
  /// @param own_part  the blocks also copy what a rank keeps
  MessageRates(const std::vector<Sent>& messages, int ranks, bool own_part);
  /// Of a group in which each rank sends such a message to each other.
  MessageRates(const Sent& each, int ranks, bool own_part);

  /// Most payload that a message of the group gets.
  [[nodiscard]] double rate_Bps(const Sent& sent, double link_Bps) const;

 private:
  /// Of a message, as if no block had several parts.
  [[nodiscard]] int channels(const MessageChoice& choice) const;
  void share_blocks(int parts, int all_channels);

  std::vector<int> sent_, received_;  ///< channels of all messages, by rank
  int on_one_block_ = 1;              ///< parts that some block gets
};

}  // namespace linkcast::activities
