// Collectives whose parts differ in size: against those of equal parts, against closed forms, and what is refused.
#include <cmath>
#include <numeric>

#include "sim/forecast/algorithm.hpp"
#include "sim/machine/collective.hpp"
#include "sim/query/key.hpp"
#include "sim/query/query.hpp"
#include "tests/support/catalogue.hpp"
#include "tests/support/catch.hpp"

namespace linkcast::test::sizes_per_rank_test {

namespace {

constexpr double kMi = 1048576;

struct Where {
  Json ranks;
  int count;
};

Where in_node(const std::string& platform, int gpus) {
  Json ranks{{"platform", platform}, {"gpus", Json::array()}};
  for (int gpu = 0; gpu < gpus; ++gpu) ranks["gpus"].push_back(gpu);
  return {ranks, gpus};
}

Where between(const std::string& platform, int nodes, int per_node) {
  return {{{"platform", platform}, {"nodes", nodes}, {"gpus_per_node", per_node}}, nodes * per_node};
}

Json asked(const Where& where, const std::string& op, const Json& more) {
  Json query{{"kind", "collective"}, {"launch", "graph"}, {"op", op}};
  query.update(where.ranks);
  query.update(more);
  return query::answer(catalogue(), query);
}

Json answer(const Where& where, const std::string& op, const Json& more) {
  Json result = asked(where, op, more);
  INFO(where.ranks.dump() << op << more.dump());
  REQUIRE(result.value("error", "") == "");
  return result;
}

double time_s(const Where& where, const std::string& op, const Json& more) {
  return answer(where, op, more)["time_s"].get<double>();
}

Json with(Json more, const std::string& key, const Json& value) {
  more[key] = value;
  return more;
}

Json matrix(int ranks, double part_B) {
  return Json(std::vector<std::vector<double>>(static_cast<std::size_t>(ranks),
                                               std::vector<double>(static_cast<std::size_t>(ranks), part_B)));
}

bool says(const std::string& error, const std::string& what) { return error.find(what) != std::string::npos; }

/// Places in a node, between nodes, and of libraries of messages, with an algorithm of both operations.
struct Setting {
  Where where;
  Json more;
};

std::vector<Setting> settings_of_alltoall() {
  const Where node = in_node("hgx-h200", 4), old = in_node("v100-dgx1", 5), nodes = between("leonardo", 3, 2);
  return {{node, {{"library", "nccl-2.18"}}},
          {node, {{"library", "nccl-2.30"}}},
          {old, {{"library", "nccl-2.7"}}},
          {nodes, {{"library", "nccl-2.18"}, {"engine", "direct"}}},
          {nodes, {{"library", "mpi-openmpi"}, {"algorithm", "linear"}}},
          {nodes, {{"library", "mpi-openmpi"}, {"algorithm", "pairwise"}}},
          {nodes, {{"library", "mpi-staged"}, {"algorithm", "bruck"}}},
          {node, {{"library", "mpi-mpich"}, {"algorithm", "scattered"}}}};
}

}  // namespace

TEST_CASE("alltoallv of equal parts takes what alltoall takes", "[physics]") {
  for (const Setting& setting : settings_of_alltoall()) {
    for (const double part : {8.0, 1000.0, 16384.0, 65536.0, 3 * kMi, 40 * kMi}) {
      const int ranks = setting.where.count;
      const double equal = time_s(setting.where, "alltoall", with(setting.more, "size_B", part * ranks));
      CHECK_THAT(time_s(setting.where, "alltoallv", with(setting.more, "sizes_B", matrix(ranks, part))),
                 WithinRel(equal, 1e-9));
      CHECK_THAT(time_s(setting.where, "alltoallv", with(setting.more, "size_B", part * ranks)),
                 WithinRel(equal, 1e-9));
    }
  }
}

TEST_CASE("allgatherv of equal parts takes what all_gather takes where both run the same", "[physics]") {
  const std::vector<Setting> settings = {
      {in_node("hgx-h200", 4), {{"library", "nccl-2.18"}, {"protocol", "Simple"}}},
      {between("leonardo", 4, 4), {{"library", "nccl-2.18"}, {"protocol", "Simple"}}},
      {between("leonardo", 3, 2), {{"library", "mpi-openmpi"}, {"algorithm", "ring"}}},
      {between("leonardo", 3, 2), {{"library", "mpi-mpich"}, {"algorithm", "bruck"}}},
      {between("leonardo", 3, 2), {{"library", "mpi-staged"}, {"algorithm", "linear"}}},
      {between("leonardo", 4, 2), {{"library", "mpi-cray"}, {"algorithm", "recursive_doubling"}}}};
  for (const Setting& setting : settings) {
    const int ranks = setting.where.count;
    const double part = 64 * kMi;
    const std::vector<double> parts(static_cast<std::size_t>(ranks), part);
    const double equal = time_s(setting.where, "all_gather", with(setting.more, "size_B", part * ranks));
    CHECK_THAT(time_s(setting.where, "allgatherv", with(setting.more, "sizes_B", parts)), WithinRel(equal, 1e-9));
    CHECK_THAT(time_s(setting.where, "allgatherv", with(setting.more, "size_B", part * ranks)), WithinRel(equal, 1e-9));
  }
}

TEST_CASE("no entry that grows makes an alltoallv shorter", "[physics]") {
  // A message of more than 16 MiB takes twice the channels (models/libraries/SOURCES.md, "Graph era: messages"), and
  // less time where they limit it: the largest message stays below that, or above it.
  for (const double largest : {12 * kMi, 20 * kMi})
    for (const Setting& setting : settings_of_alltoall()) {
      const int ranks = setting.where.count;
      Json sizes = matrix(ranks, 4 * kMi);
      sizes[1][0] = 0;
      sizes[0][2] = largest;
      // Of rounds through host memory a message that grows can let another one go first that more wait for: one
      // start-up less, 1.02 us on Leonardo (paper 002, section V-B2), of 7.4 ms.
      const double order_s = setting.more.value("library", "") == "mpi-staged" ? 1.03e-6 : 0;
      const double before = time_s(setting.where, "alltoallv", with(setting.more, "sizes_B", sizes));
      for (int from = 0; from < ranks; ++from) {
        for (int to = 0; to < ranks; ++to) {
          Json more = sizes;
          const auto i = static_cast<std::size_t>(from), j = static_cast<std::size_t>(to);
          more[i][j] = more[i][j].get<double>() + 2 * kMi;
          const double after = time_s(setting.where, "alltoallv", with(setting.more, "sizes_B", more));
          INFO(setting.where.ranks.dump() << setting.more.dump() << ' ' << from << " to " << to);
          CHECK(after >= before * (1 - 1e-9) - order_s);
        }
      }
    }
}

TEST_CASE("no part that grows makes an allgatherv shorter", "[physics]") {
  const std::vector<Setting> settings = {{in_node("hgx-h200", 4), {{"library", "nccl-2.18"}}},
                                         {in_node("v100-dgx1", 4), {{"library", "nccl-2.3"}}},
                                         {between("leonardo", 2, 2), {{"library", "nccl-2.18"}}},
                                         {between("leonardo", 2, 2), {{"library", "mpi-openmpi"}}}};
  for (const Setting& setting : settings) {
    const std::vector<double> sizes = {32 * kMi, 0, 48 * kMi, 64 * kMi};
    const double before = time_s(setting.where, "allgatherv", with(setting.more, "sizes_B", sizes));
    for (std::size_t rank = 0; rank < sizes.size(); ++rank) {
      std::vector<double> more = sizes;
      more[rank] += 16 * kMi;
      CHECK(time_s(setting.where, "allgatherv", with(setting.more, "sizes_B", more)) >= before * (1 - 1e-9));
    }
  }
}

TEST_CASE("nothing to send costs the start-up", "[physics]") {
  for (const Setting& setting : settings_of_alltoall()) {
    if (setting.more["library"].get<std::string>().rfind("nccl", 0) != 0) continue;
    const Json none = answer(setting.where, "alltoallv", with(setting.more, "sizes_B", matrix(setting.where.count, 0)));
    CHECK(none["time_s"].get<double>() > 0);
    CHECK(none["time_s"] == none["latency_s"]);
    CHECK(none["algbw_Bps"] == 0);
  }
  for (const char* library : {"nccl-2.7", "nccl-2.18", "nccl-2.27", "nccl-2.30"}) {
    const Json gathered = answer(in_node("hgx-h200", 3), "allgatherv", {{"library", library}, {"sizes_B", {0, 0, 0}}});
    CHECK(gathered["time_s"] == gathered["latency_s"]);
  }
  const Where nodes = between("leonardo", 3, 2);
  const Json messages = answer(nodes, "alltoallv", {{"library", "mpi-openmpi"}, {"sizes_B", matrix(6, 0)}});
  CHECK_THAT(messages["time_s"].get<double>(), WithinRel(messages["latency_s"].get<double>(), 1e-9));
  CHECK(messages["time_high_s"].get<double>() < 10 * messages["time_s"].get<double>());
  const Json others{{{"op", "all_reduce"}, {"gpus", {0, 1}}, {"size_B", 64 * kMi}}};
  const Json nothing{{"library", "nccl-2.18"}, {"sizes_B", {{0, 0}, {0, 0}}}};
  const Where pair = in_node("hgx-h200", 2);
  CHECK(answer(pair, "alltoallv", with(nothing, "with", others))["time_s"] ==
        answer(pair, "alltoallv", nothing)["time_s"]);
}

TEST_CASE("the busiest rank decides: one that sends all to one is a single message", "[physics]") {
  const Where where = in_node("hgx-h200", 4);
  Json sizes = matrix(4, 0);
  sizes[2][1] = 64 * kMi;
  const Json one = answer(where, "alltoallv", {{"library", "nccl-2.18"}, {"sizes_B", sizes}});
  const Json pair = answer({{{"platform", "hgx-h200"}, {"gpus", {2, 1}}}, 2}, "alltoallv",
                           {{"library", "nccl-2.18"}, {"sizes_B", {{0, 64 * kMi}, {0, 0}}}});
  CHECK(one["algbw_Bps"].get<double>() > 0);
  CHECK(one["bottleneck"] == pair["bottleneck"]);
  sizes[0][3] = 64 * kMi;  // of others: behind switches they are in nobody's way
  CHECK_THAT(time_s(where, "alltoallv", {{"library", "nccl-2.18"}, {"sizes_B", sizes}}),
             WithinRel(one["time_s"].get<double>(), 1e-9));
}

TEST_CASE("a row of sizes is what its rank sends, and the size is the fullest buffer", "[physics]") {
  const auto op = collectives().get("alltoallv").with_parts({0, 5, 0, 0});
  const auto messages = op->messages({5}, 2);
  REQUIRE(messages.size() == 1);
  CHECK(messages.front().from == 0);
  CHECK(messages.front().to == 1);
  Json sizes = matrix(3, 0);
  sizes[1][0] = sizes[2][0] = 64 * kMi;
  const Json gathered = answer(in_node("hgx-h200", 3), "alltoallv", {{"library", "nccl-2.18"}, {"sizes_B", sizes}});
  CHECK_THAT(gathered["algbw_Bps"].get<double>() * gathered["time_s"].get<double>(), WithinRel(128 * kMi, 1e-9));
}

TEST_CASE("a ring carries all parts but the smallest over its busiest hop", "[physics]") {
  const auto op = collectives().get("allgatherv").with_parts({5e6, 1e6, 3e6});
  CHECK(op->bytes_per_hop({9e6}, 3).si == 8e6);
  CHECK(op->steps(3) == 2);
  CHECK_THAT(collectives().get("allgatherv").bytes_per_hop({9e6}, 3).si, WithinRel(6e6, 1e-12));
}

TEST_CASE("a schedule of parts moves each part's bytes", "[physics]") {
  const int ranks = 5;
  std::vector<double> parts_B(ranks * ranks);
  std::iota(parts_B.begin(), parts_B.end(), 1.0);
  const double size_B = 1000;
  double expected = 0;
  for (int from = 0; from < ranks; ++from)
    for (int to = 0; to < ranks; ++to)
      if (from != to) expected += parts_B[static_cast<std::size_t>(from * ranks + to)];
  for (const char* name : {"linear", "pairwise", "scattered"}) {
    const Schedule schedule = with_parts(algorithms().get(name).schedule("alltoall", ranks), parts_B, size_B);
    double sum = 0;
    for (const Phase& phase : schedule.phases) {
      for (int round = 0; round < phase.rounds; ++round) {
        std::vector<ScheduledMessage> messages;
        phase.add(round, false, messages);
        for (const ScheduledMessage& message : messages) sum += message.share * size_B;
      }
    }
    CHECK_THAT(sum, WithinRel(expected, 1e-12));
  }
}

TEST_CASE("sizes that are no sizes are refused where they are", "[physics]") {
  const Where two = in_node("hgx-h200", 2);
  const auto error = [&](const std::string& op, const Json& more) {
    return asked(two, op, with(more, "library", "nccl-2.18")).value("error", "");
  };
  CHECK(says(error("allgatherv", {{"sizes_B", {1}}}), "/sizes_B: must be an array of 2 sizes, one for each rank"));
  CHECK(says(error("alltoallv", {{"sizes_B", {1, 2, 3}}}), "/sizes_B: must be an array of 2 rows"));
  CHECK(says(error("alltoallv", {{"sizes_B", {{1, 2}, {3}}}}),
             "/sizes_B/1: must be an array of 2 sizes, one for each rank"));
  CHECK(says(error("alltoallv", {{"sizes_B", {{1, 2}, {-3, 4}}}}),
             "/sizes_B/1/0: must be a whole number of bytes from 0 to 2^53"));
  CHECK(says(error("allgatherv", {{"sizes_B", {1, 0.5}}}), "/sizes_B/1: must be a whole number"));
  CHECK(says(error("allgatherv", {{"sizes_B", {std::nan(""), 1}}}), "/sizes_B/0: must be a whole"));
  CHECK(says(error("allgatherv", {{"sizes_B", {1, HUGE_VAL}}}), "/sizes_B/1: must be a whole"));
  CHECK(says(error("allgatherv", {{"sizes_B", {1, "two"}}}), "/sizes_B/1: 'two' is not a size"));
  CHECK(says(error("allgatherv", {{"sizes_B", {1, 2}}, {"size_B", 3}}), "/sizes_B: says all sizes"));
  CHECK(says(error("alltoall", {{"sizes_B", {{1, 2}, {3, 4}}}}),
             "/sizes_B: the parts of alltoall are equal: give size_B"));
  CHECK(says(error("alltoallv", Json::object()), "/size_B"));
}

TEST_CASE("alltoallv: where many messages are shared out late the answer says so", "[physics]") {
  const auto sizes = [](int ranks) {
    Json rows = Json::array();
    for (int from = 0; from < ranks; ++from) {
      Json row = Json::array();
      for (int to = 0; to < ranks; ++to)
        row.push_back(from == to ? 0 : (1 << 18) + (from * 7919 + to * 104729) % 786433);
      rows.push_back(std::move(row));
    }
    return rows;
  };
  const auto late = [&](int nodes) {
    const Json answer = asked(between("leonardo", nodes, 4), "alltoallv",
                              {{"library", "nccl-2.18"}, {"engine", "direct"}, {"sizes_B", sizes(4 * nodes)}});
    return says(answer.at("warnings").dump(), "shared out anew at most once in 0.4 %");
  };
  CHECK(late(16));
  CHECK(!late(4));
}

TEST_CASE("what cannot be forecast with sizes is refused in one line", "[physics]") {
  const Json old =
      asked(in_node("v100-dgx1", 2), "alltoallv", {{"library", "nccl-2.3"}, {"sizes_B", {{0, 1}, {1, 0}}}});
  CHECK(says(old.value("error", ""), "nccl-2.3 has no alltoallv"));
  const Json many =
      asked(between("leonardo", 257, 4), "alltoallv", {{"library", "nccl-2.18"}, {"sizes_B", matrix(1028, 1)}});
  CHECK(says(many.value("error", ""), "takes at most 1024"));
  const Json rounds =
      asked(between("leonardo", 32, 4), "alltoallv", {{"library", "mpi-openmpi"}, {"sizes_B", matrix(128, 1)}});
  CHECK(says(rounds.value("error", ""), "sizes_B: too many messages of "));
}

TEST_CASE("beside another communicator, and where sizes are not asked for, parts are as said or equal", "[physics]") {
  const Where pair = in_node("hgx-h200", 2);
  const Json other{{{"op", "alltoallv"}, {"gpus", {2, 3}}, {"size_B", 8 * kMi}}};
  const Json beside = answer(pair, "allgatherv", {{"library", "nccl-2.18"}, {"sizes_B", {kMi, 0}}, {"with", other}});
  // Of other GPUs behind switches: neither slows the other.
  CHECK_THAT(beside["slowdown"].get<double>(), WithinRel(1.0, 1e-9));
  CHECK_THAT(beside["others"][0]["time_s"].get<double>(),
             WithinRel(beside["others"][0]["alone_s"].get<double>(), 1e-12));
  for (const char* job : {"alltoallv:64MiB", "allgatherv:64MiB"}) {
    const Json placed = query::answer(
        catalogue(),
        {{"kind", "place"}, {"platform", "v100-dgx1"}, {"job", job}, {"ranks", 3}, {"library", "nccl-2.18"}});
    CHECK(placed.value("error", "") == "");
  }
}

TEST_CASE("sizes are lists, or rows, on the command line", "[physics]") {
  CHECK(query::sizes_of("1MiB,0,2KiB", "--sizes") == Json({1048576.0, 0.0, 2048.0}));
  CHECK(query::sizes_of("0,1MiB;2MiB,0", "--sizes") == Json({{0.0, 1048576.0}, {2097152.0, 0.0}}));
  CHECK_THROWS_AS(query::sizes_of("1MiB,,2", "--sizes"), InputError);
  CHECK_THROWS_AS(query::sizes_of("8Q", "--sizes"), InputError);
}

}  // namespace linkcast::test::sizes_per_rank_test
