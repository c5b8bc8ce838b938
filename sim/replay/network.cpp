#include "sim/replay/network.hpp"

namespace linkcast::replay {

Registry<NetworkKind>& network_kinds() {
  static Registry<NetworkKind> registry("replay network");
  return registry;
}

}  // namespace linkcast::replay
