#pragma once
#include <array>
#include <cstddef>
#include <string>

namespace linkcast::replay {

/// What the longest chain of dependencies up to some moment consists of. Carried along with each event, so that no
/// event has to be kept.
struct CriticalPath {
  /// kCopy: with the host; between GPUs is network, in a GPU's own memory compute.
  enum Part : std::size_t { kHost, kLaunch, kCompute, kCopy, kNetwork, kParts };
  std::array<double, kParts> seconds{};

  [[nodiscard]] CriticalPath with(Part part, double more_s) const {
    CriticalPath longer = *this;
    longer.seconds[part] += more_s;
    return longer;
  }
};

/// What limits a replay, for people: "host-bound", "device-bound" or "link-bound" by the largest part of the critical
/// path, and what that means for links. Launches count as the GPUs' own. Empty where nothing takes time.
std::string bound_of(const CriticalPath& path);

}  // namespace linkcast::replay
