#pragma once
// Streams for operations that only dependencies order: as few as there can be without making one wait for another that
// it does not depend on.
#include <cstdint>
#include <string>
#include <vector>

namespace linkcast {

/// Takes the operations of one rank in an order in which each follows what it waits for. An operation joins a stream
/// whose last operation it follows, directly or not; else it opens one.
class DagStreams {
 public:
  /// @param operations  how many there will be
  explicit DagStreams(std::size_t operations) : done_(operations), place_(operations) {}
  /// @param resource  streams of different resources are never shared
  /// @param before    operations that this one waits for
  /// @returns  the name of its stream: the resource, and a number from the second on
  std::string add(std::size_t operation, const std::string& resource, const std::vector<std::size_t>& before);
  /// The same where all operations of a resource run one after the other, in the order in which they are added: it has
  /// one stream. @param queue  resource that only this function is given
  std::string add_to_queue(std::size_t operation, const std::string& queue, const std::vector<std::size_t>& before);
  /// Nobody will wait for this operation any more.
  void forget(std::size_t operation) { done_[operation] = {}; }
  [[nodiscard]] bool same_stream(std::size_t one, std::size_t other) const { return place_[one] == place_[other]; }

 private:
  using Clock = std::vector<std::uint32_t>;  ///< per stream: how many of its operations have ended for sure
  struct Stream {
    std::string resource, name;
    std::uint32_t length = 0;
    Clock last{};  ///< of a queue: when its last operation has ended
  };

  [[nodiscard]] Clock ended(const std::vector<std::size_t>& before) const;
  const std::string& put(std::size_t operation, std::size_t stream, Clock clock);

  std::vector<Stream> streams_;
  std::vector<Clock> done_;         ///< when an operation has ended
  std::vector<std::size_t> place_;  ///< the stream of each operation
};

/// Topological order: each index comes after those that it waits for; the given order decides between the rest.
/// @param before  for each, what it waits for
/// @returns  fewer than there are if some wait for each other
std::vector<std::size_t> in_order(const std::vector<std::vector<std::size_t>>& before);

}  // namespace linkcast
