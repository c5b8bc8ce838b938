#pragma once
// A collective as rounds of messages between ranks. Pure arithmetic: no platform, no clock.
#include <functional>
#include <string>
#include <vector>

namespace linkcast {

struct ScheduledMessage {
  int from = 0, to = 0;       ///< ranks
  double share = 0;           ///< bytes / the collective's size
  bool combines = false;      ///< the receiver reduces them with what it has
  std::vector<int> blocks{};  ///< which parts of the buffer; filled only where they are asked for
};

/// Rounds of one kind. A rank begins a round when it has sent and received all of its messages of the rounds before.
struct Phase {
  int rounds = 1;
  bool alike = false;  ///< every round has the same messages, as far as ranks and shares go
  int at_once = 1;     ///< so many rounds are posted together and wait only for those before them
  /// Appends the messages of a round. @param blocks  name the blocks too
  std::function<void(int round, bool blocks, std::vector<ScheduledMessage>&)> add;
};

struct Schedule {
  /// Equal parts of the buffer. An alltoall numbers them source x ranks + target, each size / ranks.
  int blocks = 1;
  std::vector<Phase> phases;
};

/// The same messages of parts that differ in size. @param parts_B  bytes of each block. @param size_B  the collective's
Schedule with_parts(Schedule schedule, const std::vector<double>& parts_B, double size_B);

}  // namespace linkcast
