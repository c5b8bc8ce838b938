#include "calibrate/fit/mpi_fit.hpp"

#include <algorithm>
#include <cmath>

#include "sim/base/input_error.hpp"
#include "sim/records/parameter_rows.hpp"

namespace linkcast::fit {
namespace {

// Messages whose bytes cost the sender nothing. source: calibrate/data/summit/mpi-several.json, 0.64 us each up to
// 128 B, 1.2 us from 256 B on
constexpr double kNoBytes_B = 128;
// A blocking send of the first message overlaps nothing.
constexpr int kFewestSent = 2;

bool on_gpu(const MeasuredPoint& p) { return p.source.rfind("gpu", 0) == 0; }

class ProcessFit {
 public:
  ProcessFit(FitContext& context, const Measurement& m) : context_(context), m_(m) {}

  void run() {
    version();
    if (m_.several.empty()) return;
    check_ends();
    posts(false);
    posts(true);
    nics();
    copies();
  }

 private:
  [[nodiscard]] bool of_mpi() const { return m_.library.rfind("mpi-", 0) == 0; }

  void version() {
    if (!of_mpi() || m_.library_version.empty()) return;
    const ParameterKey named = key::library_version(m_.library);
    const double version = version_of(m_.library_version);
    if (context_.has(named) && context_.value(named) != version)
      throw InputError(m_.path, "/library_version", "another measurement of this fit names another version");
    context_.found[named.name] = {version, 0, "1", "derived: " + m_.id};
  }

  void check_ends() {
    for (std::size_t i = 0; i < m_.several.size(); ++i)
      for (const std::string& end : {m_.several[i].source, m_.several[i].target})
        if (end != "host" && !context_.wires->topology().find(end))
          throw InputError(m_.path, "/points",
                           "'" + end + "' is no device of topology " + context_.wires->topology().name);
  }

  /// What each further message takes of the process that sends it.
  void posts(bool gpu) {
    std::vector<Observation> rows;
    for (const MeasuredPoint& p : m_.several)
      if (of_mpi() && p.transport == "mpi" && on_gpu(p) == gpu && p.in_a_row >= kFewestSent && p.size_B <= kNoBytes_B)
        for (const double time : p.time_s) rows.push_back({{1, static_cast<double>(p.in_a_row)}, time});
    const bool counts =
        std::any_of(rows.begin(), rows.end(), [&](const Observation& o) { return o.row != rows[0].row; });
    if (!counts) return;
    const ParameterKey named = (gpu ? key::gpu_post : key::host_post)(m_.library);
    const LinearFit line = robust_fit(rows, {"latency", named.name});
    if (line.value[1] > 0) context_.set(named, line.value[1], line.stderr_[1]);
  }

  /// One process fills one card at most: how many does a socket full of them fill?
  void nics() {
    std::map<std::string, std::map<double, std::map<int, double>>> times;  // by socket, size, pairs
    for (const MeasuredPoint& p : m_.several)
      if (of_mpi() && p.transport == "mpi" && p.between_nodes && p.in_a_row == 1 && p.source.rfind("cpu", 0) == 0)
        times[p.source][p.size_B][p.pairs] = *std::min_element(p.time_s.begin(), p.time_s.end());
    for (const auto& [socket, sizes] : times) {
      if (sizes.size() < 2) continue;
      const auto& [large_B, large] = *sizes.rbegin();
      const auto& [less_B, less] = *std::next(sizes.rbegin());
      if (!large.count(1) || !less.count(1) || large.size() < 2 || !(large.at(1) > less.at(1))) continue;
      const double alone_Bps = (large_B - less_B) / (large.at(1) - less.at(1));
      double most_Bps = 0;
      for (const auto& [pairs, time] : large) most_Bps = std::max(most_Bps, pairs * large_B / time);
      const auto& devices = context_.wires->topology().devices;
      const auto cards =
          std::count_if(devices.begin(), devices.end(), [](const Device& d) { return d.kind == DeviceKind::kNic; });
      const double filled =
          std::clamp(std::round(most_Bps / alone_Bps), 1.0, std::max(1.0, static_cast<double>(cards)));
      context_.found[key::host_nics(m_.library).name] = {filled, 0, "1", "fitted"};
      return;
    }
  }

  /// Time that a process of MPI waits for one copy while all GPUs of the node copy. Plain copies were measured, so that
  /// the measurement names no library.
  void copies() {
    std::vector<double> times;
    for (const MeasuredPoint& p : m_.several)
      if (p.transport == "host" && p.pairs == context_.wires->gpu_count() && p.size_B <= kSmall_B)
        times.insert(times.end(), p.time_s.begin(), p.time_s.end());
    if (times.empty()) return;
    const MedianEstimate median = estimate_median(times);
    context_.set(key::staging_copy.of_all("mpi"), median.value, median.stderr_);
  }

  FitContext& context_;
  const Measurement& m_;
};

}  // namespace

void fit_processes(FitContext& context, const std::vector<Measurement>& measurements) {
  for (const Measurement& m : measurements) ProcessFit(context, m).run();
}

}  // namespace linkcast::fit
