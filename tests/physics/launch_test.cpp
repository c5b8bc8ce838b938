// Calls that a host issues: closed forms of who waits for whom.
#include "sim/forecast/launching.hpp"
#include "tests/support/ask.hpp"
#include "tests/support/catch.hpp"

namespace linkcast::test::launch_test {

using Catch::Matchers::WithinRel;

namespace {

launch::Launching issued(double host_s, double wait_s, int calls) {
  return {launch::Kind::kProcess, calls, {host_s, host_s, host_s}, {wait_s, wait_s, wait_s}};
}

double fitted(const std::string& name) {
  return catalogue().machine("hgx-h200")->platform().calibration().find("launch." + name)->value;
}

Json collective(const std::string& op, int gpus, Json more) {
  Json query{{"platform", "hgx-h200"}, {"kind", "collective"}, {"op", op}, {"size_B", 4096}};
  for (int gpu = 0; gpu < gpus; ++gpu) query["gpus"].push_back(gpu);
  query.update(more);
  return ask(query);
}

double host_s(const std::string& op, int gpus, const std::string& launch) {
  return collective(op, gpus, {{"launch", launch}})["host_s"].get<double>();
}

Json copies(int count, Json more) {
  Json query{{"platform", "hgx-h200"}, {"kind", "flows"}};
  for (int to = 1; to <= count; ++to) query["flows"].push_back({"gpu0", "gpu" + std::to_string(to), 4096});
  query.update(more);
  return ask(query);
}

}  // namespace

TEST_CASE("one call from rest takes host, devices and wait, many the slower of host and devices", "[physics]") {
  CHECK_THAT(issued(5, 3, 1).time_s(7), WithinRel(5 + 7 + 3.0, 1e-12));
  CHECK_THAT(issued(5, 3, 20).time_s(7), WithinRel((5 + 20 * 7 + 3) / 20.0, 1e-12));
  CHECK_THAT(issued(7, 3, 20).time_s(5), WithinRel((20 * 7 + 5 + 3) / 20.0, 1e-12));
  CHECK_THAT(issued(7, 3, 1000000).time_s(5), WithinRel(7.0, 1e-5));
  CHECK(launch::Launching{}.time_s(5) == 5);  // graphs
}

TEST_CASE("the ends of the interval are those of host, devices and wait together", "[physics]") {
  launch::Launching issuing = issued(5, 3, 1);
  issuing.host = {5, 4, 8};
  issuing.wait = {3, 2, 4};
  const Calibration calibration;
  uncertainty::Terms terms(calibration, 7, {6, 9});  // without a spread of its own
  issuing.issue(terms);
  CHECK_THAT(terms.time_s(), WithinRel(5 + 7 + 3.0, 1e-12));
  const uncertainty::Interval found = terms.interval();
  CHECK_THAT(found.low_s, WithinRel(4 + 6 + 2.0, 1e-12));
  CHECK_THAT(found.high_s, WithinRel(8 + 9 + 4.0, 1e-12));
}

TEST_CASE("one thread pays for each GPU and each further send, an issuer a GPU does not", "[physics]") {
  const double call = fitted("single_process.call_s"), gpu = fitted("single_process.gpu_s"),
               send = fitted("single_process.send_s");
  for (const int gpus : {2, 3, 4, 8}) {
    CHECK_THAT(host_s("all_reduce", gpus, "single_process"), WithinRel(call + gpus * gpu, 1e-12));
    // nccl-tests' alltoall sends to every rank, itself too
    CHECK_THAT(host_s("alltoall", gpus, "single_process"), WithinRel(call + gpus * (gpu + (gpus - 1) * send), 1e-12));
    CHECK_THAT(host_s("all_reduce", gpus, "process"), WithinRel(fitted("process.call_s"), 1e-12));
    CHECK_THAT(host_s("alltoall", gpus, "pytorch"), WithinRel(fitted("pytorch.call_s"), 1e-12));
    CHECK_THAT(host_s("sendrecv", gpus, "pytorch"), WithinRel(fitted("pytorch.batch_s"), 1e-12));
  }
}

/// The root of n gets n messages and sends one, its own; each of the others sends one.
TEST_CASE("of a gather and a scatter each GPU pays for what it issues itself", "[physics]") {
  for (const std::string op : {"gather", "scatter"})
    for (const int gpus : {2, 4, 8}) {
      CHECK_THAT(host_s(op, gpus, "single_process"), WithinRel(host_s("all_reduce", gpus, "single_process"), 1e-12));
      CHECK_THAT(host_s(op, gpus, "process"),
                 WithinRel(fitted("process.call_s") + ((gpus + 1) / 2.0 - 1) * fitted("process.send_s"), 1e-12));
    }
}

TEST_CASE("a collective takes what its parts say, whatever is around it", "[physics]") {
  for (const Json& around :
       {Json::object(), Json{{"with", {{{"op", "all_reduce"}, {"gpus", {4, 5}}, {"size_B", 4096}}}}}}) {
    Json quiet{{"launch", "queue"}, {"calls", 20}}, issued{{"launch", "single_process"}, {"calls", 20}};
    Json captured{{"launch", "graph"}, {"calls", 20}};
    for (Json* one : {&quiet, &issued, &captured}) one->update(around);
    const Json devices = collective("all_gather", 4, quiet), all = collective("all_gather", 4, issued);
    const double device_s = devices["time_s"], host = all["host_s"], wait = fitted("synchronise.call_s");
    CHECK_THAT(all["device_s"].get<double>(), WithinRel(device_s, 1e-12));
    CHECK_THAT(all["time_s"].get<double>(), WithinRel((20 * host + device_s + wait) / 20, 1e-9));
    CHECK(all["time_low_s"].get<double>() < all["time_s"].get<double>());
    CHECK(all["time_high_s"].get<double>() > all["time_s"].get<double>());
    // of a graph each call follows the one before sooner than queued ones do
    const double sooner_s = parameter("hgx-h200", "nccl.graph.sooner_s");
    CHECK(sooner_s > 0);
    CHECK_THAT(collective("all_gather", 4, captured)["time_s"].get<double>(), WithinRel(device_s - sooner_s, 1e-9));
  }
}

TEST_CASE("a host that is known scales all that it issues, and is guessed after no other machine", "[physics]") {
  for (const std::string launch : {"process", "single_process", "pytorch"}) {
    const Json known = collective("alltoall", 4, {{"launch", launch}, {"host_scale", 1.5}});
    CHECK_THAT(known["host_s"].get<double>(), WithinRel(1.5 * host_s("alltoall", 4, launch), 1e-12));
  }
  CHECK_THAT(copies(3, {{"launch", "process"}, {"host_scale", 2}})["host_s"].get<double>(),
             WithinRel(2 * copies(3, {{"launch", "process"}})["host_s"].get<double>(), 1e-12));
  const auto width = [](const Json& more) {
    const Json answer = collective("all_reduce", 2, more);
    return answer["time_high_s"].get<double>() / answer["time_low_s"].get<double>();
  };
  const Json elsewhere{{"platform", "dgx-a100"}, {"launch", "pytorch"}};
  Json known = elsewhere;
  known["host_scale"] = 1;
  CHECK(width(known) < width(elsewhere));
  const auto error = [](Json more) {
    Json query{{"platform", "hgx-h200"}, {"kind", "collective"}, {"op", "all_reduce"}, {"size_B", 8}, {"gpus", {0, 1}}};
    query.update(more);
    return query::answer(catalogue(), query).value("error", "");
  };
  CHECK(error({{"launch", "graph"}, {"host_scale", 2}}).find("launch is graph") != std::string::npos);
  for (const double scale : {0.0, 1e-4, 1e4, 1e308})
    CHECK(error({{"host_scale", scale}}).find("must be 0.001 to 1000") != std::string::npos);
  CHECK(error({{"library", "mpi-openmpi"}, {"host_scale", 2}}).find("host_scale") != std::string::npos);
}

TEST_CASE("copies of a CPU start one behind the other", "[physics]") {
  const double issue = fitted("copy.call_s"), wait = fitted("synchronise.call_s");
  const Json one{{"platform", "hgx-h200"}, {"kind", "p2p"}, {"src", "gpu0"}, {"dst", "gpu1"}, {"size_B", 4096}};
  Json queued = one, single = one;
  single.update({{"timing", "single"}, {"launch", "process"}});
  CHECK_THAT(ask(single)["time_s"].get<double>(), WithinRel(issue + ask(queued)["time_s"].get<double>() + wait, 1e-9));
  // by kernels, which do not wait for each other: the last one is issued last
  const double kernel = fitted("kernel.call_s");
  const double alone_s = copies(1, {{"engine", "sm"}, {"launch", "process"}})["time_s"].get<double>() - kernel - wait;
  const Json three = copies(3, {{"engine", "sm"}, {"launch", "process"}});
  CHECK_THAT(three["time_s"].get<double>(), WithinRel(3 * kernel + alone_s + wait, 1e-6));
  CHECK_THAT(three["host_s"].get<double>(), WithinRel(3 * kernel, 1e-9));
  // in a queue the slower of host and devices sets the pace
  CHECK_THAT(copies(3, {{"engine", "sm"}, {"launch", "process"}, {"timing", "back_to_back"}})["time_s"].get<double>(),
             WithinRel(3 * kernel, 1e-9));
}

TEST_CASE("more bytes never take less, whoever issues them", "[physics]") {
  for (const std::string launch : {"graph", "process", "single_process", "pytorch"}) {
    double before = 0;
    for (double size_B = 8; size_B < 1e9; size_B *= 4) {
      const double time_s = collective("all_reduce", 4, {{"launch", launch}, {"size_B", size_B}})["time_s"];
      CHECK(time_s >= before * (1 - 1e-9));
      before = time_s;
    }
  }
}

}  // namespace linkcast::test::launch_test
