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

SharedKeys::SharedKeys(const CollectiveJob& job, const Cluster& shared)
    : job_(job), shared_(shared), sorted_(job.order) {
  std::sort(sorted_.begin(), sorted_.end());
}

int SharedKeys::node_there(int here) const { return placed_node(job_.order, sorted_, here); }

int SharedKeys::operator()(int key) const {
  if (job_.order.empty() || shared_.nodes() == 1) return key;
  const int of_node = shared_.key(1, 0), first_engine = shared_.first_engine_key();
  if (key < shared_.key_of_fabric_link(0)) return shared_.key(node_there(key / of_node), key % of_node);
  if (key < first_engine) return key;
  return shared_.key_of_engine(endpoint((key - first_engine) / 2), (key - first_engine) % 2 == 0);
}

int SharedKeys::endpoint(int here) const {
  if (job_.order.empty()) return here;
  return shared_.endpoint(node_there(here / shared_.nics()), here % shared_.nics());
}

std::vector<int> nodes_of(const CollectiveJob& job) {
  const auto count = static_cast<std::ptrdiff_t>(job.communicator.nodes);
  if (!job.order.empty()) return {job.order.begin(), job.order.begin() + count};
  return first_numbers(job.communicator.nodes);
}

}  // namespace linkcast::collective
