// Copies through host memory. A chunk goes up into host memory, then the next chunk's way up and this one's way down
// flow at once. With way up at rate u, way down at rate d < u, chunk c and start-up a:
//   size <= c:  time = a + size (1/u + 1/d)              nothing overlaps
//   size >  c:  time = a + c/u + size/d                  the slower way sets the pace
// and below some size the copy is launch-bound (flat). All coefficients are linear once c and the flat end are chosen.
#include "calibrate/fit/staged_fit.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <optional>
#include <set>

#include "sim/base/input_error.hpp"

namespace linkcast::fit {
namespace {

/// Row over (flat time, start-up, serial time per byte, pipelined time per byte).
std::vector<double> row(const StagedShape& shape, double size_B) {
  if (size_B <= shape.flat_to_B) return {1, 0, 0, 0};
  const double serial = std::min(size_B, shape.chunk_B);
  return {0, 1, serial, size_B - serial};
}

LinearFit fit_rows(const std::vector<Observation>& points, const std::vector<double>& sizes, const StagedShape& shape) {
  std::vector<Observation> rows = points;
  const std::size_t first = shape.flat_to_B > 0 ? 0 : 1;
  for (std::size_t i = 0; i < rows.size(); ++i) {
    const auto full = row(shape, sizes[i]);
    rows[i].row.assign(full.begin() + static_cast<std::ptrdiff_t>(first), full.end());
  }
  std::vector<std::string> names = {"flat time", "start-up", "serial time per byte", "pipelined time per byte"};
  names.erase(names.begin(), names.begin() + static_cast<std::ptrdiff_t>(first));
  LinearFit fit = robust_fit(rows, names);
  if (first == 1) {
    fit.value.insert(fit.value.begin(), 0);
    fit.stderr_.insert(fit.stderr_.begin(), 0);
  }
  return fit;
}

}  // namespace

StagedShape choose_shape(const std::vector<SizePoint>& points) {
  std::vector<Observation> rows;
  std::vector<double> sizes;
  for (const SizePoint& p : points) {
    rows.push_back({{}, p.time_s});
    sizes.push_back(p.size_B);
  }
  StagedShape best;
  double best_loss = std::numeric_limits<double>::infinity();
  for (std::size_t flat = 0; flat < sizes.size(); ++flat)
    for (std::size_t chunk = flat + 2; chunk + 2 < sizes.size(); ++chunk) {
      const StagedShape shape{flat == 0 ? 0 : sizes[flat], sizes[chunk]};
      const LinearFit fit = fit_rows(rows, sizes, shape);
      if (fit.value[2] <= fit.value[3] || fit.value[3] <= 0 || fit.loss >= best_loss) continue;
      best = shape;
      best_loss = fit.loss;
    }
  if (!std::isfinite(best_loss)) throw InputError(kNoPipeline);
  return best;
}

LinearFit fit_shape(const std::vector<Sample>& samples, const StagedShape& shape) {
  std::vector<Observation> rows;
  std::vector<double> sizes;
  for (const Sample& s : samples) {
    rows.push_back({{}, s.time_s});
    sizes.push_back(s.size_B);
  }
  return fit_rows(rows, sizes, shape);
}

namespace {

// Copies across sockets count as limited by the crossing when they are slower than copies inside one by more than this.
// source: paper 001 (TPDS 2020), section 3.1.2, sees no difference on P100-DGX-1, where this data set has 3 %.
constexpr double kCrossing = 0.03;
// A copy of this many chunks spends over 90 % of its time in the steady part.
constexpr double kPipelined = 16;
constexpr std::size_t kFewestSizes = 8;
const std::string kStaged = "staged";

struct StagedPair {
  int source = 0, target = 0;
  std::vector<int> shared;  ///< cables crossed in both directions
  bool crosses = false;     ///< between sockets
  std::vector<Sample> samples;
};

std::vector<int> cables_of(const Platform& wires, const std::vector<int>& links) {
  std::vector<int> cables;
  for (const int link : links) cables.push_back(wires.links()[static_cast<std::size_t>(link)].cable);
  return cables;
}

std::vector<StagedPair> pairs_of(const FitContext& context) {
  std::map<std::pair<int, int>, StagedPair> pairs;
  for (const Sample& s : context.of("staged")) {
    StagedPair& pair = pairs[{s.source, s.target}];
    pair.source = s.source;
    pair.target = s.target;
    pair.samples.push_back(s);
  }
  std::vector<StagedPair> list;
  for (auto& [ends, pair] : pairs) {
    const auto up = cables_of(*context.wires, context.wires->to_host(pair.source).links);
    const auto down = cables_of(*context.wires, context.wires->from_host(pair.target).links);
    for (const int cable : up)
      if (std::find(down.begin(), down.end(), cable) != down.end()) pair.shared.push_back(cable);
    pair.crosses = context.wires->socket_of(pair.source) != context.wires->socket_of(pair.target);
    list.push_back(std::move(pair));
  }
  return list;
}

/// Steady rate of copies that are large enough to be pipelined; head_s is what passes before the steady part.
std::optional<MedianEstimate> steady_rate(const std::vector<Sample>& samples, double chunk_B, double head_s,
                                          double tail_B) {
  std::vector<double> rates;
  for (const Sample& s : samples)
    if (s.size_B >= kPipelined * chunk_B && s.time_s > head_s)
      rates.push_back((s.size_B - tail_B) / (s.time_s - head_s));
  if (rates.empty()) return std::nullopt;
  return estimate_median(rates);
}

bool distinct(const MedianEstimate& rate, const MedianEstimate& kind) {
  const double error = std::hypot(rate.stderr_, kind.stderr_);
  const double difference = std::abs(rate.value - kind.value);
  return difference > kDistinct * kind.value && difference > kDistinctSigmas * error;
}

/// The staged copies of one machine and what was found about them, step by step.
class StagedFit {
 public:
  explicit StagedFit(FitContext& context) : context_(context), pairs_(pairs_of(context)) {
    const auto& wires = *context.wires;
    kind_ = wires.topology()
                .cables[static_cast<std::size_t>(
                    wires.links()[static_cast<std::size_t>(wires.to_host(wires.gpu(0)).links.front())].cable)]
                .kind;
  }

