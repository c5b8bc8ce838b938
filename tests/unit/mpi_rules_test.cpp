// Which algorithm an MPI takes, on both sides of each limit of its rules.
#include "sim/machine/collective.hpp"
#include "sim/machine/library.hpp"
#include "tests/support/catch.hpp"

namespace linkcast::test::mpi_rules_test {

namespace {

struct Limit {
  const char* op;
  int ranks;
  double size_B;  ///< the last that `below` is taken for
  const char* below;
  const char* above;
};

/// @param version  of the library that the machine runs
void check(const char* library, const std::vector<Limit>& limits, double version = 0) {
  const ScheduleLibrary& rules = *libraries().get(library).schedules();
  for (const Limit& limit : limits) {
    INFO(library << " " << limit.op << " of " << limit.ranks << " at " << limit.size_B);
    CHECK(rules.algorithm({limit.op, {limit.size_B}, limit.ranks, version}) == limit.below);
    CHECK(rules.algorithm({limit.op, {limit.size_B + 1}, limit.ranks, version}) == limit.above);
  }
}

}  // namespace

// source: MPICH 4.0.2, maint/tuning/coll/mpir/generic.json
TEST_CASE("MPICH: every limit on both sides", "[unit][mpi]") {
  check("mpi-mpich", {{"all_reduce", 2, 8, "recursive_doubling", "rabenseifner"},
                      {"all_reduce", 6, 15, "recursive_doubling", "rabenseifner"},  // four elements, the power below 6
                      {"all_reduce", 1024, 4095, "recursive_doubling", "rabenseifner"},
                      {"reduce", 4, 2048, "binomial", "rabenseifner"},
                      {"reduce", 1024, 4095, "binomial", "rabenseifner"},
                      {"reduce_scatter", 5, 524287, "recursive_halving", "pairwise"},
                      {"broadcast", 8, 12288, "binomial", "scatter_all_gather"},
                      {"broadcast", 7, 12288, "binomial", "binomial"},
                      {"all_gather", 8, 524287, "recursive_doubling", "ring"},
                      {"all_gather", 6, 81919, "bruck", "ring"},
                      {"allgatherv", 6, 81919, "bruck", "ring"},
                      {"alltoall", 8, 256 * 8, "bruck", "scattered"},
                      {"alltoall", 7, 256 * 7, "scattered", "scattered"},
                      {"alltoall", 8, 32768 * 8, "scattered", "pairwise"},
                      {"alltoallv", 8, 1e9, "scattered", "scattered"},
                      {"gather", 8, 1e9, "binomial", "binomial"},
                      {"scatter", 8, 1, "binomial", "binomial"},
                      {"sendrecv", 8, 1, "linear", "linear"}});
  check("mpi-cray", {{"all_reduce", 4, 2048, "recursive_doubling", "rabenseifner"}});
  CHECK_THROWS_AS(libraries().get("mpi-mpich").schedules()->algorithm({"scan", {8}, 4}), InputError);
}

// source: Open MPI 4.0, ompi/mca/coll/tuned/coll_tuned_decision_fixed.c
TEST_CASE("Open MPI 4.0: every limit on both sides", "[unit][mpi]") {
  check("mpi-openmpi",
        {{"all_reduce", 4, 9999, "recursive_doubling", "ring"},
         {"all_gather", 2, 1e9, "recursive_doubling", "recursive_doubling"},
         {"all_gather", 4, 49999, "recursive_doubling", "ring"},
         {"all_gather", 6, 49999, "bruck", "ring"},
         {"alltoall", 12, 199 * 12, "linear", "linear"},
         {"alltoall", 13, 200 * 13 - 1, "bruck", "linear"},
         {"alltoall", 4, 3000 * 4 - 1, "linear", "pairwise"},
         {"gather", 61, 6000 * 61, "binomial", "linear"},
         {"gather", 60, 1024 * 60 - 1, "binomial", "linear"},
         {"gather", 11, 1024 * 11 - 1, "binomial", "linear"},
         {"gather", 10, 10, "linear", "linear"},
         {"scatter", 11, 300 * 11 - 1, "binomial", "linear"},
         {"scatter", 10, 10, "linear", "linear"}},
        4.0);
}

// source: Open MPI 4.1.4, the same file
TEST_CASE("Open MPI 4.1: whole buffers or parts are compared, rows end before their size and ranks", "[unit][mpi]") {
  check("mpi-openmpi", {{"all_reduce", 3, 7, "ring", "recursive_doubling"},
                        {"all_reduce", 3, 4095, "recursive_doubling", "ring"},
                        {"all_reduce", 3, 262143, "ring", "rabenseifner"},
                        {"all_reduce", 4, 15, "ring", "recursive_doubling"},
                        {"all_reduce", 127, 262143, "recursive_doubling", "rabenseifner"},
                        {"all_reduce", 128, 131071, "binomial", "recursive_doubling"},
                        {"broadcast", 3, 1023, "binomial", "linear"},
                        {"broadcast", 4, 8191, "binomial", "linear"},
                        {"reduce", 3, 31, "binomial", "linear"},
                        {"reduce_scatter", 3, 3 * 131072 - 1, "recursive_halving", "binomial"},
                        {"all_gather", 32, 32 * 1024 - 1, "recursive_doubling", "ring"},
                        {"all_gather", 33, 33 * 1024 - 1, "bruck", "ring"},
                        {"alltoall", 2, 2 * 32768 - 1, "pairwise", "linear"},
                        {"alltoall", 3, 3 * 524288 - 1, "linear", "pairwise"},
                        {"allgatherv", 3, 3 * 256 - 1, "linear", "ring"},
                        {"gather", 3, 3 * 4 - 1, "linear", "binomial"},
                        {"scatter", 4, 4 * 2048 - 1, "binomial", "linear"}});
}

TEST_CASE("what goes through host memory, by library and operation", "[unit][mpi]") {
  const auto staging = [](const char* library, const char* op) {
    return libraries().get(library).schedules()->staging(collectives().get(op));
  };
  for (const char* op : {"all_reduce", "reduce", "reduce_scatter", "all_gather", "alltoall", "broadcast", "sendrecv"}) {
    const bool reduces = std::string(op).find("reduce") != std::string::npos;
    CHECK(staging("mpi-openmpi", op) == (reduces ? Staging::kPageable : Staging::kNone));
    CHECK(staging("mpi-spectrum", op) == (std::string(op) == "sendrecv" ? Staging::kNone : Staging::kPageable));
    CHECK(staging("mpi-staged", op) == Staging::kPinned);
    CHECK(staging("mpi-mpich", op) == Staging::kNone);
    CHECK(staging("mpi-cray", op) == Staging::kNone);
  }
}

}  // namespace linkcast::test::mpi_rules_test
