// Queries of kind replay, and replays whose time a formula gives.
#include <fstream>

#include "sim/machine/trace_source.hpp"
#include "sim/query/query.hpp"
#include "tests/support/catch.hpp"
#include "tests/unit/program.hpp"

namespace linkcast::test::replay_query_test {

namespace {

Json ask(Json query) {
  static catalogue::Catalogue catalogue(test::data_dir());
  query["kind"] = "replay";
  return query::answer(catalogue, query);
}

double step_s(const Json& result) { return result.at("step_time_s").get<double>(); }

}  // namespace

TEST_CASE("every application runs to its end on a machine", "[physics]") {
  for (const PluginInfo& info : trace_generators().list()) {
    const Json result = ask({{"platform", "hgx-h200"}, {"trace", info.name}});
    INFO(info.name << " " << result.value("error", ""));
    CHECK_FALSE(result.contains("error"));
    CHECK(result.value("time_s", 0.0) > 0);
    CHECK((result.at("ranks").size() == 1) == (result.at("traffic").at("total_B") == 0));
  }
}

TEST_CASE("without a network to cross, a step is the sum of its computations", "[physics]") {
  const Json result = ask({{"platform", "p100-dgx1"}, {"trace", "spin_glass"}, {"options", {{"nodes", 1}}}});
  CHECK_THAT(step_s(result), WithinRel(921e-12 * 256 * 256 * 256, 1e-9));  // paper 004, table II
}

TEST_CASE("a pipeline's step is its microbatches and one bubble", "[physics]") {
  const int pp = GENERATE(2, 4);
  const auto run = [&](int batch, int stages) {
    return step_s(ask({{"platform", "hgx-h200"},
                       {"trace", "transformer"},
                       {"options", {{"pp", stages}, {"batch", batch}, {"vocabulary", 1}}}}));
  };
  // Narayanan et al., SC 2021, section 2.2: the bubble is (p - 1) / m of the ideal time. What messages add is small.
  const int batch = 16;
  const double ideal_s = run(batch, 1) / pp;
  CHECK(run(batch, pp) >= ideal_s * (1 + (pp - 1.0) / batch));
  CHECK_THAT(run(batch, pp), WithinRel(ideal_s * (1 + (pp - 1.0) / batch), 0.01));
}

TEST_CASE("training on one GPU takes the same time on every machine, and less on more", "[physics]") {
  const auto run = [](const std::string& platform, int gpus) {
    return step_s(ask({{"platform", platform}, {"trace", "alexnet"}, {"options", {{"gpus", gpus}}}}));
  };
  CHECK(run("gx8", 1) == run("p100-dgx1", 1));
  // all_reduce moves at least 2 (n - 1) / n of the gradients over every GPU's links: 80 GB/s of four NVLinks
  const double wire_s = 2 * 7.0 / 8 * 4 * 60965224 / 80e9;
  CHECK(run("p100-dgx1", 8) >= run("p100-dgx1", 1) / 8 + wire_s);
}

TEST_CASE("a replay is without multicast where its trace was, unless it is asked otherwise", "[physics]") {
  const ScratchFolder scratch;
  const std::string path = (scratch / "trace.jsonl").string();
  const double size_B = 536870912;
  const auto write = [&](const Json& more) {
    Json header{{"schema", "trace/1"}, {"name", "x"}, {"ranks", 8}, {"source", "test"}};
    header["groups"]["all"] = {0, 1, 2, 3, 4, 5, 6, 7};
    header.update(more);
    std::ofstream out(path);
    out << header.dump() << '\n';
    for (int rank = 0; rank < 8; ++rank)
      out << Json{{"rank", rank}, {"kind", "collective"}, {"op", "all_reduce"}, {"group", "all"}, {"size_B", size_B}}
                 .dump()
          << '\n';
  };
  const auto replayed_s = [&](const Json& more) {
    Json query{{"platform", "hgx-h200"}, {"trace", path}};
    query.update(more);
    const Json result = ask(query);
    INFO(result.dump());
    REQUIRE_FALSE(result.contains("error"));
    return result["makespan_s"].get<double>();
  };
  const auto forecast_s = [&](bool nvls) {
    static catalogue::Catalogue catalogue(test::data_dir());
    const Json query{{"kind", "collective"},
                     {"platform", "hgx-h200"},
                     {"op", "all_reduce"},
                     {"launch", "graph"},
                     {"gpus", {0, 1, 2, 3, 4, 5, 6, 7}},
                     {"size_B", size_B},
                     {"calls", 1},
                     {"nvls", nvls}};
    return query::answer(catalogue, query)["time_s"].get<double>();
  };
  const double on_s = forecast_s(true), off_s = forecast_s(false);
  REQUIRE(on_s < 0.9 * off_s);
  write(Json::object());
  CHECK_THAT(replayed_s(Json::object()), WithinRel(on_s, 1e-9));
  CHECK_THAT(replayed_s({{"nvls", false}}), WithinRel(off_s, 1e-9));
  write({{"nvls", false}});
  CHECK_THAT(replayed_s(Json::object()), WithinRel(off_s, 1e-9));
  CHECK_THAT(replayed_s({{"nvls", true}}), WithinRel(on_s, 1e-9));
}

TEST_CASE("bad queries of replays are refused", "[physics]") {
  const auto refused = [](const Json& query, const std::string& why) {
    return ask(query).value("error", "").find(why) != std::string::npos;
  };
  CHECK(refused({{"platform", "gx8"}, {"trace", "alexnet"}, {"options", {{"gpu", 2}}}},
                "option gpu: alexnet takes gpus"));
  CHECK(refused({{"platform", "gx8"}, {"trace", "alexnet"}, {"options", Json::array({1})}}, "/options: must be"));
  CHECK(refused({{"platform", "gx8"}, {"trace", "no.jsonl"}},
                "'no.jsonl' is no file, no shipped trace and no application"));
  CHECK(refused({{"platform", "gx8"}, {"trace", "no.jsonl"}, {"options", {{"gpus", "2"}}}},
                "'no.jsonl' is no file, no shipped trace and no application"));
  CHECK(refused({{"platform", "gx8"}, {"trace", "alexnet"}, {"gpus", Json::array({1})}}, "/gpus"));
  CHECK(refused({{"platform", "gx8"}, {"trace", "alexnet"}, {"options", {{"gpus", 16}, {"batch", 16}}}},
                "alexnet has 16 ranks and the machine has 8 GPUs"));
}

TEST_CASE("a what-if changes a replay", "[physics]") {
  catalogue::Catalogue catalogue(test::data_dir());
  const Json both = query::whatif_answer(catalogue,
                                         {{"kind", "replay"},
                                          {"platform", "p100-dgx1"},
                                          {"trace", "alexnet"},
                                          {"options", {{"gpus", 4}}},
                                          {"edits", Json::array({"remove gpu0-gpu1"})}},
                                         "query");
  CHECK(step_s(both.at("after")) > step_s(both.at("before")));
}

}  // namespace linkcast::test::replay_query_test
