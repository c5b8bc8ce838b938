#pragma once
// How a library sends one message of a group, and the time before its bytes.
#include <map>
#include <string>
#include <tuple>
#include <vector>

#include "sim/forecast/collective_plan.hpp"

namespace linkcast::collective {

struct MessageStart {
  MessageChoice choice;
  CollectiveCost cost;
  double latency_s = 0;
  std::vector<uncertainty::Term> latency_terms{};
};

/// Copies of what a rank keeps, by blocks that also send and receive, as a share of a message's work: half, all where
/// its parts do not begin at 16 bytes, none for roots, which do so while they wait for their peers.
double own_messages(const CollectiveJob& job);

/// Starts of a job's messages. Sizes with one choice and one width of access start alike, and are computed once.
class MessageStarts {
 public:
  /// @param job  outlives the use
  explicit MessageStarts(const CollectiveJob& job) : job_(job) {}
  /// Of a message of so many bytes. @throws InputError  the library has no messages, an algorithm or protocol is forced
  const MessageStart& of(double bytes);

 private:
  const CollectiveJob& job_;
  std::map<std::tuple<std::string, int, int, double, int>, MessageStart> known_;  // by choice and width
};

/// Plan of a group whose largest message has so many bytes, without activities.
CollectivePlan plan_of_group(const MessageStart& largest, double bytes);

}  // namespace linkcast::collective
