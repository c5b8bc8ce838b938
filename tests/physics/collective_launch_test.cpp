// What the host sees of a collective: sends and receives counted as nccl-tests issues them, calls in a group, GPUs that
// one thread issues for.
#include "sim/forecast/collective_launch.hpp"

#include <algorithm>
#include <vector>

#include "tests/support/ask.hpp"
#include "tests/support/catch.hpp"
#include "tests/support/made_machine.hpp"

namespace linkcast::test::collective_launch_test {

namespace {

using collective::CollectiveJob;

/// Messages that each rank issues, itself among the others where the operation copies its own part so: half of one at
/// either end. source: NVIDIA/nccl-tests src/{alltoall,gather,scatter,sendrecv}.cu
std::vector<double> issued(const std::string& op, int ranks) {
  std::vector<double> ends(static_cast<std::size_t>(ranks), 0.0);
  for (int from = 0; from < ranks; ++from)
    for (int to = 0; to < ranks; ++to) {
      const bool sent = op == "sendrecv"  ? to == (from + 1) % ranks
                        : op == "gather"  ? to == 0
                        : op == "scatter" ? from == 0
                                          : true;
      if (!sent) continue;
      const bool own = from == to;
      if (own && (op == "sendrecv" || ((op == "gather" || op == "scatter") && from != 0))) continue;
      ends[static_cast<std::size_t>(from)] += 0.5;
      ends[static_cast<std::size_t>(to)] += 0.5;
    }
  return ends;
}

}  // namespace

TEST_CASE("calls of a collective: sends of the busiest GPU and of those of a node", "[physics][cost]") {
  const auto node = made_platform("hgx-h200", {});
  const Cluster machine(*node);
  TableLibrary library;
  for (const int nodes : {1, 2, 5})
    for (const int gpus : {1, 2, 3, 8}) {
      if (nodes * gpus < 2) continue;
      std::vector<int> members;
      for (int k = 0; k < gpus; ++k) members.push_back(k);
      Communicator made = made_ring(members);
      made.nodes = nodes;
      const int ranks = nodes * gpus;
      for (const std::string op : {"alltoall", "alltoallv", "sendrecv", "gather", "scatter"}) {
        INFO(op << " " << nodes << " x " << gpus);
        const CollectiveJob job{machine, library, made, collectives().get(op), op, 1e6};
        const launch::Call call = collective::call_of(job);
        const std::vector<double> ends = issued(op, ranks);
        CHECK(call.gpus == gpus);
        CHECK_THAT(call.busiest_sends, WithinRel(*std::max_element(ends.begin(), ends.end()), kExact));
        double most = 0;  // of a node, whose one thread issues them
        for (int first = 0; first < ranks; first += gpus) {
          double all = 0;
          for (int rank = first; rank < first + gpus; ++rank) all += ends[static_cast<std::size_t>(rank)];
          most = std::max(most, all);
        }
        CHECK_THAT(call.all_sends, WithinRel(most, kExact));
        CHECK(call.grouped == 1);
        CHECK(call.point_to_point == (op == "sendrecv"));
        CHECK(call.collected);
      }
      for (const std::string op : {"all_reduce", "all_gather", "reduce_scatter", "broadcast", "reduce", "allgatherv"}) {
        INFO(op << " " << nodes << " x " << gpus);
        const CollectiveJob job{machine, library, made, collectives().get(op), op, 1e6};
        const launch::Call call = collective::call_of(job);
        CHECK(call.gpus == gpus);
        CHECK(call.busiest_sends == 1);
        CHECK(call.all_sends == gpus);
        CHECK(call.grouped == (op == "allgatherv" ? ranks : 1));  // a broadcast from each rank
        CHECK_FALSE(call.point_to_point);
      }
    }
  const Communicator pair = made_ring({0, 1});
  library.made.groups = false;
  CHECK_FALSE(collective::call_of({machine, library, pair, collectives().get("reduce"), "reduce", 1}).collected);
}

TEST_CASE("how a collective is launched: kind, calls, costs of issuing and of waiting, and whose they are",
          "[physics][cost]") {
  const Communicator made = made_ring({0, 1, 2});
  const TableLibrary library;
  const Cluster& machine = catalogue().machine("hgx-h200")->lone_node();
  const CollectiveJob job{machine, library, made, collectives().get("alltoall"), "alltoall", 1e6, "", "", 0,
                          true,    false,   7};
  const launch::HostCosts costs(catalogue(), *catalogue().machine("hgx-h200"));
  const auto fitted = [](const std::string& name) { return parameter("hgx-h200", "launch." + name); };
  const launch::Launching process = collective::launching_of(job, costs, launch::Kind::kProcess);
  CHECK(process.kind == launch::Kind::kProcess);
  CHECK(process.calls == 7);
  CHECK_THAT(process.host.s, WithinRel(fitted("process.call_s") + 2 * fitted("process.send_s"), kExact));
  CHECK_THAT(process.wait.s, WithinRel(fitted("synchronise.call_s"), kExact));
  CHECK(process.inherited_from.empty());
  CHECK_FALSE(collective::launching_of(job, costs, launch::Kind::kGraph).by_host());
  const launch::HostCosts lent(catalogue(), *catalogue().machine("dgx-a100"));
  CHECK(collective::launching_of(job, lent, launch::Kind::kPytorch).inherited_from == "hgx-h200");
  // between nodes one thread a node issues for its own GPUs
  const auto host_s = [](int nodes) {
    return ask({{"platform", "alps"},
                {"kind", "collective"},
                {"op", "alltoall"},
                {"size_B", 65536},
                {"nodes", nodes},
                {"gpus_per_node", 4},
                {"launch", "single_process"}})["host_s"]
        .get<double>();
  };
  for (const int nodes : {2, 4})
    CHECK_THAT(host_s(nodes), WithinRel(fitted("single_process.call_s") + 4 * fitted("single_process.gpu_s") +
                                            4 * (4 * nodes - 1) * fitted("single_process.send_s"),
                                        kExact));
}

}  // namespace linkcast::test::collective_launch_test
