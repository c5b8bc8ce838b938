// Sets of GPUs that placements take for the same: what a collective's time depends on tells two communicators apart,
// which GPUs they are made of does not.
#include "sim/forecast/collective_shape.hpp"

#include <functional>
#include <set>

#include "tests/support/ask.hpp"
#include "tests/support/catch.hpp"
#include "tests/support/made_machine.hpp"

namespace linkcast::test::collective_shape_test {

namespace {

using Change = std::function<void(Communicator&)>;

std::string shape_of(const Platform& node, const Communicator& made, const std::string& op = "all_reduce") {
  const auto shape = collective::collective_shape(node, made, op);
  REQUIRE(shape);
  return *shape;
}

/// Two rings and two trees of four GPUs of a V100 DGX-1, of NCCL 2.18.
Communicator rings() {
  const Communicator made = *catalogue().machine("v100-dgx1")->communicator("nccl-2.18", {0, 1, 2, 3});
  REQUIRE(made.channels.size() > 1);
  REQUIRE(made.trees.size() > 1);
  return made;
}

}  // namespace

TEST_CASE("shapes of communicators differ by whatever a time depends on", "[physics][shape]") {
  const Platform& node = catalogue().machine("v100-dgx1")->platform();
  const Communicator made = rings();
  const std::vector<std::pair<const char*, Change>> changes = {
      {"ranks", [](Communicator& c) { c.gpus.pop_back(); }},
      {"path class", [](Communicator& c) { c.path_class = "SYS"; }},
      {"link equivalents", [](Communicator& c) { c.link_equivalents += 1; }},
      {"channel bandwidth", [](Communicator& c) { c.library_channel_bandwidth.si += 1e9; }},
      {"fallback", [](Communicator& c) { c.fallback = !c.fallback; }},
      {"rings found", [](Communicator& c) { ++c.rings_found; }},
      {"one order", [](Communicator& c) { c.one_order = !c.one_order; }},
      {"tree class", [](Communicator& c) { c.tree_class = "PXB"; }},
      {"plain trees", [](Communicator& c) { c.plain_trees = !c.plain_trees; }},
      {"tree bandwidth", [](Communicator& c) { c.tree_channel_bandwidth.si += 1e9; }},
      {"nodes", [](Communicator& c) { ++c.nodes; }},
      {"network bandwidth", [](Communicator& c) { c.network_channel_bandwidth.si += 1e9; }},
      {"near NICs", [](Communicator& c) { c.nics_near = !c.nics_near; }},
      {"heads", [](Communicator& c) { ++c.nvls_channels; }},
      {"blocks of heads", [](Communicator& c) { ++c.nvls_blocks; }},
      {"bandwidth of heads", [](Communicator& c) { c.nvls_channel_bandwidth.si += 1e9; }},
      {"rings", [](Communicator& c) { c.channels.pop_back(); }},
      {"blocks of a ring", [](Communicator& c) { ++c.channels.back().blocks; }},
      {"links of a ring", [](Communicator& c) { c.channels.back().links /= 2; }},
      {"a hop of a ring", [](Communicator& c) { c.channels.back().hops[1].kind = HopKind::kHostMemory; }},
      {"trees", [](Communicator& c) { c.trees.pop_back(); }},
      {"blocks of a tree", [](Communicator& c) { ++c.trees.back().blocks; }},
      {"a hop of a tree", [](Communicator& c) { c.trees.back().hops[0].kind = HopKind::kHostMemory; }}};
  std::set<std::string> seen{shape_of(node, made)};
  for (const auto& [what, change] : changes) {
    Communicator changed = made;
    change(changed);
    INFO(what);
    CHECK(seen.insert(shape_of(node, changed)).second);
  }
  CHECK(shape_of(node, made) == shape_of(node, rings()));
  CHECK(shape_of(node, made, "broadcast") != shape_of(node, made));  // without the closing hop
}

TEST_CASE("shapes of GPUs: how slow and how old each is, not which it is", "[physics][shape]") {
  const Communicator made = rings(),
                     others = *catalogue().machine("v100-dgx1")->communicator("nccl-2.18", {4, 5, 6, 7});
  Communicator pair = made_ring({0, 1});
  const auto even = made_platform("v100-dgx1", {});
  std::set<std::string> seen;
  for (const std::map<int, double>& slow :
       {std::map<int, double>{}, {{0, 1.1}}, {{1, 1.1}}, {{0, 1.2}}, {{0, 1.1}, {1, 1.1}}})
    CHECK(seen.insert(shape_of(*made_platform("v100-dgx1", {}, {}, slow), pair)).second);
  CHECK(seen.count(shape_of(*made_platform("v100-dgx1", {}, {}, {{7, 2}}), pair)) == 1);  // no member of it
  Topology older = even->wiring();
  for (Device& device : older.devices)
    if (device.id == "gpu1") device.sm = 60;
  CHECK(seen.insert(shape_of(Platform(older, even->calibration()), pair)).second);
  CHECK_FALSE(collective::collective_shape(*even, made, "alltoall"));
  CHECK_FALSE(collective::collective_shape(*even, made, "sendrecv"));
  // rings 0-1-2-3 and 4-5-6-7 of both halves of the machine run over links of the same numbers, but other links
  CHECK(shape_of(*even, made) != shape_of(*even, others));
}

TEST_CASE("shapes of one ring alone: its slowest link counts, and how sure an edited one is", "[physics][shape]") {
  const auto node = made_platform("v100-dgx1", {});
  const auto ring = [&](const std::vector<int>& gpus) { return made_ring(gpus); };
  // gpu0 and gpu1 have one NVLink, gpu0 and gpu3 two
  const auto capacity = [&](int from, int to) {
    const int link = node->peer_route(node->gpu(from), node->gpu(to))->links.front();
    return node->constraints()[static_cast<std::size_t>(link)].capacity.value;
  };
  REQUIRE(capacity(0, 3) > 1.5 * capacity(0, 1));
  CHECK(shape_of(*node, ring({0, 1})) != shape_of(*node, ring({0, 3})));
  // with a second ring beside it all links count
  Communicator two = ring({0, 1}), doubled = two;
  doubled.channels.push_back(doubled.channels.front());
  CHECK(shape_of(*node, two) != shape_of(*node, doubled));
  const auto edited = [&](double rel_error) {
    Calibration calibration = node->calibration();
    for (auto& [name, parameter] : calibration.parameters)
      if (name.rfind("cable.nvlink2", 0) == 0) parameter.stderr_ = rel_error * parameter.value;
    Topology wiring = node->wiring();
    for (Cable& cable : wiring.cables)
      if (cable.id == "gpu0-gpu1") cable.edited = true;
    return Platform(wiring, calibration);
  };
  const Platform sure = edited(0.01), unsure = edited(0.2);
  CHECK(shape_of(sure, ring({0, 1})) != shape_of(unsure, ring({0, 1})));
  CHECK(shape_of(sure, ring({0, 1})) != shape_of(*node, ring({0, 1})));
  CHECK(shape_of(sure, ring({0, 3})) == shape_of(*node, ring({0, 3})));
}

TEST_CASE("collectives for those who ask thousands of them: what a query says", "[physics][shape]") {
  const auto query = [](const std::string& op, const Json& gpus, const Json& size, const Json& more = Json::object()) {
    Json one{{"platform", "v100-dgx1"},
             {"kind", "collective"},
             {"launch", "graph"},
             {"op", op},
             {"gpus", gpus},
             {"library", "nccl-2.18"},
             {size.is_array() ? "sizes_B" : "size_B", size}};
    one.update(more);
    Json answer = ask(one);
    for (const char* key : {"kind", "inputs", "versions"}) answer.erase(key);
    return answer;
  };
  const auto of = [](const std::vector<collective::CollectiveAsk>& all) {
    return collective::to_json(
        collective::forecast_collectives(catalogue(), *catalogue().machine("v100-dgx1"), "nccl-2.18", all));
  };
  CHECK(of({{"all_reduce", {2, 0, 1}, 3e6}}) == query("all_reduce", {2, 0, 1}, 3e6));
  CHECK(of({{"allgatherv", {0, 1}, 5e6, {1e6, 4e6}}}) == query("allgatherv", {0, 1}, {1000000, 4000000}));
  const Json others{{{"op", "all_gather"}, {"gpus", {3, 2, 1}}, {"size_B", 9e6}}};
  CHECK(of({{"all_reduce", {0, 1, 2}, 3e6}, {"all_gather", {3, 2, 1}, 9e6}}) ==
        query("all_reduce", {0, 1, 2}, 3e6, {{"with", others}}));
}

}  // namespace linkcast::test::collective_shape_test
