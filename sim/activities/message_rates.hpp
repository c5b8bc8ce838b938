#pragma once
// What the messages of a group get: they share the thread blocks of a GPU, and queue for its links.
#include <vector>

#include "sim/platform/platform.hpp"
#include "sim/plugin/collective.hpp"
#include "sim/plugin/communicator.hpp"

namespace linkcast::activities {

/// Payload that kernels get through a direct way between two GPU numbers; infinite for a way through host memory.
double kernel_Bps(const Platform& platform, int from, int to);

class MessageRates {
 public:
  struct Group {
    int ranks = 0;
    bool own_part = false;   ///< the blocks also copy what a rank keeps
    double channel_Bps = 0;  ///< payload that one thread block moves
  };
  MessageRates(const MessageChoice& choice, const std::vector<PairMessage>& messages, const Group& group);
  /// Of a group in which each rank sends one to each other.
  MessageRates(const MessageChoice& choice, const Group& group);

  /// Most payload that a message gets.
  [[nodiscard]] double rate_Bps(const PairMessage& message, double link_Bps) const;

 private:
  void share_blocks(const MessageChoice& choice, const Group& group);

  double channel_Bps_;
  std::vector<int> sent_, received_;  ///< messages by rank
  int channels_ = 1;                  ///< of each message, as if no block had several parts
};

}  // namespace linkcast::activities