  void run() {
    if (rates_known() || borrow_rates()) {
      if (!fit_curve(true) && !(borrow_curve() && fit_pace())) return;
      fit_duplex();
      fit_bidirectional();
      return;
    }
    if (!fit_curve(false) && !borrow_curve()) return;
    fit_rates();
    fit_each_gpu();
    fit_duplex();
  }

 private:
  using Filter = bool (*)(const StagedPair&);
  static bool plain(const StagedPair& p) { return p.shared.empty(); }
  static bool plain_local(const StagedPair& p) { return p.shared.empty() && !p.crosses; }
  static bool plain_cross(const StagedPair& p) { return p.shared.empty() && p.crosses; }

  std::vector<Sample> samples(Filter filter) const {
    std::vector<Sample> all;
    for (const StagedPair& pair : pairs_)
      if (filter(pair)) all.insert(all.end(), pair.samples.begin(), pair.samples.end());
    return all;
  }
  ParameterKey startup() const { return key::startup(kStaged, range_); }
  ParameterKey to_host() const { return key::cable_to_host(kind_); }
  ParameterKey from_host() const { return key::cable_from_host(kind_); }
  ParameterKey link_rate(int link) const {
    return key::link_bandwidth(context_.wires->constraints()[static_cast<std::size_t>(link)].id);
  }
  void missing(const std::string& need) const {
    context_.undetermined.push_back(parameter_subject(ParameterOf::kTransport, kStaged) + ": " + need);
  }
  double chunk() const { return context_.value(key::chunk(kStaged)); }
  /// Start-up and the first chunk's way up: what passes before the steady part.
  double head_s() const { return context_.value(startup()) + chunk() / context_.value(to_host()); }
  std::optional<MedianEstimate> rate(const std::vector<Sample>& of) const {
    return steady_rate(of, chunk(), head_s(), 0);
  }

  bool rates_known() const { return context_.has(to_host()) && context_.has(from_host()); }

