// A catalogue keeps a bounded number of edited machines; those that it no longer keeps stay whole for their holders.
#include "sim/machine/catalogue.hpp"

#include "sim/query/query.hpp"
#include "tests/support/catch.hpp"

using namespace linkcast;

namespace {

/// More machines than a catalogue keeps.
void edit_often(catalogue::Catalogue& catalogue) {
  for (int i = 0; i < 600; ++i)
    catalogue.edited(catalogue.machine("alps"), {"slow gpu1:1." + std::to_string(1000 + i)});
}

}  // namespace

TEST_CASE("catalogue: references into a machine edited long ago last as long as it is held", "[catalogue]") {
  catalogue::Catalogue catalogue(test::data_dir());
  const Json query{{"platform", "alps"}, {"kind", "collective"},  {"op", "all_reduce"},      {"gpus", {0, 1, 2, 3}},
                   {"size_B", 1 << 20},  {"library", "mpi-cray"}, {"edits", {"slow gpu0:2"}}};
  const catalogue::MachinePtr slow = catalogue.edited(catalogue.machine("alps"), {"slow gpu0:2"});
  CHECK(catalogue.edited(catalogue.machine("alps"), {"slow gpu0:2"}) == slow);
  const Cluster& node = slow->lone_node();
  const Json before = query::answer(catalogue, query);
  const std::weak_ptr<const catalogue::Machine> forgotten =
      catalogue.edited(catalogue.machine("alps"), {"slow gpu2:2"});
  edit_often(catalogue);
  CHECK(forgotten.expired());  // memory stays bounded
  CHECK(catalogue.edited(catalogue.machine("alps"), {"slow gpu0:2"}) != slow);
  CHECK(&node.node() == &slow->platform());
  CHECK(node.node().topology().devices[static_cast<std::size_t>(node.node().gpu(0))].slow == 2);
  CHECK(query::answer(catalogue, query) == before);
}

TEST_CASE("catalogue: edits of an adopted machine end with it", "[catalogue]") {
  catalogue::Catalogue catalogue(test::data_dir());
  const Platform& shipped = catalogue.machine("hgx-h200")->platform();
  const auto adopt = [&](double slow) {
    Topology wiring = shipped.wiring();
    for (Device& device : wiring.devices) device.slow = slow;
    return catalogue.adopt("mine", std::move(wiring), shipped.calibration());
  };
  const auto first = adopt(1), edited = catalogue.edited(first, {"slow gpu0:2"});
  const auto second = adopt(3), again = catalogue.edited(second, {"slow gpu0:2"});
  CHECK(catalogue.machine("mine") == second);
  CHECK(again != edited);
  const auto slow_of = [](const catalogue::MachinePtr& machine, int gpu) {
    return machine->platform().topology().devices[static_cast<std::size_t>(machine->platform().gpu(gpu))].slow;
  };
  CHECK(slow_of(edited, 0) == 2);
  CHECK(slow_of(edited, 1) == 1);
  CHECK(slow_of(again, 0) == 6);
  CHECK(slow_of(again, 1) == 3);
}

TEST_CASE("machine: other library parameters leave links and communicators as they are", "[catalogue]") {
  catalogue::Catalogue catalogue(test::data_dir());
  const catalogue::MachinePtr machine = catalogue.machine("alps");
  const std::string name = "nccl.ring.LL@2.18.base_s";
  const catalogue::MachinePtr other = machine->with_library_parameters({{name, {1, 0, "s", "tried"}}});
  CHECK(machine->platform().calibration().find(name) != other->platform().calibration().find(name));
  CHECK(other->platform().calibration().find(name)->value == 1);
  CHECK(other->communicator("nccl-2.18", {0, 1}) == machine->communicator("nccl-2.18", {0, 1}));
  CHECK(&other->cluster().node() == &other->platform());
  CHECK(&other->cluster().fabric() == &machine->cluster().fabric());
  const Json query{{"platform", "alps"}, {"kind", "collective"}, {"op", "all_reduce"},    {"gpus", {0, 1}},
                   {"size_B", 1024},     {"protocol", "LL"},     {"library", "nccl-2.18"}};
  CHECK(query::answer(catalogue, query)["time_s"] < 1);
  CHECK(query::answer(catalogue, query, other)["time_s"] > 1);
}
