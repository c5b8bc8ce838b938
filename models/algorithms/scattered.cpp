#include "models/algorithms/phases.hpp"

namespace linkcast {
namespace {

constexpr int kThrottle = 32;  // source: MPICH 4.0.2, MPIR_CVAR_ALLTOALL_THROTTLE

class Scattered final : public Algorithm {
 public:
  [[nodiscard]] std::vector<std::string> operations() const override { return {"alltoall"}; }
  [[nodiscard]] Schedule schedule(const std::string& /*operation*/, int ranks) const override {
    return alltoall(ranks, kThrottle);
  }
};

const bool scattered_registered =
    algorithms().add({"scattered", "every message straight to its target, 32 of each rank posted at once",
                      "MPICH 4.0.2, src/mpi/coll/alltoall/alltoall_intra_scattered.c; MPIR_CVAR_ALLTOALL_THROTTLE: 32"},
                     [] { return std::make_unique<Scattered>(); });

}  // namespace
}  // namespace linkcast
