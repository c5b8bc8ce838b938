#pragma once
// What an answer says of a collective, whatever the machine and the library, and its JSON.
#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "sim/base/object_reader.hpp"
#include "sim/forecast/launching.hpp"
#include "sim/forecast/link_loads.hpp"
#include "sim/forecast/terms.hpp"
#include "sim/machine/communicator.hpp"
#include "sim/query/key.hpp"

namespace linkcast::collective {

/// What the library believes of its choice, and what it could have taken instead.
struct Alternatives {
  struct Row {
    std::string algorithm, protocol;
    double time_s = 0;                   ///< forecast
    std::optional<double> believed_s{};  ///< by the library; none of a schedule
  };
  std::optional<TunerEntry> believes{};
  std::vector<Row> rows{};  ///< fastest first
  std::string hint{};       ///< where one is clearly faster
};

struct CollectiveForecast {
  /// Collectives of other communicators that began at the same moment.
  struct Other {
    std::string op;
    std::vector<int> gpus{};   ///< of each node
    std::vector<int> nodes{};  ///< where several are in play
    double size_B = 0;
    std::string library;
    double time_s = 0, alone_s = 0;
  };
  struct Beside {
    double alone_s = 0;
    std::vector<Other> others{};
  };
  /// Of messages between nodes.
  struct Messages {
    std::size_t bottlenecks = 0;  ///< of which a few are named
    std::string engine;
    double count = 0;
    std::size_t classes = 0;
    std::string why_direct{};
  };
  /// Of rounds of messages.
  struct Rounds {
    int rounds = 0;
    bool steady = false;  ///< some stand for others
    double staging_s = 0, reducing_s = 0;
    std::vector<std::string> transports{};
  };

  double time_s = 0;
  uncertainty::Interval interval{};
  std::vector<uncertainty::Term> terms{};
  double latency_s = 0, size_B = 0, bus_factor = 1;
  launch::Launching launching{};
  double device_s = 0;  ///< of time_s what the devices take alone
  std::string library, algorithm, protocol;
  std::optional<Rounds> rounds{};
  int nodes = 1, gpus_per_node = 0;
  std::vector<std::vector<int>> channels{};  ///< GPUs of each distinct ring, or the head of each channel with multicast
  int blocks = 0;
  std::optional<double> channel_Bps{};  ///< of the ring or tree that carries most
  std::optional<std::string> path_class{};
  bool fallback = false;
  std::vector<std::string> bottleneck{}, warnings{};
  std::string limited_by{};  ///< where no link is: start-up, thread blocks, rates of single messages
  Json load{};               ///< in noise and beside other jobs (network_load.hpp): keys of the result
  std::optional<Beside> beside{};
  std::optional<Messages> messages{};
  std::optional<Alternatives> alternatives{};
  std::optional<std::vector<LinkLoad>> links{};
};

/// The keys of to_json, a row each.
query::KeyTable collective_results();
Json to_json(const CollectiveForecast& forecast);

}  // namespace linkcast::collective
