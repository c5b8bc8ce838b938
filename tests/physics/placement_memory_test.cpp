// What a placement remembers must not change what it says: times by shape against whole forecasts, memory or none.
#include <algorithm>
#include <numeric>

#include "sim/base/random.hpp"
#include "sim/place/place.hpp"
#include "sim/query/query.hpp"
#include "tests/support/catalogue.hpp"
#include "tests/support/catch.hpp"

namespace linkcast::test::placement_memory_test {

namespace {

/// A row of draws that a seed reproduces.
class Draws {
 public:
  explicit Draws(std::uint64_t seed) : state_(seed) {}
  std::uint64_t below(std::uint64_t end) { return (state_ = mixed(state_)) % end; }

 private:
  std::uint64_t state_;
};

/// Members of a random set, in a random order.
std::vector<int> random_gpus(Draws& random, int gpus) {
  std::vector<int> all(static_cast<std::size_t>(gpus));
  std::iota(all.begin(), all.end(), 0);
  for (std::size_t i = all.size(); i > 1; --i) std::swap(all[i - 1], all[random.below(i)]);
  all.resize(2 + random.below(all.size() - 1));
  return all;
}

double random_size(Draws& random) { return static_cast<double>(1 + random.below(1ULL << (1 + random.below(30)))); }

}  // namespace

TEST_CASE("GPUs of one shape take the time of a forecast of their own, to the last digit") {
  const struct {
    const char *platform, *library;
  } cases[] = {{"p100-dgx1", "nccl-2.3"},  {"p100-dgx1", "nccl-2.18"}, {"v100-dgx1", "nccl-2.3"},
               {"v100-dgx1", "nccl-2.18"}, {"summit", "nccl-2.18"},    {"hgx-h200", "nccl-2.27"},
               {"gx8", "nccl-2.3"}};
  Draws random(11);
  for (const auto& [platform_id, library_id] : cases) {
    const Platform& platform = catalogue().machine(platform_id)->platform();
    placement::PlacementMemory memory;
    int shared = 0;
    std::map<placement::PlacementMemory::Shape*, std::vector<int>> first;
    for (int round = 0; round < 150; ++round) {
      const std::string op = random.below(2) == 0 ? "all_reduce" : random.below(2) == 0 ? "broadcast" : "all_gather";
      const std::vector<int> gpus = random_gpus(random, platform.gpu_count());
      const double size_B = random_size(random);
      INFO(platform_id << " " << library_id << " " << op << " " << Json(gpus).dump() << " " << size_B);
      const auto shape = memory.shape(catalogue().machine(platform_id), library_id, op, gpus);
      REQUIRE(shape);
      shared += first.emplace(shape.get(), gpus).first->second != gpus ? 1 : 0;
      const collective::CollectiveTimes times =
          collective::forecast_alone(catalogue().machine(platform_id)->lone_node(), libraries().get(library_id),
                                     shape->communicator, op, size_B, catalogue().solver("fluid"));
      const Json whole = query::answer(catalogue(), {{"kind", "collective"},
                                                     {"launch", "graph"},
                                                     {"platform", platform_id},
                                                     {"op", op},
                                                     {"gpus", gpus},
                                                     {"size_B", size_B},
                                                     {"library", library_id}});
      REQUIRE_FALSE(whole.contains("error"));
      CHECK(times.time_s == whole["time_s"]);
      CHECK(times.low_s == whole["time_low_s"]);
      CHECK(times.high_s == whole["time_high_s"]);
    }
    CHECK(shared > 0);  // else the test says nothing about GPUs that were not forecast themselves
  }
}

TEST_CASE("a placement does not depend on what was placed before") {
  Draws random(5);
  placement::PlacementMemory memory;
  for (int round = 0; round < 60; ++round) {
    const bool edited = random.below(4) == 0;
    const catalogue::MachinePtr id = catalogue().edited(
        catalogue().machine(random.below(2) == 0 ? "p100-dgx1" : "v100-dgx1"),
        edited ? std::vector<std::string>{"slow gpu3:1.2", "scale gpu0-gpu4:0.5"} : std::vector<std::string>{});
    Json busy = Json::array();
    for (int gpu = 0; gpu < 8; ++gpu)
      if (random.below(3) == 0 && busy.size() < 6) busy.push_back(gpu);
    const int free = 8 - static_cast<int>(busy.size());
    const Json asked{
        {"job", round % 3 == 0 ? "broadcast:1MiB" : "all_reduce:" + std::to_string(random.below(1000000) + 1) + "B"},
        {"ranks", static_cast<int>(1 + random.below(static_cast<unsigned>(std::min(free, 5))))},
        {"busy", busy}};
    INFO(id->title() << " " << asked.dump());
    ObjectReader r(asked, "test");
    const placement::PlaceRequest request = placement::read_place_request(id, r);
    CHECK(placement::place(catalogue(), request, memory) == placement::place(catalogue(), request));
  }
}

}  // namespace linkcast::test::placement_memory_test
