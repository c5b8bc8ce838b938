#pragma once
// Where the ranks of a collective are, as a query says it.
#include <string>
#include <vector>

#include "sim/base/object_reader.hpp"
#include "sim/machine/machine.hpp"

namespace linkcast::collective {

/// GPUs of one node, or the same GPUs of each of several.
struct CollectiveRanks {
  const Cluster& machine;
  int nodes = 1;
  std::vector<int> gpus{};  ///< of each node
  ExitSettings exits{};
  [[nodiscard]] bool one_node() const { return nodes == 1; }
};

/// Which GPUs of each node: key gpus, or the first gpus_per_node, or all. @param least  so many at least
std::vector<int> read_gpus_of_each(ObjectReader& r, const Platform& node, int least);
/// Keys pxn, cross_nic and gdr_level of several nodes, where the library has the choice.
void read_exits(const std::string& library, CollectiveRanks& ranks, ObjectReader& r);
/// Keys gpus or gpus_per_node, and nodes; one node may be any machine's. @throws InputError  more than the machine has
CollectiveRanks read_ranks(const catalogue::Machine& machine, ObjectReader& r);
/// Key library, else that of the machine's time that has such ranks.
std::string read_library(const CollectiveRanks& ranks, ObjectReader& r);
/// What it builds for them.
std::shared_ptr<const Communicator> communicator_of(const catalogue::Machine& machine, const std::string& library,
                                                    const CollectiveRanks& ranks);

}  // namespace linkcast::collective
