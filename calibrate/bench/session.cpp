#include "calibrate/bench/session.hpp"

#include <chrono>
#include <csignal>
#include <cstdio>

#include "calibrate/bench/environment.hpp"
#include "calibrate/bench/record_file.hpp"

namespace linkcast::bench {
namespace {

#ifndef LINKCAST_VERSION
#define LINKCAST_VERSION "development"
#endif

constexpr double kWriteEvery_s = 0.5;
constexpr double kReportEvery_s = 2;

volatile std::sig_atomic_t interrupted = 0;  // a signal handler can reach nothing else

double now_s() { return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count(); }

/// One line on stderr every two seconds: bench, point i of n, what, time left.
class Progress {
 public:
  Progress(std::string bench, std::size_t total) : bench_(std::move(bench)), total_(total), start_(now_s()) {}
  void step(std::size_t index, const std::string& what) {
    const double now = now_s();
    if (index != 0 && now - last_ < kReportEvery_s) return;
    last_ = now;
    const double left =
        index == 0 ? 0 : (now - start_) / static_cast<double>(index) * static_cast<double>(total_ - index);
    std::fprintf(stderr, "[%s] %zu/%zu %s, eta %.0f s\n", bench_.c_str(), index + 1, total_, what.c_str(), left);
  }

 private:
  std::string bench_;
  std::size_t total_;
  double start_, last_ = 0;
};

Json measure(const Point& point) {
  try {
    return point.run();
  } catch (const Waived& waived) {
    return {{"status", "waived"}, {"reason", waived.what()}};
  }
}

void count(const Json& results, BenchSummary& summary) {
  if (results["status"] == "waived") {
    ++summary.waived;
    return;
  }
  ++summary.measured;
  if (!results.value("verified", true)) ++summary.unverified;
}

void run_points(const std::vector<Point>& points, RecordFile& file, BenchSummary& summary) {
  Progress progress(summary.bench, points.size());
  std::string group;
  for (std::size_t i = 0; i < points.size(); ++i) {
    if (interrupted) throw Interrupted("interrupted in " + summary.bench + ": go on with --resume");
    progress.step(i, points[i].group);
    if (file.has(points[i].key)) {
      ++summary.kept;
      continue;
    }
    const Json results = measure(points[i]);
    count(results, summary);
    file.add(points[i].key, results);
    file.write_if_older(points[i].group == group ? kWriteEvery_s : 0);
    group = points[i].group;
  }
}

}  // namespace

std::string record_id(const Options& options, const BenchInfo& info) {
  return options.machine + "-" + options.occasion + "-" + info.name;
}

std::string record_path(const Options& options, const BenchInfo& info) {
  return options.out + "/" + record_id(options, info) + ".json";
}

void catch_interrupts() {
  struct sigaction action {};
  action.sa_handler = [](int) { interrupted = 1; };
  sigaction(SIGINT, &action, nullptr);
  sigaction(SIGTERM, &action, nullptr);
  std::signal(SIGPIPE, SIG_IGN);
}

Json Session::header(const BenchEntry& entry, const Bench& bench) {
  const Options& options = context_.options;
  bool hold = true;
  Json environment = describe_environment(context_.gpus, nvml_);
  environment["empty_event_pair_s"] =
      context_.timer({0}).repeat([](const Streams&) {}, 1, {2, 10, 10, 1}, hold).makespan_s;
  Json notes = Json::array();
  if (options.quick) notes.push_back("quick run: fewer pairs, sizes and repetitions");
  if (!entry.info.by_default) notes.push_back("held out: never used to fit");
  return Json{{"schema", entry.info.schema},      {"id", record_id(options, entry.info)},
              {"machine", options.machine},       {"topology", options.topology},
              {"bench", entry.info.name},         {"source", std::string("linkcast-bench ") + LINKCAST_VERSION},
              {"timing", entry.info.timing},      {"environment", environment},
              {"method", bench.method(context_)}, {"notes", notes}};
}

BenchSummary Session::run(const BenchEntry& entry) {
  const auto bench = entry.make();
  const Options& options = context_.options;
  const double start = now_s();
  context_.warm_clocks();
  RecordFile file(record_path(options, entry.info), header(entry, *bench), options.resume);
  BenchSummary summary{entry.info.name, file.path(), "ok"};
  if (const auto reason = bench->can_run(context_)) {
    std::fprintf(stderr, "[%s] waived: %s\n", entry.info.name.c_str(), reason->c_str());
    summary.status = "waived";
    if (!file.has(Json::object())) file.add(Json::object(), {{"status", "waived"}, {"reason", *reason}});
    file.write();
    return summary;
  }
  try {
    run_points(bench->points(context_), file, summary);
  } catch (...) {  // an interrupt, a lost device: what was measured stays
    if (file.size() != 0) file.write();
    throw;
  }
  file.set_environment("clocks_after", describe_clocks(context_.gpus, nvml_));
  file.write();
  bench->finish(context_);
  summary.seconds = now_s() - start;
  std::fprintf(stderr, "[%s] done: %d points, %d waived, %d kept, %.1f s\n", entry.info.name.c_str(), summary.measured,
               summary.waived, summary.kept, summary.seconds);
  return summary;
}

}  // namespace linkcast::bench
