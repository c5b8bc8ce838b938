// Costs of placements: calls with neighbours, bounds, losses of neighbours, cables that stay free, GPUs in use.
#include <algorithm>
#include <set>

#include "sim/place/cluster_search.hpp"
#include "sim/place/node_search.hpp"
#include "sim/place/schedule.hpp"
#include "sim/place/slurm.hpp"
#include "tests/support/ask.hpp"
#include "tests/support/catalogue.hpp"
#include "tests/support/catch.hpp"
#include "tests/support/error_of.hpp"

namespace linkcast::test::placement_costs_test {

namespace {

/// Four groups of two leaves with two nodes each, one cable between two groups.
catalogue::MachinePtr small() {
  return catalogue().edited(
      catalogue().machine("leonardo"),
      {"fabric dragonfly_plus:nodes=16,groups=4,leaves_per_group=2,spines_per_group=2,"
       "nodes_per_group=4,endpoints_per_leaf=8,global_ports_per_spine=2,global_links=1,radix=40"});
}

/// One flow over one key, alone on it.
placement::Traffic flow(double bytes, int key, double rate_Bps) {
  placement::Traffic traffic;
  Activity one;
  one.work_B = bytes;
  one.uses = {{key, 1}};
  traffic.flows = {one};
  traffic.alone_s = bytes / rate_Bps;
  return traffic;
}

placement::PlaceRequest request_of(const std::string& platform, const std::string& library, int ranks) {
  placement::PlaceRequest request;
  request.machine = catalogue().machine(platform);
  request.library = library;
  request.job.op = "all_reduce";
  request.job.size_B = 64 * kMiB;
  request.ranks = ranks;
  return request;
}

}  // namespace

TEST_CASE("a call's latency is waited for once, with and without others", "[physics]") {
  placement::Traffic own = flow(1000, 0, 100);  // 10 s of bytes behind a latency of 2 s
  own.latency_s = own.flows.front().delay_s = 2;
  own.alone_s += own.latency_s;
  const placement::Traffic other = flow(1000, 0, 100);
  const auto capacity = [](int) { return 100.0; };
  CHECK_THAT(placement::call_s(own, {{&other, 50}}, capacity), WithinRel(2 + 1000 / (100 - 20.0), kExact));
  CHECK_THAT(placement::call_s(own, {{&other, 1e9}}, capacity), WithinRel(own.alone_s, 1e-6));  // hardly ever there
}

TEST_CASE("bound of bytes: a node's cable bounds every placement, a cable between switches none", "[physics]") {
  const catalogue::MachinePtr kept = small();
  const Cluster& cluster = kept->cluster();
  const Fabric& fabric = cluster.fabric();
  std::set<bool> kinds;
  for (int link = 0; link < fabric.links(); ++link) {
    const int key = cluster.key_of_fabric_link(link);
    const bool inner = std::min(fabric.link(link).from, fabric.link(link).to) >= fabric.endpoints();
    const double bound_s = placement::bytes_bound_s(cluster, flow(1e9, key, 1));
    CHECK_THAT(bound_s, WithinRel(inner ? 0 : 1e9 / cluster.capacity(key), kExact));
    kinds.insert(inner);
  }
  CHECK(kinds.size() == 2);
}

TEST_CASE("a neighbour loses a share of its iteration, what it computes included", "[physics]") {
  const catalogue::MachinePtr kept = small();
  const placement::FabricGroups groups(kept->cluster());
  const int key = kept->cluster().key_of_fabric_link(0);
  const double rate_Bps = kept->cluster().capacity(key), call_s = 1, compute_s = 3;
  const placement::Traffic neighbour = flow(rate_Bps * call_s, key, rate_Bps);
  const std::vector<char> free(16, 1);
  placement::ClusterQuestion question{kept->cluster(), groups, [&](const auto&) { return neighbour; }, 2, free};
  question.others = {{&neighbour, compute_s + call_s, compute_s}};
  question.objective = placement::PlaceObjective::kNeighbours;
  question.most_forecasts = 1;
  const placement::ClusterSearch found = placement::search_cluster(question);
  // The job exchanges without a pause: half of the link is left, and 3 + 1 s become 3 + 2 s.
  CHECK_THAT(found.choices.front().others_s.front(), WithinRel(2 * call_s, kExact));
  CHECK_THAT(found.choices.front().loss, WithinRel(5.0 / 4 - 1, kExact));
}

TEST_CASE("where no group holds a job, it takes the fewest groups that do", "[physics]") {
  const catalogue::MachinePtr kept = small();
  const placement::FabricGroups groups(kept->cluster());
  std::vector<char> free(16, 1);
  free[0] = free[4] = free[5] = 0;  // groups of 3, 2, 4 and 4 free nodes
  const std::size_t fewest[] = {1, 1, 1, 1, 2, 2, 2, 2, 3, 3, 3, 4, 4};
  for (int count = 1; count <= 13; ++count) {
    std::set<int> in;
    for (const int node : placement::packed_nodes(groups, free, count)) in.insert(groups.group(1, node));
    INFO(count << " nodes");
    CHECK(in.size() == fewest[count - 1]);
  }
}

TEST_CASE("no order of a set takes less than the bound that spares its search", "[physics]") {
  // nccl-1 keeps the order: 0, 1, 5, 4 is a ring of NVLinks, 0, 1, 4, 5 none. nccl-2.7 has trees of NVLinks where its
  // rings go through the host.
  int bounded = 0;
  for (const auto& [platform, library] : {std::pair{"p100-dgx1", "nccl-1"},
                                          {"p100-dgx1", "nccl-2.3"},
                                          {"v100-dgx1", "nccl-2.7"},
                                          {"a40", "nccl-2.3"},
                                          {"a40", "nccl-2.18"}}) {
    const placement::PlaceRequest request = request_of(platform, library, 4);
    placement::PlacementMemory memory;
    const auto objective = placement::pattern_objective(catalogue(), request, memory);
    for (const placement::GpuSet& set :
         {placement::GpuSet{0, 1, 2, 3}, {0, 1, 2, 4}, {0, 1, 4, 5}, {0, 1, 6, 7}, {0, 2, 4, 6}}) {
      const double least_s = objective->least_s(set);
      bounded += least_s > 0 ? 1 : 0;
      std::vector<int> order = set;
      do {
        INFO(platform << " " << library << " " << Json(order).dump());
        CHECK(objective->score(order).time_s >= least_s);
      } while (std::next_permutation(order.begin(), order.end()));
    }
  }
  CHECK(bounded > 0);
}

TEST_CASE("four GPUs whose ring of NVLinks needs another order than their numbers are as fast as any", "[physics]") {
  const placement::PlaceRequest request = request_of("p100-dgx1", "nccl-1", 4);
  placement::PlacementMemory memory;
  const auto objective = placement::pattern_objective(catalogue(), request, memory);
  log::NoProgress none;
  const placement::NodeSearch found = placement::search_node(request, *objective, memory, none);
  const double ring_s = objective->score({0, 1, 2, 3}).time_s;
  for (const placement::PlacementClass& which : found.classes) {
    const bool ring = which.sets.front() == placement::GpuSet{0, 1, 4, 5};  // 0, 1, 5, 4
    if (ring) CHECK_THAT(which.score.time_s, WithinRel(ring_s, kExact));
  }
}

TEST_CASE("a trace next to a trace: both times are those of their replay", "[physics]") {
  const Json short_job{{"trace", "data_parallel"}, {"options", {{"ranks", "2"}, {"steps", "1"}}}};
  const Json long_job{{"trace", "transformer"},
                      {"options", {{"dp", "2"}, {"tp", "1"}, {"pp", "1"}, {"layers", "6"}, {"steps", "1"}}}};
  const Json placed = ask({{"kind", "place"},
                           {"platform", "p100-dgx1"},
                           {"job", short_job},
                           {"ranks", 2},
                           {"busy", {3, 4, 7}},
                           {"with", {{{"job", long_job}, {"gpus", {0, 5}}}}},
                           {"top", 1}});
  const auto replayed = [](Json job, const Json& gpus, const Json& also) {
    job.update({{"kind", "replay"}, {"platform", "p100-dgx1"}, {"placement", gpus}});
    if (!also.is_null()) job["also"] = Json::array({also});
    return ask(job);
  };
  Json neighbour = long_job;
  neighbour["placement"] = {0, 5};
  const Json alone = replayed(long_job, {0, 5}, {}), both = replayed(short_job, placed["gpus"], neighbour);
  const Json& row = placed["neighbours"][0];
  INFO(placed.dump() << both["jobs"].dump());
  CHECK_THAT(row["alone_s"].get<double>(), WithinRel(alone["step_time_s"].get<double>(), kExact));
  CHECK_THAT(row["time_s"].get<double>(), WithinRel(both["jobs"][1]["step_time_s"].get<double>(), kExact));
  CHECK(row["time_s"].get<double>() >= row["alone_s"].get<double>() * (1 - kExact));
}

TEST_CASE("what stays joined: cables between GPUs that nobody has", "[physics]") {
  // DGX-1: in each four every two are joined, and GPU i with GPU i + 4, by one NVLink of 20 GB/s
  placement::PlaceRequest request = request_of("p100-dgx1", "nccl-2.3", 2);
  const Platform& platform = request.machine->platform();
  CHECK(placement::rate_left(platform, request, {0, 1}) == 9 * 20e9);  // 16, less four of each and the common one again
  CHECK(placement::rate_left(platform, request, {0, 5}) == 8 * 20e9);
  request.busy = {4, 5};
  CHECK(placement::rate_left(platform, request, {0, 1}) == 4 * 20e9);  // 2-3, 6-7, 2-6, 3-7
  // Both are as fast: what is left decides, whichever was found first.
  request.busy.clear();
  placement::NodeSearch search;
  for (const placement::GpuSet& set : {placement::GpuSet{0, 5}, placement::GpuSet{0, 1}})
    search.classes.push_back({{set}, 1, set, {1, 1, 1, 1}});
  CHECK(placement::rank(platform, request, search).front().set == placement::GpuSet{0, 1});
  search.classes.front().score.time_s = 0.9;  // none is as fast
  CHECK(placement::rank(platform, request, search).front().set == placement::GpuSet{0, 5});
}

TEST_CASE("a job goes on at the pace that its neighbours leave it, and at its own once they have gone", "[physics]") {
  const auto ends_s = [](int first_iterations, int second_iterations) {
    scheduling::JobList list{"two", "test", {}, {{"a", 0, 2, first_iterations, 0, "all_reduce", 1e9}}};
    if (second_iterations > 0) list.jobs.push_back({"b", 0, 2, second_iterations, 0, "all_reduce", 1e9});
    const auto hosts = catalogue().edited(catalogue().machine("v100-dgx1"), {"disable nvlink"});
    scheduling::Machine machine(catalogue(), hosts, 0, "");
    log::NoProgress none;
    std::vector<double> ends;  // spread: both cross from switch to switch
    for (const auto& one : scheduling::schedule(list, machine, "spread", 7, none)) ends.push_back(one.end_s);
    return ends;
  };
  const double alone_s = ends_s(100, 0)[0] / 100, shared_s = ends_s(100, 1000)[0] / 100;
  CHECK(shared_s > 1.05 * alone_s);
  const std::vector<double> mixed = ends_s(100, 40);
  const double done = mixed[1] / shared_s;  // iterations of the first until the second ends
  CHECK(mixed[1] < mixed[0]);
  CHECK_THAT(mixed[0], WithinRel(mixed[1] + (100 - done) * alone_s, 1e-6));
}

TEST_CASE("Slurm's GPUs in use are numbers of the node's own", "[physics]") {
  const auto busy = [](const std::string& used) {
    const Json node{{"name", "a"}, {"gres", "gpu:8"}, {"gres_used", used}, {"state", {"MIXED"}}};
    const Json printed{{"meta", {{"plugin", {{"data_parser", "data_parser/v0.0.40"}}}}}, {"nodes", {node}}};
    return placement::read_slurm_nodes(printed, "nodes").nodes.front().busy;
  };
  CHECK(busy("gpu:3(IDX:0,6-7)") == std::vector<int>{0, 6, 7});
  for (const char* used : {"gpu:1(IDX:8)", "gpu:2(IDX:7-8)"})
    CHECK(error_of([&] { return busy(used); }).find("GPU 8 of 8") != std::string::npos);
  CHECK(error_of([&] { return busy("gpu:2(IDX:3-2)"); }).find("GPU 2 of 8") != std::string::npos);
}

}  // namespace linkcast::test::placement_costs_test
