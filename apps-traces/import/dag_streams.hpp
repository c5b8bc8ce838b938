#pragma once
// Streams for operations that only dependencies order: as few as there can be without making one wait for another that
// it does not depend on.
#include <cstdint>
#include <string>
#include <unordered_map>
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
  /// @returns  the name of its stream, until the next call: the resource, and a number from the second on
  const std::string& add(std::size_t operation, const std::string& resource, const std::vector<std::size_t>& before);
  /// The same where all operations of a resource run one after the other, in the order in which they are added: it has
  /// one stream. @param queue  resource that only this function is given
  const std::string& add_to_queue(std::size_t operation, const std::string& queue,
                                  const std::vector<std::size_t>& before);
  /// Nobody will wait for this operation any more.
  void forget(std::size_t operation) { Clock().swap(done_[operation]); }
  [[nodiscard]] bool same_stream(std::size_t one, std::size_t other) const { return place_[one] == place_[other]; }

 private:
  struct Known {
    std::uint32_t stream = 0, ended = 0;
  };
  /// Entries of streams whose last operation has ended for sure, in their order: how many of its operations. It may
  /// have gone on since.
  using Clock = std::vector<Known>;
  struct Stream {
    std::uint32_t resource = 0;
    std::string name;
    Clock last{};  ///< of a queue: when its last operation has ended
  };

  void join(Clock& clock, const Clock& other);
  [[nodiscard]] Clock ended(const std::vector<std::size_t>& before);
  std::uint32_t resource(const std::string& name);
  std::uint32_t open(std::uint32_t resource, const std::string& name);
  const std::string& put(std::size_t operation, std::uint32_t stream, Clock clock);

  std::unordered_map<std::string, std::uint32_t> numbers_{};  ///< of resources
  std::vector<std::uint32_t> resources_{};                    ///< how many streams each has
  std::vector<Stream> streams_{};
  std::vector<std::uint32_t> lengths_{};  ///< operations of each stream
  std::vector<Clock> done_;               ///< when an operation has ended
  std::vector<std::uint32_t> place_;      ///< the stream of each operation
  Clock joined_{};                        ///< while two are joined
};

/// Topological order: each index comes after those that it waits for; the given order decides between the rest.
/// @param before  for each, what it waits for
/// @returns  fewer than there are if some wait for each other
std::vector<std::size_t> in_order(const std::vector<std::vector<std::size_t>>& before);

}  // namespace linkcast
