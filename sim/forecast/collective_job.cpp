#include "sim/forecast/collective_job.hpp"

#include "sim/base/index.hpp"

namespace linkcast::collective {

std::string name_of(const CollectiveJob& job, int key) {
  return job.one_node() ? job.node().constraints()[at(key)].id : job.machine.id(key);
}

int shared_key(const CollectiveJob& job, const Cluster& shared, int key) {
  if (job.order.empty() || shared.nodes() == 1) return key;
  const int of_node = shared.key(1, 0), first_engine = shared.first_engine_key();
  if (key < shared.key_of_fabric_link(0)) return shared.key(job.order[at(key / of_node)], key % of_node);
  if (key < first_engine) return key;
  const int card = (key - first_engine) / 2, nics = shared.nics();
  return shared.key_of_engine(shared.endpoint(job.order[at(card / nics)], card % nics), (key - first_engine) % 2 == 0);
}

std::vector<int> nodes_of(const CollectiveJob& job) {
  const auto count = static_cast<std::ptrdiff_t>(job.communicator.nodes);
  if (!job.order.empty()) return {job.order.begin(), job.order.begin() + count};
  return first_numbers(job.communicator.nodes);
}

}  // namespace linkcast::collective