  /// Where staging on a machine with the same cables has a pace of its own, staged copies tell nothing about the
  /// cables.
  bool borrow_rates() {
    if (!context_.lends(key::range_bandwidth(kStaged, 0)) && !context_.lends(key::range_bandwidth(kStaged, 1)))
      return false;
    const std::string need = "copies between host memory and a GPU over message sizes";
    for (const ParameterKey& way : {to_host(), from_host()})
      if (!context_.lends(way) || !context_.inherit(way, need)) return false;
    return true;
  }

  /// The pace of staging from copies of many chunks; start-up and chunk are known.
  bool fit_pace() {
    const double ways = chunk() / context_.value(from_host());
    const auto pace = steady_rate(samples(plain), chunk(), head_s() + ways, chunk());
    if (!pace) {
      missing("staged copies of 64 MiB");
      return false;
    }
    limit_staging(pace->value, pace->stderr_);
    return true;
  }

  /// Start-up and chunk from copies over many sizes. The rates of both ways too, unless host copies have told them:
  /// then what the steady part lacks is a limit of the staging itself.
  bool fit_curve(bool rates_known) {
    const auto curve = samples(plain);
    const auto medians = medians_by_size(curve);
    if (medians.size() < kFewestSizes) {
      if (rates_known && context_.inherited.empty()) missing("staged copies over at least 8 sizes");
      return false;
    }
    const StagedShape shape = choose_shape(medians);
    const LinearFit fit = fit_shape(curve, shape);
    if (shape.flat_to_B > 0) {
      context_.set(key::range_end(kStaged, 0), shape.flat_to_B, 0);
      context_.set(key::flat(kStaged, 0), fit.value[0], fit.stderr_[0]);
      range_ = 1;
    }
    context_.set(startup(), fit.value[1], fit.stderr_[1]);
    context_.set(key::chunk(kStaged), shape.chunk_B, 0);
    if (rates_known)
      limit_staging(1 / fit.value[3], fit.stderr_[3] / (fit.value[3] * fit.value[3]));
    else
      set_rates(fit);
    return true;
  }

  void set_rates(const LinearFit& fit) {
    const double up = fit.value[2] - fit.value[3], down = fit.value[3];
    const double up_stderr = std::hypot(fit.stderr_[2], fit.stderr_[3]);
    if (!(up > kDistinctSigmas * up_stderr)) throw InputError(kNoPipeline);
    refuse_beyond_nominal(1 / up, "to");
    refuse_beyond_nominal(1 / down, "from");
    context_.set(to_host(), 1 / up, up_stderr / (up * up));
    context_.set(from_host(), 1 / down, fit.stderr_[3] / (down * down));
  }

  /// No cable carries more than it was built for: such a rate says that the staging is not as assumed.
  void refuse_beyond_nominal(double rate_Bps, const char* way) const {
    for (const Cable& cable : context_.wires->topology().cables)
      if (cable.kind == kind_ && rate_Bps > cable.bandwidth.si)
        throw InputError(fmt::format(
            "calibrate fit: the staged copies would need {:f} GB/s {} the host, more than {} has: copies between host "
            "memory and a GPU over message sizes are needed (linkcast-bench --only host_copy)",
            rate_Bps / 1e9, way, parameter_subject(ParameterOf::kCable, kind_)));
  }

  /// A steady part slower than both ways is limited by the staging.
  void limit_staging(double rate_Bps, double stderr_Bps) {
    const double ways = std::min(context_.value(to_host()), context_.value(from_host()));
    if (rate_Bps < (1 - kDistinct) * ways) context_.set(key::range_bandwidth(kStaged, range_), rate_Bps, stderr_Bps);
  }

  /// Too few sizes: the shape of the curve comes from another calibration, its level from these data.
  bool borrow_curve() {
    const std::string need = "staged copies over at least 8 sizes, 1 KiB to 64 MiB";
    if (context_.inherited.empty() || (pairs_.empty() && !context_.host_lends(key::chunk(kStaged)))) {
      if (!pairs_.empty()) missing(need);
      return false;
    }
    const bool flat = context_.inherit(key::flat(kStaged, 0), need);
    range_ = flat ? 1 : 0;
    bool complete = true;
    for (const ParameterKey& one : {startup(), key::chunk(kStaged)}) complete = context_.inherit(one, need) && complete;
    if (!complete) return false;
    if (!rates_known() && (!context_.lends(to_host()) ? !level_of_new_kind() : !context_.inherit(to_host(), need)))
      return false;
    if (flat) {
      context_.inherit(key::range_end(kStaged, 0), need);
      shift_startup();
    }
    return true;
  }

