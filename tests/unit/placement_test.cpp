// What a placement refuses, and how sets are counted.
#include <map>

#include "sim/base/index.hpp"
#include "sim/place/node_search.hpp"
#include "sim/query/query.hpp"
#include "tests/support/catalogue.hpp"
#include "tests/support/catch.hpp"

namespace linkcast::test::placement_test {

namespace {

std::string error_of(Json changes) {
  Json query{{"kind", "place"}, {"platform", "p100-dgx1"}, {"job", "all_reduce:64MiB"}, {"ranks", 4}};
  query.update(changes);
  return query::answer(catalogue(), query).value("error", "");
}

bool says(const std::string& text, const std::string& part) {
  INFO(text);
  return text.find(part) != std::string::npos;
}

}  // namespace

TEST_CASE("sets are counted") {
  CHECK(placement::number_of_sets(8, 4) == 70);
  CHECK(placement::number_of_sets(16, 8) == 12870);
  CHECK(placement::number_of_sets(5, 5) == 1);
  CHECK(placement::number_of_sets(72, 4) == 1028790);
  CHECK(placement::number_of_sets(64, 32) == std::int64_t{1} << 53);
}

TEST_CASE("classes of a square under its rotations") {
  const GpuPermutation turned{1, 2, 3, 0};
  const auto classes = placement::set_classes({0, 1, 2, 3}, 2, {turned});
  REQUIRE(classes.size() == 2);
  CHECK(classes[0] == std::vector<placement::GpuSet>{{0, 1}, {0, 3}, {1, 2}, {2, 3}});
  CHECK(classes[1] == std::vector<placement::GpuSet>{{0, 2}, {1, 3}});
}

TEST_CASE("classes of more GPUs than a word has bits") {
  constexpr int kGpus = 72;
  GpuPermutation turned;
  placement::GpuSet free;
  for (int gpu = 0; gpu < kGpus; ++gpu) {
    free.push_back(gpu);
    turned.push_back((gpu + 1) % kGpus);
  }
  const auto classes = placement::set_classes(free, 2, {turned});
  REQUIRE(classes.size() == kGpus / 2);  // by the distance on the circle
  for (std::size_t distance = 1; distance <= classes.size(); ++distance) {
    CHECK(classes[distance - 1].size() == (distance == classes.size() ? kGpus / 2 : kGpus));
    CHECK(classes[distance - 1].front() == placement::GpuSet{0, static_cast<int>(distance)});
  }
}

TEST_CASE("orbits of sets without going through all are those of all") {
  for (const char* id : {"p100-dgx1", "v100-dgx1", "dgx2", "summit", "mi300x", "v100-dgx1-fig19a"}) {
    const Platform& platform = catalogue().machine(id)->platform();
    // GPUs that change places within boards, and boards with boards: every class is one piece.
    const bool in_boards = platform.topology().name == "dgx2" || platform.topology().name == "summit";
    std::vector<int> colours(at(platform.gpu_count()), 0);
    for (const int busy : {-1, 2}) {
      placement::GpuSet free = first_numbers(platform.gpu_count());
      if (busy >= 0) free.erase(free.begin() + busy);
      if (busy >= 0) colours[at(busy)] = 1;
      const auto symmetries = gpu_symmetries(platform, colours);
      for (int size = 1; size <= std::min<int>(6, static_cast<int>(free.size())); ++size) {
        INFO(id << ", " << size << " GPUs, busy " << busy);
        const auto classes = placement::set_classes(free, size, symmetries);
        std::map<placement::GpuSet, std::size_t> class_of;
        for (std::size_t i = 0; i < classes.size(); ++i)
          for (const placement::GpuSet& set : classes[i]) class_of[set] = i;
        std::vector<std::int64_t> counts(classes.size(), 0);
        const auto orbits = placement::set_orbits(free, size, symmetries, 1000);
        CHECK(orbits.size() >= classes.size());
        if (in_boards) CHECK(orbits.size() == classes.size());
        CHECK(orbits.front().sets.front() == classes.front().front());
        for (const placement::SetOrbit& orbit : orbits) {
          const std::size_t of = class_of.at(orbit.sets.front());
          counts[of] += orbit.count;
          for (const placement::GpuSet& set : orbit.sets) CHECK(class_of.at(set) == of);
        }
        for (std::size_t i = 0; i < classes.size(); ++i) CHECK(counts[i] == std::ssize(classes[i]));
      }
    }
  }
}

TEST_CASE("machines whose GPUs are all different say what to do about too many sets") {
  CHECK_THROWS_WITH(placement::set_orbits(first_numbers(40), 5, {}, 300),
                    Catch::Matchers::Contains("more than 300 kinds of sets") &&
                        Catch::Matchers::Contains("as busy, or take fewer ranks"));
}

TEST_CASE("placement: what is refused") {
  CHECK(says(error_of({{"ranks", 0}}), "/ranks: must be at least 1"));
  CHECK(says(error_of({{"ranks", 9}}), "9 GPUs are asked for, and 8 of the 8"));
  CHECK(says(error_of({{"busy", {0, 1, 2, 3, 4}}}), "and 3 of the 8"));
  CHECK(says(error_of({{"busy", {"gpu9"}}}), "/busy/0: 9 is no GPU of p100-dgx1: 0 to 7"));
  CHECK(says(error_of({{"busy", 3}}), "/busy: must be an array"));
  CHECK(says(error_of({{"job", "all_reduce"}}), "needs a size"));
  CHECK(says(error_of({{"job", "all_reduce:8Q"}}), "/job: "));
  CHECK(says(error_of({{"job", {{"op", "all_sum"}, {"size_B", 8}}}}), "all_sum"));
  CHECK(says(error_of({{"job", "no-such-trace"}}), "no-such-trace"));
  CHECK(says(error_of({{"job", {{"op", "all_reduce"}, {"size_B", 8}, {"trace", "x"}}}}), "/job"));
  CHECK(says(error_of({{"objective", "cost"}}), "/objective"));
  CHECK(says(error_of({{"objective", "both"}}), "needs neighbours"));
  CHECK(says(error_of({{"top", 0}}), "/top: must be at least 1"));
  CHECK(says(error_of({{"rank", 4}}), "/rank"));
  CHECK(says(error_of({{"with", {{{"job", "all_reduce:1MiB"}, {"gpus", {0}}}}}}), "/with/0/gpus"));
  CHECK(says(error_of({{"with", {{{"job", "data_parallel"}, {"gpus", {0, 1}}}}}}), "beside traces"));
}

TEST_CASE("placement: sizes of ranks as text and as a list are the same job", "[unit]") {
  const auto answer = [](const Json& job, const Json& with) {
    return query::answer(
        catalogue(),
        {{"kind", "place"}, {"platform", "gx8"}, {"library", "nccl-2.18"}, {"job", job}, {"ranks", 2}, {"with", with}});
  };
  const Json pairs{{"op", "alltoallv"}, {"sizes_B", {{0, 1048576}, {2097152, 0}}}};
  const Json as_text = answer("allgatherv:1MiB,2MiB", {{{"job", "alltoallv:0,1MiB;2MiB,0"}, {"gpus", {6, 7}}}});
  const Json as_list =
      answer({{"op", "allgatherv"}, {"sizes_B", {1048576, 2097152}}}, {{{"job", pairs}, {"gpus", {6, 7}}}});
  INFO(as_text.dump());
  REQUIRE(as_text.contains("time_s"));
  CHECK(as_text["time_s"] == as_list["time_s"]);
  CHECK(as_text["placements"] == as_list["placements"]);
  CHECK(as_text["neighbours"] == as_list["neighbours"]);
}

TEST_CASE("placement: what is refused of sizes of ranks", "[unit]") {
  CHECK(says(error_of({{"job", "allgatherv:1MiB,2MiB"}}), "/job: has sizes of 2 ranks, and there are 4"));
  CHECK(says(error_of({{"job", "allgatherv:1MiB,2M"}}), "/job: "));
  CHECK(says(error_of({{"job", "all_reduce:1MiB,2MiB"}}), "the parts of all_reduce are equal"));
  for (const Json& one : {Json("1MiB"), Json(1048576)})
    CHECK(says(error_of({{"job", {{"op", "allgatherv"}, {"sizes_B", one}}}}),
               "/job/sizes_B: must be an array of sizes, one for each rank"));
  CHECK(says(error_of({{"job", {{"op", "allgatherv"}, {"sizes_B", "x"}}}}), "/job/sizes_B: "));
}

TEST_CASE("one rank: any GPU does, and what stays joined decides") {
  Json query{{"kind", "place"}, {"platform", "v100-dgx1"}, {"job", "all_reduce:64MiB"}, {"ranks", 1}};
  const Json placed = query::answer(catalogue(), query);
  CHECK(placed["time_s"] == 0);
  CHECK(placed["classes"].size() >= 1);
  CHECK(placed["warnings"].dump().find("moves nothing") != std::string::npos);
}

TEST_CASE("a trace's placement has the interval of its replay", "[unit]") {
  Json job{{"trace", "data_parallel"}, {"options", {{"ranks", "4"}, {"steps", "2"}}}};
  const Json placed = query::answer(
      catalogue(), {{"kind", "place"}, {"platform", "v100-dgx1"}, {"job", job}, {"ranks", 4}, {"top", 1}});
  INFO(placed.dump());
  REQUIRE(placed.contains("gpus"));
  const Json replayed = query::answer(catalogue(), {{"kind", "replay"},
                                                    {"platform", "v100-dgx1"},
                                                    {"trace", "data_parallel"},
                                                    {"options", job["options"]},
                                                    {"placement", placed["gpus"]}});
  CHECK(placed["time_s"] == replayed["step_time_s"]);
  CHECK(placed["time_low_s"] == replayed["step_time_low_s"]);
  CHECK(placed["time_high_s"] == replayed["step_time_high_s"]);
  CHECK(placed["time_low_s"].get<double>() < placed["time_s"].get<double>());
}

TEST_CASE("without NVLink the reason is none of NVLink", "[unit]") {
  const Json placed = query::answer(catalogue(), {{"kind", "place"},
                                                  {"platform", "p100-dgx1"},
                                                  {"edits", {"disable nvlink"}},
                                                  {"job", "all_reduce:64MiB"},
                                                  {"ranks", 4}});
  CHECK(says(placed.value("why", ""), "goes through host memory"));
}

TEST_CASE("rank orders beyond what may be spent: an answer that says it is not exact", "[unit]") {
  Json job{{"trace", "transformer"},
           {"options", {{"pp", "2"}, {"dp", "2"}, {"tp", "2"}, {"steps", "1"}, {"layers", "2"}}}};
  const Json placed = query::answer(
      catalogue(),
      {{"kind", "place"}, {"platform", "v100-dgx1"}, {"job", job}, {"ranks", 8}, {"library", "nccl-2.18"}, {"top", 1}});
  INFO(placed.dump());
  REQUIRE(placed.contains("search"));
  CHECK(placed["search"]["exact"] == false);
  CHECK(placed["search"]["evaluated"].get<long>() <= 401);
  CHECK(placed["time_s"].get<double>() <= placed["first_free"]["time_s"].get<double>());
}

}  // namespace linkcast::test::placement_test
