// CPU times of a recording: how far a replay's interval reaches, and what limits it.
#include <fstream>

#include "sim/query/query.hpp"
#include "sim/replay/summary.hpp"
#include "tests/support/catalogue.hpp"
#include "tests/support/catch.hpp"
#include "tests/unit/program.hpp"

namespace linkcast::test::recorded_host_test {

namespace {

/// Two events of 1 ms of CPU and 0.1 ms of GPU time, to which recording added 0.5 ms of CPU time each.
Json replayed(const std::string& header, Json asked = {}) {
  const ScratchFolder scratch;
  const std::string path = (scratch / "t.jsonl").string();
  std::ofstream(path) << R"({"schema":"trace/1","name":"t","ranks":1,"source":"test")" << header << "}\n"
                      << R"({"rank":0,"kind":"compute","host_s":0.001,"recording_s":0.0005,"time_s":0.0001}
{"rank":0,"kind":"compute","host_s":0.001,"recording_s":0.0005,"time_s":0.0001}
{"rank":0,"kind":"step","stream":"0"}
)";
  Json query{{"kind", "replay"}, {"platform", "hgx-h200"}, {"trace", path}};
  if (!asked.is_null()) query.update(asked);
  return query::answer(catalogue(), query);
}

}  // namespace

TEST_CASE("replay: the interval reaches from GPUs alone to CPUs as recorded", "[physics][replay]") {
  const Json result = replayed("");
  CHECK_THAT(result["step_time_s"].get<double>(), WithinRel(2.1e-3, kExact));
  CHECK_THAT(result["step_time_low_s"].get<double>(), WithinRel(0.2e-3, kExact));
  CHECK_THAT(result["step_time_high_s"].get<double>(), WithinRel(3.1e-3, kExact));
  CHECK_THAT(result["time_high_s"].get<double>(), WithinRel(3.1e-3, kExact));
}

TEST_CASE("replay: a host that is asked for is sure, one that was fitted has its spells", "[physics][replay]") {
  constexpr double kSpell = 1.3;  // source: docs/traces.md, Recorded steps
  const Json asked = replayed("", {{"host_scale", 1}}), fitted = replayed(R"(,"step_time_s":0.0021)");
  for (const char* end : {"step_time_low_s", "step_time_high_s"})
    CHECK_THAT(asked[end].get<double>(), WithinRel(2.1e-3, kExact));
  CHECK_THAT(fitted["step_time_s"].get<double>(), WithinRel(2.1e-3, kExact));
  CHECK_THAT(fitted["step_time_low_s"].get<double>(), WithinRel(2e-3 / kSpell + 0.1e-3, kExact));
  CHECK_THAT(fitted["step_time_high_s"].get<double>(), WithinRel(2e-3 * kSpell + 0.1e-3, kExact));
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
