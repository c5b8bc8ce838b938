#include "calibrate/fit/launch_fit.hpp"

#include <algorithm>
#include <cmath>
#include <functional>
#include <map>
#include <numeric>
#include <optional>
#include <set>

#include "sim/base/input_error.hpp"

namespace linkcast::fit {
namespace {

/// One call of PyTorch without the profiler and with it: seconds, and events that the profiler wrote down.
struct Recordings {
  double plain_s = 0, cuda_s = 0, both_s = 0;
  double launches = 0;
  double calls = 0;  ///< of CUDA that start nothing
  double operators = 0;

  [[nodiscard]] bool complete() const { return cuda_s > 0 && both_s > 0; }
  [[nodiscard]] double cuda_cost_s() const { return cuda_s - plain_s; }
  [[nodiscard]] double cpu_cost_s() const { return both_s - cuda_s; }
};

using Call = std::tuple<std::string, std::vector<int>, double>;  ///< operation, GPUs, bytes

Call call_of(const LaunchPoint& p) { return {p.op, p.gpus, p.size_B}; }

bool is_usual(const LaunchPoint& p) {
  return p.launch == "pytorch" && !p.async && p.sends == 1 && p.communicators == 1 && p.times_s.count("short") > 0;
}

double median_s(const LaunchPoint& p) { return p.times_s.at("short")[kLaunchMedian]; }

void read_recorded(const LaunchPoint& p, Recordings& into) {
  const double runtime = p.events.at("runtime"), cpu = p.events.at("cpu");
  static const std::map<std::string, bool> kWithCpu{{"cuda", false}, {"cpu_cuda", true}};  // activities recorded
  const auto with_cpu = kWithCpu.find(p.recording);
  if (with_cpu != kWithCpu.end() && !with_cpu->second) {
    into.cuda_s = median_s(p);
    into.launches = std::round(p.events.at("gpu"));
    into.operators -= cpu;
  } else if (with_cpu != kWithCpu.end()) {
    into.both_s = median_s(p);
    into.operators += cpu;
  }
  // what other threads poll is counted too: the call's own are the fewest seen
  into.calls = into.calls > 0 ? std::min(into.calls, runtime) : runtime;
}

/// Recordings of one record, which is one occasion.
std::vector<Recordings> recordings_of(const LaunchRecord& record) {
  std::map<Call, Recordings> calls;
  std::map<Call, double> plain_s;
  for (const LaunchPoint& p : record.points) {
    if (!is_usual(p)) continue;
    if (p.recording.empty())
      plain_s[call_of(p)] = median_s(p);
    else
      read_recorded(p, calls[call_of(p)]);
  }
  std::vector<Recordings> list;
  for (auto& [call, recordings] : calls) {
    if (!recordings.complete()) continue;
    const auto plain = plain_s.find(call);
    if (plain == plain_s.end())
      throw InputError(record.path, "/points", "records " + std::get<0>(call) + ", and has no such call unrecorded");
    recordings.plain_s = plain->second;
    recordings.calls = std::round(recordings.calls) - recordings.launches;
    list.push_back(recordings);
  }
  return list;
}

}  // namespace

void fit_recording(FitContext& context, const std::vector<LaunchRecord>& launches) {
  std::vector<Recordings> lone, with_calls;  // operators that launch a kernel; what calls CUDA in other ways too
  for (const LaunchRecord& record : launches)
    for (const Recordings& one : recordings_of(record)) (one.calls > 0 ? with_calls : lone).push_back(one);
  if (lone.empty() || with_calls.empty()) return;
  const auto set = [&](const ParameterKey& key, const std::vector<Recordings>& calls, const auto& cost_s) {
    std::vector<double> values;
    for (const Recordings& one : calls) values.push_back(cost_s(one));
    const MedianEstimate estimate = estimate_median(values);
    const double value = std::max(0.0, estimate.value);
    context.set(key, value, estimate.stderr_);
    return value;
  };
  const double launch_s =
      set(key::recording_launch(), lone, [](const Recordings& one) { return one.cuda_cost_s() / one.launches; });
  set(key::recording_call(), with_calls,
      [&](const Recordings& one) { return (one.cuda_cost_s() - launch_s * one.launches) / one.calls; });
  const double operator_s =
      set(key::recording_operator(), lone, [](const Recordings& one) { return one.cpu_cost_s() / one.operators; });
  set(key::recording_collective(), with_calls,
      [&](const Recordings& one) { return one.cpu_cost_s() - operator_s * one.operators; });
}

namespace {

// Calls of PyTorch up to this size wait for the host, whatever the devices. source: the committed records: at most 10
// us of device time against 20 of host
constexpr double kHostBound_B = 65536;

// Spread of ln(cost) from one start of the issuing processes to the next, and how many starts that weighs as: more than
// a record has, less than what measured it. One thread that issues for all GPUs is slow or fast by its start, whatever
// the host. source: what starts of eight hosts differ by within each, up to 28 Nov 2026 (calibrate/data, launch and
// launch_ops): 0.18 of single_process, 0.10 of process, 16 degrees of freedom
constexpr double kAnotherStart = 0.1, kAnotherStartOfAll = 0.18, kStartsKnown = 5;
// Spread of ln(cost) between hosts of one kind, and how many of these spreads away a host is of another kind, so that
// its tails are wide. source: the means of 13 hosts of these records less what starts explain: 0.10 of single_process,
// 0.14 of process
constexpr double kAnotherHost = 0.12, kFar = 2;
// A host of another kind has costs of its own: points scatter so many times more about those of the nearest host, and
// by more than this. source: ours; about those of hgx-h200 and hgx-h100 points of three other hosts scatter 0.95
// to 1.21 times as about their own
constexpr double kOtherShape = 1.5, kLeastScatter = 0.05;

/// A point, its record, and which start of the issuing processes measured it.
struct Issued {
  const LaunchPoint* point = nullptr;
  const LaunchRecord* record = nullptr;
  int start = 0;
};

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
  const auto* op = Spelled<NcclOp>::row_of(p.op);
  return op != nullptr && op->value != NcclOp::kGather && op->value != NcclOp::kScatter;
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

/// No cost is below 0: where the data would have one there it is 0, as uncertain as they leave it, and the others
/// follow.
LinearFit fit_costs(const std::vector<Observation>& rows, const std::vector<std::string>& names) {
  LinearFit all = robust_fit(rows, names);
  const auto least = std::min_element(all.value.begin(), all.value.end());
  if (*least >= 0 || names.size() == 1) return all;
  const auto k = least - all.value.begin();
  std::vector<std::string> others = names;
  others.erase(others.begin() + k);
  std::vector<Observation> of_others;
  for (Observation one : rows) {
    one.row.erase(one.row.begin() + k);
    if (std::any_of(one.row.begin(), one.row.end(), [](double factor) { return factor != 0; }))
      of_others.push_back(std::move(one));
  }
  LinearFit rest = fit_costs(of_others, others);
  rest.value.insert(rest.value.begin() + k, 0);
  rest.stderr_.insert(rest.stderr_.begin() + k, all.stderr_[static_cast<std::size_t>(k)]);
  return rest;
}

/// ln(measured / modelled) of each row.
std::vector<double> log_errors(const std::vector<Observation>& rows, const std::vector<double>& costs) {
  std::vector<double> errors;
  for (const Observation& o : rows)
    errors.push_back(std::log(o.time_s / std::inner_product(costs.begin(), costs.end(), o.row.begin(), 0.0)));
  return errors;
}

/// Points of one start err together: standard errors from fits without each start in turn, where they are larger.
/// @param starts  one for each row
/// @source Efron, Stein: The Jackknife Estimate of Variance, Annals of Statistics 9(3), 1981
void count_starts(const std::vector<Observation>& rows, const std::vector<int>& starts,
                  const std::vector<std::string>& names, LinearFit& fit) {
  const std::set<int> all(starts.begin(), starts.end());
  std::vector<std::vector<double>> without(names.size());
  for (const int start : all) {
    std::vector<Observation> others;
    for (std::size_t i = 0; i < rows.size(); ++i)
      if (starts[i] != start) others.push_back(rows[i]);
    try {
      const LinearFit one = fit_costs(others, names);
      for (std::size_t k = 0; k < names.size(); ++k) without[k].push_back(one.value[k]);
    } catch (const InputError&) {  // this start alone tells the costs apart: nothing is known of others
      return;
    }
  }
  const auto count = static_cast<double>(all.size());
  for (std::size_t k = 0; k < names.size(); ++k) {
    const double mean = std::accumulate(without[k].begin(), without[k].end(), 0.0) / count;
    double squares = 0;
    for (const double value : without[k]) squares += (value - mean) * (value - mean);
    fit.stderr_[k] = std::max(fit.stderr_[k], std::sqrt(squares * (count - 1) / count));
  }
}

/// The spread from one start of the issuing processes to the next, apart from the scatter of points within one.
struct StartSpread {
  double within = 0, between = 0;  ///< standard deviations of ln(cost)
  double mean = 0;                 ///< of ln(cost), of starts that count alike
  double starts = 1;
  [[nodiscard]] double of_mean() const { return between / std::sqrt(starts); }
};

/// @param errors  logarithms. @param starts  one for each. @param another  expected between starts
StartSpread spread_of_starts(const std::vector<double>& errors, const std::vector<int>& starts, double another) {
  std::map<int, std::vector<double>> by_start;
  for (std::size_t i = 0; i < errors.size(); ++i) by_start[starts[i]].push_back(errors[i]);
  std::map<int, double> middle;
  StartSpread spread;
  spread.starts = static_cast<double>(by_start.size());
  for (const auto& [start, of_start] : by_start) {
    middle[start] = estimate_median(of_start).value;
    spread.mean += middle[start] / spread.starts;
  }
  double squares = 0;
  for (const auto& [start, value] : middle) squares += (value - spread.mean) * (value - spread.mean);
  spread.between = std::sqrt((kStartsKnown * another * another + squares) / (kStartsKnown + spread.starts - 1));
  std::vector<double> distances;
  for (std::size_t i = 0; i < errors.size(); ++i) distances.push_back(std::abs(errors[i] - middle[starts[i]]));
  spread.within = sigma_of_ninety_percent(distances);
  return spread;
}

/// Factor on the costs of the nearest host, and its spread.
struct HostFactor {
  double factor = 1, spread = 0;
};

/// By what starts of its processes differ by, the data say how many times the nearest host's costs this host's are; by
/// what hosts of one kind differ by, it is near one. Student's tails let another host be far.
/// @param measured  ln(factor). @param spread  of it
HostFactor near_one(double measured, double spread) {
  const double of_data = 1 / (spread * spread);
  double at = measured, of_prior = 0;
  constexpr int kRounds = 50;  // source: ours, far beyond what changes a digit
  for (int round = 0; round < kRounds; ++round) {
    const double tails = at / (kAnotherHost * kFar);
    of_prior = 1 / (kAnotherHost * kAnotherHost * (1 + tails * tails));
    at = measured * of_data / (of_data + of_prior);
  }
  return {std::exp(at), 1 / std::sqrt(of_data + of_prior)};
}

class LaunchFit {
 public:
  LaunchFit(FitContext& context, const std::vector<LaunchRecord>& launches, const std::vector<Calibration>& hosts)
      : context_(context), hosts_(hosts) {
    std::map<std::pair<const LaunchRecord*, int>, int> starts;
    for (const LaunchRecord& record : launches)
      for (const LaunchPoint& point : record.points)
        points_.push_back({&point, &record,
                           starts.try_emplace({&record, point.round}, static_cast<int>(starts.size())).first->second});
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
    fit_graphs();
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
  /// Small calls that are alike but for who issues them: devices alone, queued and in a graph of several.
  void fit_graphs() {
    constexpr double kSmall_B = 16384;  // source: ours, so that the bytes take a small part
    std::map<std::pair<const LaunchRecord*, Call>, double> queued_s, in_graph_s;
    for (const Issued& issued : points_) {
      const LaunchPoint& p = *issued.point;
      const auto device_s = median_of(p, "device");
      const bool several = p.calls_per_graph > 1;
      if (!device_s || p.size_B > kSmall_B || p.sends > 1 || p.communicators > 1) continue;
      if (is_call(p, "process") || (is_call(p, "graph") && several)) {
        auto& into = p.launch == "graph" ? in_graph_s : queued_s;
        const auto [found, fresh] = into.try_emplace({issued.record, call_of(p)}, *device_s);
        found->second = std::min(found->second, *device_s);
      }
    }
    std::vector<double> sooner_s;
    for (const auto& [call, time_s] : queued_s)
      if (const auto graph = in_graph_s.find(call); graph != in_graph_s.end() && graph->second < time_s)
        sooner_s.push_back(time_s - graph->second);
    if (sooner_s.empty()) return;
    const MedianEstimate estimate = estimate_median(sooner_s);
    context_.set(key::graph_sooner.of_all("nccl"), estimate.value, estimate.stderr_);
  }

  void fit(const std::string& subject, const std::vector<const LaunchRow*>& costs, const Row& row,
           const SecondsOf& seconds) {
    std::vector<Observation> rows;
    std::vector<int> starts;
    for (const auto& [point, record, start] : points_) {
      const auto coefficients = row(*point);
      if (!coefficients) continue;
      for (const double time_s : seconds(*point)) {
        rows.push_back({*coefficients, time_s});
        starts.push_back(start);
      }
    }
    if (rows.empty()) {
      context_.undetermined.push_back(parameter_subject(ParameterOf::kLaunch, subject) +
                                      ".*: such points of a launch record");
      return;
    }
    std::vector<std::string> names;
    for (const LaunchRow* cost : costs) names.push_back((*cost)(subject).name);
    const double another = subject == "single_process" ? kAnotherStartOfAll : kAnotherStart;
    const auto spread_of = [&](const std::vector<double>& values) {
      return spread_of_starts(log_errors(rows, values), starts, another);
    };
    LinearFit found = fit_costs(rows, names);
    StartSpread spread = spread_of(found.value);
    HostFactor host{std::exp(spread.mean), spread.of_mean()};
    const std::optional<LinearFit> nearest = costs_of_nearest(names);
    const StartSpread by_nearest = nearest ? spread_of(nearest->value) : StartSpread{};
    if (nearest && by_nearest.within <= kOtherShape * spread.within + kLeastScatter) {
      found = *nearest;
      spread = by_nearest;
      host = near_one(spread.mean, spread.of_mean());
    } else {
      count_starts(rows, starts, names, found);
    }
    for (std::size_t k = 0; k < names.size(); ++k)
      context_.set((*costs[k])(subject), found.value[k] * host.factor,
                   std::hypot(found.stderr_[k], host.spread * found.value[k]) * host.factor);
    const double sigma = std::hypot(spread.within, spread.between);
    context_.set(key::launch_sigma(subject), sigma, sigma / std::sqrt(2 * static_cast<double>(rows.size())));
  }

  /// The first host that fitted all of them itself.
  [[nodiscard]] std::optional<LinearFit> costs_of_nearest(const std::vector<std::string>& names) const {
    for (const Calibration& host : hosts_) {
      LinearFit costs;
      for (const std::string& name : names)
        if (const Parameter* parameter = host.find(name); parameter != nullptr && !parameter->inherited()) {
          costs.value.push_back(parameter->value);
          costs.stderr_.push_back(parameter->stderr_);
        }
      if (costs.value.size() == names.size()) return costs;
    }
    return std::nullopt;
  }

  FitContext& context_;
  const std::vector<Calibration>& hosts_;
  std::vector<Issued> points_;
};

}  // namespace

void fit_launches(FitContext& context, const std::vector<LaunchRecord>& launches,
                  const std::vector<Calibration>& hosts) {
  if (!launches.empty()) LaunchFit(context, launches, hosts).run();
}

}  // namespace linkcast::fit
