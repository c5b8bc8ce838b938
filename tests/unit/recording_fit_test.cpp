// What recording costs the CPU, from launch records made of known costs.
#include "calibrate/fit/launch_fit.hpp"
#include "tests/support/catch.hpp"
#include "tests/support/error_of.hpp"

namespace linkcast::test::recording_fit_test {

namespace {

constexpr double kLaunch = 5e-6, kCall = 1e-6, kOperator = 1.5e-6, kCollective = 2e-5;

LaunchPoint point(const std::string& op, const std::string& recording, double short_s, double cpu, double runtime,
                  double gpu) {
  LaunchPoint p;
  p.launch = "pytorch";
  p.op = op;
  p.gpus = {0, 1};
  p.size_B = 8;
  p.recording = recording;
  if (!recording.empty()) p.events = {{"cpu", cpu}, {"runtime", runtime}, {"gpu", gpu}};
  p.times_s["short"] = {short_s, short_s, short_s, short_s, short_s};
  return p;
}

/// One call unrecorded and recorded in both ways, as the costs above say.
void add(LaunchRecord& record, const std::string& op, double plain_s, double operators, double calls) {
  const bool collective = calls > 0;
  const double cuda_s = plain_s + kLaunch + kCall * calls;
  const double both_s = cuda_s + kOperator * operators + (collective ? kCollective : 0);
  // other threads poll meanwhile, in one of the recordings; an annotation of a collective is on the GPU's side too
  record.points.push_back(point(op, "", plain_s, 0, 0, 0));
  record.points.push_back(point(op, "cuda", cuda_s, collective ? 1 : 0, calls + 1.02, 1));
  record.points.push_back(
      point(op, "cpu_cuda", both_s, operators + (collective ? 1 : 0), 2 * calls + 1.02, collective ? 2 : 1));
}

}  // namespace

TEST_CASE("recording: costs that calls were made of are found", "[unit][fit]") {
  LaunchRecord record;
  add(record, "add", 6e-6, 1, 0);
  add(record, "mm", 12e-6, 1, 0);
  add(record, "all_reduce", 40e-6, 3, 9);
  add(record, "broadcast", 25e-6, 3, 9);
  fit::FitContext context;
  fit::fit_recording(context, {record});
  CHECK_THAT(context.value(key::recording_launch()), WithinRel(kLaunch, kExact));
  CHECK_THAT(context.value(key::recording_call()), WithinRel(kCall, kExact));
  CHECK_THAT(context.value(key::recording_operator()), WithinRel(kOperator, kExact));
  CHECK_THAT(context.value(key::recording_collective()), WithinRel(kCollective, kExact));
}

TEST_CASE("recording: nothing without recorded calls of both sorts, and none without the same unrecorded",
          "[unit][fit]") {
  LaunchRecord record;
  record.path = "r.json";
  add(record, "add", 6e-6, 1, 0);
  fit::FitContext context;
  fit::fit_recording(context, {record});
  CHECK(context.found.empty());
  record.points.erase(record.points.begin());
  CHECK(error_of([&] { fit::fit_recording(context, {record}); }) ==
        "r.json:/points: records add, and has no such call unrecorded");
}

}  // namespace linkcast::test::recording_fit_test
