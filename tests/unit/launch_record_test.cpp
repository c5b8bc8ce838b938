// The reader of schema launch/1: what it keeps and what it refuses.
#include "sim/records/launch_record.hpp"

#include <fstream>

#include "tests/support/catch.hpp"
#include "tests/support/error_of.hpp"
#include "tests/unit/program.hpp"

namespace linkcast::test::launch_record_test {

namespace {

const std::string kHead = R"({"schema": "launch/1", "id": "r", "machine": "m", "topology": "m", "bench": "launch",
 "source": "made for tests", "timing": "host", "environment": {"host_cpu": "a CPU", "host_cores": 8}, "method": {},
 "notes": [], "points": [)";
const std::string kGraph =
    R"({"launch": "graph", "issuers": "processes", "op": "all_reduce", "gpus": [0, 1], "size_B": 8,
 "calls_per_graph": 20, "status": "ok", "times_s": {"steady": [1e-6, 2e-6, 3e-6, 4e-6, 5e-6]}})";
const std::string kWaived = R"({"launch": "pytorch", "status": "waived", "reason": "PyTorch is not installed"})";

LaunchRecord read(const std::string& points, const std::string& head = kHead) {
  const test::ScratchFolder scratch;
  std::ofstream(scratch / "r.json") << head << points << "]}";
  return read_launch_record((scratch / "r.json").string());
}

std::string changed(std::string text, const std::string& from, const std::string& to) {
  return text.replace(text.find(from), from.size(), to);
}

void refused(const std::string& points, const std::string& why, const std::string& head = kHead) {
  INFO(why);
  CHECK(test::error_of([&] { read(points, head); }).find(why) != std::string::npos);
}

}  // namespace

TEST_CASE("a launch record keeps who issued what, and the quantiles of every quantity", "[unit]") {
  const LaunchRecord record = read(kGraph + "," + kWaived);
  CHECK(record.host_cpu == "a CPU");
  CHECK(record.host_cores == 8);
  CHECK(record.waived == 1);
  REQUIRE(record.points.size() == 1);
  const LaunchPoint& point = record.points[0];
  CHECK(point.launch == "graph");
  CHECK(point.issuers == "processes");
  CHECK(point.gpus == std::vector<int>{0, 1});
  CHECK(point.calls_per_graph == 20);
  CHECK(point.sends == 1);
  CHECK(point.round == 0);
  CHECK(read(changed(kGraph, R"("status")", R"("round": 2, "status")")).points[0].round == 2);
  CHECK(point.times_s.at("steady") == LaunchQuantiles{1e-6, 2e-6, 3e-6, 4e-6, 5e-6});
}

TEST_CASE("a launch record is refused where it says nothing, too little or two things", "[unit]") {
  refused("", "holds no point");
  refused(changed(kGraph, "\"graph\"", "\"process\""), "calls_per_graph");
  refused(changed(kGraph, "\"processes\"", "\"people\""), "issuers");
  refused(changed(kGraph, ", 5e-6", ""), "five quantiles");
  refused(changed(kGraph, "5e-6", "1e-9"), "must not fall");
  refused(changed(kGraph, "\"steady\"", "\"slow\""), "holds no time");
  refused(changed(kGraph, "\"op\"", "\"recording\": \"cuda\", \"op\""), "events");
  refused(changed(kGraph, "[0, 1]", "[0, 0]"), "r.json:/points/0/gpus: names GPU 0 twice");
  refused(changed(kGraph, "[0, 1]", "[-1]"), "r.json:/points/0/gpus: GPUs count from 0");
  refused(changed(kGraph, "\"size_B\": 8", "\"size_B\": 0.5"), "r.json:/points/0/size_B: must be a whole number");
  refused(changed(kGraph, "\"size_B\": 8", "\"size_B\": 8.5"), "r.json:/points/0/size_B: must be a whole number");
  refused(changed(kGraph, "all_reduce", ""), "r.json:/points/0/op: must not be empty");
  refused(changed(kGraph, "\"ok\"", "\"fine\""), "r.json:/points/0/status: ");
  refused(kGraph + "," + kWaived + "," + kGraph, "r.json:/points/2: is the point /points/0 once more");
  refused(kGraph + "," + changed(kGraph, "\"op\"", "\"sends\": 1, \"op\""), "r.json:/points/1: is the point");
}

TEST_CASE("a waived launch point says why, and nothing that no point says", "[unit]") {
  CHECK(read(R"({"status": "waived", "reason": "one GPU"})").waived == 1);
  refused(R"({"status": "waived"})", "r.json:/points/0/reason: missing key");
  refused(changed(kWaived, "PyTorch is not installed", ""), "r.json:/points/0/reason: must not be empty");
  refused(changed(kWaived, "\"launch\"", "\"lunch\""), "r.json:/points/0/lunch: ");
  refused(changed(kWaived, "\"pytorch\"", "\"bogus\""), "r.json:/points/0/launch: ");
  refused(changed(kWaived, "\"status\"", "\"times_s\": {}, \"status\""), "r.json:/points/0/times_s: ");
}

TEST_CASE("a launch record names its machine and counts its cores", "[unit]") {
  refused(kGraph, "r.json:/machine: must not be empty", changed(kHead, "\"machine\": \"m\"", "\"machine\": \"\""));
  refused(kGraph, "r.json:/environment/host_cores: must be at least 1", changed(kHead, "8}", "-3}"));
}

}  // namespace linkcast::test::launch_record_test