  /// No calibrated machine has cables of this kind. Nothing tells the way up from the way down then: both get the rate
  /// that sets the pace, so that a copy of s bytes takes a + (s + c) / rate.
  bool level_of_new_kind() {
    const auto level = steady_rate(samples(plain), chunk(), context_.value(startup()), -chunk());
    if (!level) {
      context_.undetermined.push_back(to_host().name + ": staged copies of 64 MiB");
      return false;
    }
    context_.set(to_host(), level->value, level->stderr_,
                 "derived: as fast as the staged copies, the slower of both ways");
    return true;
  }

  /// Smallest copies measured here: the launch-bound time is theirs, and the other start-up moves with it.
  void shift_startup() {
    std::vector<double> small;
    for (const Sample& s : samples([](const StagedPair&) { return true; }))
      if (s.size_B <= context_.value(key::range_end(kStaged, 0))) small.push_back(s.time_s);
    if (small.empty()) return;
    const MedianEstimate flat = estimate_median(small);
    const ParameterKey known = key::flat(kStaged, 0);
    const double moved = flat.value - context_.value(known);
    context_.set(known, flat.value, flat.stderr_);
    context_.set(startup(), context_.value(startup()) + moved, context_.found.at(startup().name).stderr_,
                 "derived: inherited, moved with the fitted " + known.name);
  }

  /// Rate of the way down, and whether crossing sockets limits a copy.
  void fit_rates() {
    const auto local = rate(samples(plain_local));
    const auto cross = rate(samples(plain_cross));
    const ParameterKey down = from_host();
    const bool curve = context_.has(down);
    if (local && !(curve && (!cross || cross->value >= (1 - kCrossing) * local->value)))
      context_.set(down, local->value, local->stderr_);
    if (!context_.has(down) && !context_.inherit(down, "staged copies inside one socket") && cross)
      context_.set(down, cross->value, cross->stderr_);
    if (!cross || !context_.has(down) || cross->value >= (1 - kCrossing) * context_.value(down)) return;
    crossing_limited_ = true;
    for (const Cable& cable : context_.wires->topology().cables)
      if (is_socket_cable(cable.kind))
        context_.set(key::cable_flow_bandwidth(cable.kind), cross->value, cross->stderr_);
  }

  /// A slower GPU says nothing about a link that others use too: they get more through it.
  bool shared(int link, int device) const {
    for (const int gpu : context_.wires->topology().gpus()) {
      const auto& links = context_.wires->from_host(gpu).links;
      if (gpu != device && std::find(links.begin(), links.end(), link) != links.end()) return true;
    }
    return false;
  }

  void set_links(int device, const MedianEstimate& rate, const MedianEstimate& kind) {
    for (const int link : context_.wires->from_host(device).links) {
      if (rate.value < kind.value && shared(link, device)) continue;
      const ParameterKey own = link_rate(link);
      if (context_.has(own) && context_.value(own) >= rate.value) continue;
      context_.set(own, rate.value, rate.stderr_);
    }
  }

  /// A GPU whose way down is measurably unlike the others' gets its own rate, on its own links up to the socket.
  void fit_each_gpu() {
    const MedianEstimate kind{context_.value(from_host()), context_.found.at(from_host().name).stderr_};
    for (const int gpu : context_.wires->topology().gpus()) {
      std::vector<Sample> to_gpu;
      for (const StagedPair& pair : pairs_)
        if (pair.target == gpu && pair.shared.empty() && !(pair.crosses && crossing_limited_))
          to_gpu.insert(to_gpu.end(), pair.samples.begin(), pair.samples.end());
      const auto own = rate(to_gpu);
      if (own && distinct(*own, kind)) set_links(gpu, *own, kind);
    }
  }

  double rate_down(int gpu) const {
    double lowest = std::numeric_limits<double>::infinity();
    for (const int link : context_.wires->from_host(gpu).links) {
      const ParameterKey own = link_rate(link);
      lowest = std::min(lowest, context_.value(context_.has(own) ? own : from_host()));
    }
    return lowest;
  }

