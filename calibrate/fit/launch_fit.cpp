#include "calibrate/fit/launch_fit.hpp"

#include <algorithm>
#include <cmath>
#include <functional>
#include <optional>

namespace linkcast::fit {
namespace {

// Calls of PyTorch up to this size wait for the host, whatever the devices. source: the committed records: at most 10
// us of device time against 20 of host
constexpr double kHostBound_B = 65536;

/// Row of the fit for a point; nothing: it says nothing of these costs.
using Row = std::function<std::optional<std::vector<double>>(const LaunchPoint&)>;
/// What a point says of the same seconds.
using SecondsOf = std::function<std::vector<double>(const LaunchPoint&)>;

std::optional<double> median_of(const LaunchPoint& point, const char* quantity) {
  const auto found = point.times_s.find(quantity);
  if (found == point.times_s.end()) return std::nullopt;
  return found->second[kLaunchMedian];
}

std::vector<double> known(const std::vector<std::optional<double>>& times_s) {
  std::vector<double> all;
  for (const auto& time_s : times_s)
    if (time_s) all.push_back(*time_s);
  return all;
}

bool is_collective(const LaunchPoint& p) {
  return p.op == "all_reduce" || p.op == "all_gather" || p.op == "reduce_scatter" || p.op == "broadcast" ||
         p.op == "reduce" || p.op == "alltoall" || p.op == "sendrecv";
}

/// Sends of one GPU in one group: nccl-tests' alltoall sends to every rank, itself too.
/// source: NVIDIA/nccl-tests src/alltoall.cu
int sends_of(const LaunchPoint& p) { return p.op == "alltoall" ? static_cast<int>(p.gpus.size()) : p.sends; }

/// Of a library, by several GPUs: one alone copies in its own memory.
bool is_call(const LaunchPoint& p, const char* launch) {
  return p.launch == launch && p.recording.empty() && !p.async && is_collective(p) && p.gpus.size() > 1;
}

std::optional<std::vector<double>> single_process(const LaunchPoint& p) {
  if (!is_call(p, "single_process")) return std::nullopt;
  const auto gpus = static_cast<double>(p.gpus.size());
  return std::vector<double>{1, gpus * p.communicators, gpus * (sends_of(p) - 1)};
}

std::optional<std::vector<double>> process(const LaunchPoint& p) {
  if (!is_call(p, "process") || p.communicators > 1) return std::nullopt;
  return std::vector<double>{1, static_cast<double>(sends_of(p) - 1)};
}

/// alltoall is one call of PyTorch; sends and receives are a batch.
std::optional<std::vector<double>> pytorch(const LaunchPoint& p) {
  if (!is_call(p, "pytorch")) return std::nullopt;
  const bool batch = p.op == "sendrecv";
  return std::vector<double>{batch ? 0.0 : 1.0, batch ? 1.0 : 0.0, batch ? p.sends - 1.0 : 0.0};
}

/// To the memory of another GPU, by one thread for its own GPU.
std::optional<std::vector<double>> of_op(const LaunchPoint& p, const std::string& op) {
  if (p.launch != "process" || p.op != op) return std::nullopt;
  return std::vector<double>{1};
}

class LaunchFit {
 public:
  LaunchFit(FitContext& context, const std::vector<LaunchRecord>& launches) : context_(context) {
    for (const LaunchRecord& record : launches)
      points_.insert(points_.end(), record.points.begin(), record.points.end());
  }

  void run() {
    const SecondsOf issue = [](const LaunchPoint& p) { return known({median_of(p, "rest_issue")}); };
    fit("single_process", {&key::launch_call, &key::launch_gpu, &key::launch_send}, single_process, issue);
    fit("process", {&key::launch_call, &key::launch_send}, process, issue);
    fit("pytorch", {&key::launch_call, &key::launch_batch, &key::launch_send}, pytorch, [](const LaunchPoint& p) {
      return known(
          {median_of(p, "rest_issue"), p.size_B <= kHostBound_B ? median_of(p, "steady") : std::optional<double>{}});
    });
    fit(
        "copy", {&key::launch_call}, [](const LaunchPoint& p) { return of_op(p, "copy_peer_ce"); }, issue);
    fit(
        "kernel", {&key::launch_call}, [](const LaunchPoint& p) { return of_op(p, "copy_peer_sm"); }, issue);
    fit(
        "synchronise", {&key::launch_call},
        [](const LaunchPoint& p) {
          return is_call(p, "process") || is_call(p, "single_process") ? std::optional(std::vector<double>{1})
                                                                       : std::nullopt;
        },
        [](const LaunchPoint& p) -> std::vector<double> {
          const auto rest = median_of(p, "rest"), issue = median_of(p, "rest_issue"), device = median_of(p, "device");
          if (!rest || !issue || !device || !(*rest > *issue + *device)) return {};
          return {*rest - *issue - *device};
        });
  }

 private:
  void fit(const std::string& subject, const std::vector<const LaunchRow*>& costs, const Row& row,
           const SecondsOf& seconds) {
    std::vector<Observation> rows;
    for (const LaunchPoint& point : points_) {
      const auto coefficients = row(point);
      if (!coefficients) continue;
      for (const double time_s : seconds(point)) rows.push_back({*coefficients, time_s});
    }
    if (rows.empty()) {
      context_.undetermined.push_back(parameter_subject(ParameterOf::kLaunch, subject) +
                                      ".*: such points of a launch record");
      return;
    }
    std::vector<std::string> names;
    for (const LaunchRow* cost : costs) names.push_back((*cost)(subject).name);
    const LinearFit found = robust_fit(rows, names);
    std::vector<double> distances;
    for (const Observation& o : rows) {
      double modelled_s = 0;
      for (std::size_t k = 0; k < names.size(); ++k) modelled_s += found.value[k] * o.row[k];
      distances.push_back(std::abs(std::log(o.time_s / modelled_s)));
    }
    for (std::size_t k = 0; k < names.size(); ++k) context_.set((*costs[k])(subject), found.value[k], found.stderr_[k]);
    const double sigma = sigma_of_ninety_percent(distances);
    context_.set(key::launch_sigma(subject), sigma, sigma / std::sqrt(2 * static_cast<double>(rows.size())));
  }

  FitContext& context_;
  std::vector<LaunchPoint> points_;
};

}  // namespace

void fit_launches(FitContext& context, const std::vector<LaunchRecord>& launches) {
  if (!launches.empty()) LaunchFit(context, launches).run();
}

}  // namespace linkcast::fit
