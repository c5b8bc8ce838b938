// CPU times of a recording: how far a replay's interval reaches, and what limits it.
#include <fstream>

#include "sim/query/query.hpp"
#include "sim/replay/summary.hpp"
#include "tests/support/catalogue.hpp"
#include "tests/support/catch.hpp"
#include "tests/unit/program.hpp"

namespace linkcast::test::recorded_host_test {

namespace {

/// Two events of 1 ms of CPU and 0.1 ms of GPU time. @param recording_s  of CPU time that recording added to each
Json replayed(const std::string& header, Json asked = {}, double recording_s = 0.0005, const std::string& more = "") {
  const ScratchFolder scratch;
  const std::string path = (scratch / "t.jsonl").string();
  const std::string event = R"({"rank":0,"kind":"compute",)" + more + R"("host_s":0.001,"recording_s":)" +
                            Json(recording_s).dump() + R"(,"time_s":0.0001})" + "\n";
  std::ofstream(path) << R"({"schema":"trace/1","name":"t","ranks":1,"source":"test")" << header << "}\n"
                      << event << event << R"({"rank":0,"kind":"step","stream":"0"})"
                      << "\n";
  Json query{{"kind", "replay"}, {"platform", "hgx-h200"}, {"trace", path}};
  if (!asked.is_null()) query.update(asked);
  return query::answer(catalogue(), query);
}

}  // namespace

TEST_CASE("replay: the interval reaches from GPUs alone to CPUs as recorded, or of a slow host", "[physics][replay]") {
  const Json result = replayed("", {}, 0.001);
  CHECK_THAT(result["step_time_s"].get<double>(), WithinRel(2.1e-3, kExact));
  CHECK_THAT(result["step_time_low_s"].get<double>(), WithinRel(0.2e-3, kExact));
  CHECK_THAT(result["step_time_high_s"].get<double>(), WithinRel(4.1e-3, kExact));
  CHECK_THAT(result["time_high_s"].get<double>(), WithinRel(4.1e-3, kExact));
  // recording added less than what a slow host takes more
  CHECK_THAT(replayed("")["step_time_high_s"].get<double>(), WithinRel(2e-3 * kHostSpread + 0.1e-3, kExact));
}

TEST_CASE("replay: a host that is requested is sure, a recorded one is one of its kind", "[physics][replay]") {
  const Json asked = replayed("", {{"host_scale", 1}}), fitted = replayed(R"(,"step_time_s":0.0021)");
  for (const char* end : {"step_time_low_s", "step_time_high_s"})
    CHECK_THAT(asked[end].get<double>(), WithinRel(2.1e-3, kExact));
  CHECK_THAT(fitted["step_time_s"].get<double>(), WithinRel(2.1e-3, kExact));
  CHECK_THAT(fitted["step_time_low_s"].get<double>(), WithinRel(2e-3 / kHostSpread + 0.1e-3, kExact));
  CHECK_THAT(fitted["step_time_high_s"].get<double>(), WithinRel(2e-3 * kHostSpread + 0.1e-3, kExact));
  // recorded without costs of recording, which nobody knows or which were fitted before
  const Json bare = replayed("", {}, 0, R"("recorded_at_s":[0,0.0001],)");
  CHECK_THAT(bare["step_time_low_s"].get<double>(), WithinRel(2e-3 / kHostSpread + 0.1e-3, kExact));
  CHECK_THAT(bare["step_time_high_s"].get<double>(), WithinRel(2e-3 * kHostSpread + 0.1e-3, kExact));
  const Json by_hand = replayed("", {}, 0);
  CHECK_THAT(by_hand["step_time_high_s"].get<double>(), WithinRel(2.1e-3, kExact));
  const std::string warning =
      "CPU times of t are of the host that was recorded: hosts of one kind differ by up to 1.65 "
      "times; host_scale sets that of another";
  for (const Json& recorded : {replayed(""), fitted, bare}) CHECK(recorded["warnings"] == Json::array({warning}));
  for (const Json& sure : {asked, by_hand}) CHECK(sure["warnings"].empty());
}

TEST_CASE("replay: what limits it is the largest part of the critical path", "[physics][replay]") {
  CHECK(replayed("")["bound"] == "host-bound: CPUs are late, faster links hardly matter: they gain at most 0 %");
  CHECK(replayed("", {{"host_scale", 0}})["bound"] ==
        "device-bound: GPUs compute, faster links hardly matter: they gain at most 0 %");
  const auto bound = [](double host, double compute, double network) {
    replay::CriticalPath path;
    path.seconds[replay::CriticalPath::kHost] = host;
    path.seconds[replay::CriticalPath::kCompute] = compute;
    path.seconds[replay::CriticalPath::kNetwork] = network;
    return replay::bound_of(path);
  };
  CHECK(bound(1, 2, 7) == "link-bound: faster links gain at most 70 %");
  CHECK(bound(5, 2, 3) == "host-bound: CPUs are late, faster links gain at most 30 %");
  CHECK(bound(0, 0, 0).empty());
}

TEST_CASE("replay: copies that leave a GPU wait for links, those in its own memory do not", "[physics][replay]") {
  const auto bound = [](const std::string& copy) {
    const ScratchFolder folder;
    const std::string path = (folder / "copy.jsonl").string();
    std::ofstream(path) << R"({"schema":"trace/1","name":"copy","ranks":2,"source":"by hand","groups":{}})"
                        << "\n"
                        << R"({"rank":0,"kind":"copy","size_B":268435456,)" << copy << "}\n";
    const Json query{{"kind", "replay"}, {"platform", "hgx-h200"}, {"trace", path}};
    return query::answer(catalogue(), query)["bound"].get<std::string>();
  };
  CHECK(bound(R"("copy":"d2d","peer":1)").rfind("link-bound", 0) == 0);
  CHECK(bound(R"("copy":"h2d")").rfind("link-bound", 0) == 0);
  CHECK(bound(R"("copy":"d2d")").rfind("device-bound", 0) == 0);
}

TEST_CASE("replay: compute times of another GPU are said, and the bound is of them", "[physics][replay]") {
  const Json other = replayed(R"(,"device":"NVIDIA A100-SXM4-80GB")", {{"host_scale", 0}});
  CHECK(other["compute_device"] == "NVIDIA A100-SXM4-80GB");
  CHECK(other["other_gpu"] == "NVIDIA H200");
  CHECK(other["bound"].get<std::string>().ends_with(
      "if GPUs computed as recorded (of NVIDIA A100-SXM4-80GB, not of NVIDIA H200)"));
  const auto told = [](const Json& result) {
    for (const Json& warning : result["warnings"])
      if (warning.get<std::string>().starts_with("compute times of t are of NVIDIA A100-SXM4-80GB, not of NVIDIA H200"))
        return true;
    return false;
  };
  CHECK(told(other));
  const Json same = replayed(R"(,"device":"H200")");
  CHECK(same["compute_device"] == "H200");
  CHECK(same["other_gpu"].is_null());
  CHECK(!told(same));
  CHECK(replayed("")["compute_device"].is_null());
}

}  // namespace linkcast::test::recorded_host_test