  /// A copy that goes up and down one cable moves at half of what the cable carries in both directions together.
  /// The cable's capacity is at least what any pair got through it, so the fastest pair of each cable counts.
  void fit_duplex() {
    std::map<int, MedianEstimate> by_cable;
    for (const StagedPair& pair : pairs_) {
      if (pair.shared.empty()) continue;
      const double down = rate_down(pair.target);
      const auto steady = steady_rate(pair.samples, chunk(), head_s() + chunk() / down, chunk());
      if (!steady) continue;
      for (const int cable : pair.shared)
        if (!by_cable.count(cable) || by_cable[cable].value < 2 * steady->value)
          by_cable[cable] = {2 * steady->value, 2 * steady->stderr_};
    }
    if (context_.has(key::cable_duplex(kind_))) return;  // host copies both ways told it
    if (by_cable.empty()) {
      context_.inherit(key::cable_duplex(kind_), "staged copies between GPUs under one PCIe switch");
      return;
    }
    std::vector<double> values;
    for (const auto& [cable, both] : by_cable) values.push_back(both.value);
    const MedianEstimate kind = estimate_median(values);
    context_.set(key::cable_duplex(kind_), kind.value, kind.stderr_);
    for (const auto& [cable, both] : by_cable)
      if (distinct(both, {kind.value, 0})) set_duplex(cable, both);
  }

  /// What each chunk waits for one in the other direction, where cables carry both at the pace of one.
  void fit_bidirectional() {
    const ParameterKey pace = key::range_bandwidth(kStaged, range_), duplex = key::cable_duplex(kind_);
    if (!context_.has(pace) || (context_.has(duplex) && 2 * context_.value(pace) > context_.value(duplex))) return;
    std::map<std::pair<bool, FitContext::Key>, std::vector<double>> both;
    for (const Sample& s : context_.both_ways(kStaged))
      if (s.size_B >= kPipelined * chunk()) both[{s.single, {s.source, s.target, s.size_B}}].push_back(s.time_s);
    const std::array alone = {context_.times(kStaged, false), context_.times(kStaged, true)};
    std::vector<double> waits;
    for (const auto& [timing_and_key, times] : both) {
      const auto& [single, key] = timing_and_key;
      const auto one = alone[single ? 1 : 0].find(key);
      if (one != alone[single ? 1 : 0].end())
        waits.push_back((median(times) - median(one->second)) * chunk() / std::get<2>(key));
    }
    if (waits.empty()) return;
    const MedianEstimate wait = estimate_median(waits);
    if (wait.value > kDistinctSigmas * wait.stderr_)
      context_.set(key::bidirectional(kStaged), wait.value, wait.stderr_);
  }

  /// The cable itself, and the cables of the GPUs below it, which carry the same traffic.
  void set_duplex(int cable, const MedianEstimate& both) {
    const auto& wires = *context_.wires;
    std::set<int> cables = {cable};
    for (const int gpu : wires.topology().gpus()) {
      const auto up = cables_of(wires, wires.to_host(gpu).links);
      const auto at = std::find(up.begin(), up.end(), cable);
      if (at != up.end()) cables.insert(up.begin(), at);
    }
    for (const int each : cables) {
      const Cable& c = wires.topology().cables[static_cast<std::size_t>(each)];
      const ParameterKey own = key::cable_duplex(one_cable(c.kind, c.id));
      if (each != cable && context_.has(own)) continue;
      context_.set(own, both.value, both.stderr_,
                   each == cable ? "fitted"
                                 : "derived: carries the same copies as " +
                                       wires.topology().cables[static_cast<std::size_t>(cable)].id);
    }
  }

  FitContext& context_;
  std::vector<StagedPair> pairs_;
  std::string kind_;
  std::size_t range_ = 0;  ///< the one with a start-up: 1 above a launch-bound one
  bool crossing_limited_ = false;
};

}  // namespace

void fit_staged(FitContext& context) {
  if (context.of("staged").empty() && !context.host_lends(key::chunk(kStaged))) return;
  StagedFit(context).run();
}

}  // namespace linkcast::fit
