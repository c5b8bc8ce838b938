#include "sim/plugin/message_library.hpp"

namespace linkcast {
namespace {

[[noreturn]] void refuse() {
  throw InputError("library: mpi-* sends messages by an algorithm: it builds no rings and has no protocols");
}

}  // namespace

Communicator MessageLibrary::build(const Platform& /*platform*/, const std::vector<int>& /*gpus*/) const { refuse(); }

ProtocolChoice MessageLibrary::protocol(const Platform& /*platform*/, const Communicator& /*communicator*/,
                                        const std::string& /*operation*/, Bytes /*size*/,
                                        const std::string& /*forced*/) const {
  refuse();
}

Seconds MessageLibrary::base_latency(const std::string& /*protocol*/) const { refuse(); }

Seconds MessageLibrary::hop_latency(const std::string& /*protocol*/, const std::string& /*path_class*/) const {
  refuse();
}

}  // namespace linkcast
