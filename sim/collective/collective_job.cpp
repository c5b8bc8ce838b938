#include "sim/collective/collective_job.hpp"

#include "sim/units/index.hpp"

namespace linkcast::collective {

std::string name_of(const CollectiveJob& job, int key) {
  return job.one_node() ? job.node().constraints()[at(key)].id : job.machine.id(key);
}

}  // namespace linkcast::collective
