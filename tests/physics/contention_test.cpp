// Communicators that start together: who shares a link takes longer by a closed form, who shares none does not.
#include <cmath>

#include "sim/query/query.hpp"
#include "tests/support/ask.hpp"
#include "tests/support/catalogue.hpp"
#include "tests/support/catch.hpp"

namespace linkcast::test::contention_test {

namespace {

Json other(const std::string& op, double size_B, const std::vector<int>& gpus) {
  return {{"op", op}, {"size_B", size_B}, {"gpus", gpus}};
}

using Others = std::vector<Json>;

Json ask(const std::string& platform, const Json& main, const Others& with = {}, const Json& more = Json::object()) {
  Json query = main;
  query["kind"] = "collective";
  query["launch"] = "graph";
  query["platform"] = platform;
  for (const Json& one : with) query["with"].push_back(one);
  query.update(more);
  return query::answer(catalogue(), query);
}

Json result(const std::string& platform, const Json& main, const Others& with = {}, const Json& more = Json::object()) {
  Json found = ask(platform, main, with, more);
  INFO(main.dump() << " with " << Json(with).dump());
  REQUIRE(found.value("error", "") == "");
  return found;
}

double number(const Json& json, const char* key) { return json.at(key).get<double>(); }

bool says(const std::string& text, const std::string& part) { return text.find(part) != std::string::npos; }

/// What kernels get through all links of an H200: 128 of 144 bytes where copy engines get 256 of 272.
double h200_Bps() { return 18 * parameter("hgx-h200", "cable.nvlink4.bandwidth_Bps") * (128.0 / 144) / (256.0 / 272); }

void check_undisturbed(const std::string& platform, const Json& main, const Json& with, const Json& more) {
  const Json alone = result(platform, main, {}, more), both = result(platform, main, Others{with}, more);
  CHECK_THAT(number(both, "slowdown"), WithinRel(1.0, 1e-9));
  CHECK_THAT(number(both, "time_s"), WithinRel(number(alone, "time_s"), 1e-9));
  CHECK(both["others"][0]["alone_s"].get<double>() > 0);
  CHECK_THAT(number(both["others"][0], "time_s"), WithinRel(number(both["others"][0], "alone_s"), 1e-9));
}

}  // namespace

TEST_CASE("communicators that share no link do not slow each other", "[physics]") {
  for (const char* op : {"all_reduce", "all_gather", "broadcast", "alltoall"}) {
    CAPTURE(op);
    check_undisturbed("hgx-h200", other(op, 64 * kMiB, {0, 1, 2, 3}), other("all_reduce", 8 * kMiB, {4, 5, 6, 7}),
                      Json::object());
  }
  for (const char* library : {"nccl-2.3", "nccl-2.18"})
    for (const char* platform : {"p100-dgx1", "v100-dgx1"})
      check_undisturbed(platform, other("all_reduce", 64 * kMiB, {0, 1, 2, 3}),
                        other("all_reduce", 64 * kMiB, {4, 5, 6, 7}), {{"library", library}});
}

TEST_CASE("two communicators over the same NVLinks get half of them each", "[physics]") {
  const Json job = other("all_reduce", 256 * kMiB, {0, 1, 2, 3});
  const Json both = result("hgx-h200", job, Others{job});
  const double links = 1.5 * 256 * kMiB / h200_Bps();  // 2 (n - 1) / n = 1.5
  const double stretch = (number(both, "alone_s") - number(both, "latency_s")) / links;
  CHECK(stretch > 1.05);
  // half of the time that blocks wait alone is the others'
  CHECK_THAT(number(both, "time_s") - number(both, "latency_s"), WithinRel(2 * links * std::sqrt(stretch), 1e-9));
  CHECK(both["others"][0]["time_s"] == both["time_s"]);
  CHECK(both["others"][0]["alone_s"] == both["alone_s"]);
}

TEST_CASE("when the first communicator ends, the other speeds up", "[physics]") {
  const double small = 1.5 * 64 * kMiB, large = 1.5 * 512 * kMiB, link = h200_Bps();
  const Json both = result("hgx-h200", other("all_reduce", 512 * kMiB, {0, 1, 2, 3}),
                           Others{other("all_reduce", 64 * kMiB, {3, 2, 1, 0})});
  const double start = number(both, "latency_s");
  const double alone = number(both, "alone_s") - start;
  CHECK(alone > large / link);
  const double together = (number(both["others"][0], "time_s") - start) / (2 * small / link);
  CHECK(together > 1);
  CHECK(together < alone / (large / link));
  // What is left of the larger one takes what it would take alone, its blocks' waits included.
  CHECK_THAT(number(both, "time_s") - start,
             WithinRel(2 * small / link * together + (large - small) / large * alone, 0.005));
}

TEST_CASE("flows share by what their thread blocks would move alone", "[physics]") {
  // 24 blocks of either at GPU 0 and 1: each moves a half while both move, in 12 flows of a ring and in 3 of messages.
  const Json ring = other("all_reduce", 256 * kMiB, {0, 1}), messages = other("alltoall", 256 * kMiB, {0, 1, 2, 3});
  const Json both = result("hgx-h100", ring, Others{messages}, {{"nvls", false}});
  const double moved_B = 256 * kMiB, other_B = 0.75 * 256 * kMiB;  // through the port of GPU 0
  const double ended = number(both["others"][0], "time_s"), alone_Bps = moved_B / number(both, "alone_s");
  const double until_B = moved_B - (number(both, "time_s") - ended) * alone_Bps;
  CHECK_THAT(until_B / other_B, WithinRel(1.0, 0.3));
  CHECK(number(both, "slowdown") > 1.4);
}

TEST_CASE("two rings through host memory below the same switches share their uplinks", "[physics]") {
  // GPUs 0 and 1 hang below one switch, 4 and 5 below one of the other socket; neither 0 and 5 nor 1 and 4 are linked.
  const Json both = result("p100-dgx1", other("all_reduce", 256 * kMiB, {0, 5}),
                           Others{other("all_reduce", 256 * kMiB, {1, 4})}, {{"library", "nccl-2.3"}});
  REQUIRE(both["fallback"] == true);
  // each ring crosses each uplink once up and once down; the cable's two ways together carry duplex_Bps
  const double rate = parameter("p100-dgx1", "cable.pcie3.duplex_Bps") / 4;
  CHECK_THAT(number(both, "time_s") - number(both, "latency_s"), WithinRel(256 * kMiB / rate, 1e-9));
  CHECK(both["others"][0]["time_s"] == both["time_s"]);
  CHECK(number(both, "slowdown") > 1.2);
}

TEST_CASE("who is asked about and in which order changes nothing", "[physics]") {
  const Json a = other("all_reduce", 64 * kMiB, {0, 1, 2, 3}), b = other("alltoall", 32 * kMiB, {2, 3, 4, 5}),
             c = other("broadcast", 8 * kMiB, {5, 0});
  const Json abc = result("hgx-h200", a, Others{b, c}), acb = result("hgx-h200", a, Others{c, b}),
             bac = result("hgx-h200", b, Others{a, c});
  CHECK(number(abc, "slowdown") > 1.05);
  CHECK_THAT(number(abc, "time_s"), WithinRel(number(acb, "time_s"), 1e-9));
  CHECK_THAT(number(abc, "time_s"), WithinRel(number(bac["others"][0], "time_s"), 1e-9));
  CHECK_THAT(number(abc["others"][0], "time_s"), WithinRel(number(bac, "time_s"), 1e-9));
  CHECK_THAT(number(abc["others"][1], "time_s"), WithinRel(number(acb["others"][0], "time_s"), 1e-9));
}

TEST_CASE("GPUs in two communicators and shared links are said", "[physics]") {
  const auto warnings = [](const Json& with) {
    return result("hgx-h200", other("all_reduce", 64 * kMiB, {0, 1}), Others{with})["warnings"].dump();
  };
  CHECK(says(warnings(other("all_reduce", 64 * kMiB, {1, 2})), "GPUs in several communicators (1)"));
  CHECK(says(warnings(other("all_reduce", 64 * kMiB, {1, 2})), "share links fairly"));
  CHECK(warnings(other("all_reduce", 64 * kMiB, {2, 3})) == "[]");
}

TEST_CASE("wrong others are refused with their place", "[physics]") {
  const auto error = [](const Json& more) {
    return ask("hgx-h200", other("all_reduce", 64 * kMiB, {0, 1}), {}, more).value("error", "");
  };
  const auto with = [](const Json& one) { return Json{{"with", Json::array({one})}}; };
  Json unknown = other("all_reduce", 8, {2, 3}), sizeless = unknown, both = with(unknown);
  unknown["ring"] = 1;
  sizeless.erase("size_B");
  both["alternatives"] = true;
  CHECK(says(error(with(other("all_reduce", 1, {2, 8}))), "/with/0/gpus/1"));
  CHECK(says(error(with(sizeless)), "size_B"));
  CHECK(says(error(with(unknown)), "ring"));
  CHECK(says(error({{"with", "all_reduce"}}), "must be an array"));
  CHECK(says(error(both), "are forecast alone"));
}

}  // namespace linkcast::test::contention_test
