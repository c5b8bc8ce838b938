#include "sim/forecast/collective_job.hpp"

#include <algorithm>

#include "sim/machine/placed_fabric.hpp"
#include "sim/plan/link_name.hpp"

namespace linkcast::collective {
namespace {

// source: NCCL 2.30.7: DEFAULT_* in src/init.cc, NCCL_STEPS in src/include/device.h; LL sends a flag with each 4 bytes,
// LL128 one with each 120 (models/libraries/SOURCES.md)
constexpr ChannelBuffers kBuffers{524288, 4915200, 4194304};
constexpr double kSteps = 8, kShareLL = 0.5, kShareLL128 = 120.0 / 128;

/// Node of the machine that several jobs share.
int node_there(const CollectiveJob& job, int here) {
  std::vector<int> sorted = job.order;
  std::sort(sorted.begin(), sorted.end());
  return placed_node(job.order, sorted, here);
}

}  // namespace

double CollectiveJob::buffer_B(const std::string& protocol) const {
  const double said_B = buffers.of(protocol);
  const double share = protocol == "LL" ? kShareLL : protocol == "LL128" ? kShareLL128 : 1;
  if (said_B > 0) return said_B * share;
  const bool simple = kBuffers.of(protocol) == kBuffers.simple_B;
  if (simple && communicator.plugin.buffer_B > 0) return communicator.plugin.buffer_B;
  if (simple && library.rings() != nullptr && rings().simple_buffer_B() > 0) return rings().simple_buffer_B();
  return kBuffers.of(protocol) * share;
}

double CollectiveJob::step_B(const std::string& protocol) const { return buffer_B(protocol) / kSteps; }

std::string name_of(const CollectiveJob& job, int key) {
  return activities::link_name(job.machine, key, !job.one_node());
}

int shared_key(const CollectiveJob& job, const Cluster& shared, int key) {
  if (job.order.empty() || shared.nodes() == 1) return key;
  const int of_node = shared.key(1, 0), first_engine = shared.first_engine_key();
  if (key < shared.key_of_fabric_link(0)) return shared.key(node_there(job, key / of_node), key % of_node);
  if (key < first_engine) return key;
  const int card = (key - first_engine) / 2, nics = shared.nics();
  return shared.key_of_engine(shared.endpoint(node_there(job, card / nics), card % nics),
                              (key - first_engine) % 2 == 0);
}

std::vector<int> nodes_of(const CollectiveJob& job) {
  const auto count = static_cast<std::ptrdiff_t>(job.communicator.nodes);
  if (!job.order.empty()) return {job.order.begin(), job.order.begin() + count};
  return first_numbers(job.communicator.nodes);
}

}  // namespace linkcast::collective
