// NCCL's cost models are of five operations; of others they say so.
#include "sim/forecast/collective_run.hpp"
#include "sim/machine/library.hpp"
#include "tests/support/catalogue.hpp"
#include "tests/support/catch.hpp"

namespace linkcast::test::tuner_operations_test {

namespace {

/// MPI_Scan: every rank gets the sum of those before it. A chain, yet no reduce, whatever it is called.
class Scan final : public Collective {
 public:
  [[nodiscard]] Shape shape() const override { return Shape::kChain; }
  [[nodiscard]] CollectiveTraits traits() const override { return {.reduces = true}; }
  [[nodiscard]] Bytes bytes_per_hop(Bytes size, int /*ranks*/) const override { return size; }
  [[nodiscard]] int steps(int ranks) const override { return ranks - 1; }
  [[nodiscard]] double bus_factor(int /*ranks*/) const override { return 1; }
};

const bool scan_registered =
    collectives().add({"scan", "for tests", "MPI 4.0, section 6.11"}, [] { return std::make_unique<Scan>(); });

std::string refusal(const std::string& library, const std::string& operation) {
  return "op: " + library + " runs no rings and trees for " + operation +
         ": it has all_gather, all_reduce, broadcast, reduce, reduce_scatter";
}

}  // namespace

TEST_CASE("a tuner refuses an operation that the library does not have", "[unit]") {
  const Platform& platform = test::catalogue().machine("v100-dgx1")->platform();
  const std::string operation = GENERATE("scan", "unheard_of", "alltoall");
  for (const char* name : {"nccl-2.7", "nccl-2.18", "nccl-2.30"}) {
    const RingLibrary& library = ring_library(name);
    const Communicator made = library.build(platform, {0, 1, 2, 3});
    const TunerRequest unknown{operation, {1048576}, "", "", false};
    CHECK_THROWS_WITH(library.choose(platform, made, unknown), refusal(name, operation));
    CHECK_THROWS_WITH(library.tuner(platform, made, unknown), refusal(name, operation));
    CHECK_NOTHROW(library.choose(platform, made, {"reduce", {1048576}, "", "", false}));
  }
}

TEST_CASE("the matrix era, which has no cost model, refuses it too", "[unit]") {
  const Platform& platform = test::catalogue().machine("v100-dgx1")->platform();
  const RingLibrary& library = ring_library("nccl-2.3");
  const Communicator made = library.build(platform, {0, 1, 2, 3});
  for (const char* operation : {"scan", "unheard_of", "alltoall"})
    CHECK_THROWS_WITH(library.protocol(platform, made, operation, {1048576}, ""), refusal("nccl-2.3", operation));
  CHECK_NOTHROW(library.protocol(platform, made, "reduce", {1048576}, ""));
}

TEST_CASE("a forecast of an operation that NCCL does not have is bad input in every version", "[unit]") {
  catalogue::Catalogue& all = test::catalogue();
  const catalogue::MachinePtr machine = all.machine("v100-dgx1");
  for (const char* name : {"nccl-2.3", "nccl-2.7", "nccl-2.30"}) {
    const collective::CollectiveJob job{machine->lone_node(),
                                        libraries().get(name),
                                        *machine->communicator(name, {0, 1, 2, 3}),
                                        collectives().get("scan"),
                                        "scan",
                                        1048576};
    CHECK_THROWS_AS(collective::run_alone(job, all.solver("fluid")), InputError);
  }
}

TEST_CASE("libraries are told apart by what they can, not by their names", "[unit]") {
  for (const std::string& name : libraries().names()) {
    INFO(name);
    CHECK((libraries().get(name).rings() == nullptr) != (libraries().get(name).schedules() == nullptr));
  }
  CHECK_THROWS_AS(ring_library("mpi-openmpi"), InputError);
}

}  // namespace linkcast::test::tuner_operations_test
