// Eager and rendezvous protocols, staging and GPUDirect change the slope and the level of the curve, so it has several
// pieces. The pieces are monotone; a jump up at a change of protocol is one piece ending and a later one starting.
#include "calibrate/fit/message_fit.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <optional>
#include <set>

#include "sim/base/input_error.hpp"
#include "sim/records/parameters.hpp"

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
        if (end != kHostMemory && !context_.wires->topology().find(end))
          throw InputError(m_.path, "/points",
                           "'" + end + "' is no device of topology " + context_.wires->topology().name);
  }

  /// Time of each further message for the process that sends it.
  void posts(bool gpu) {
    std::vector<Observation> rows;
    for (const MeasuredPoint& p : m_.several)
      if (of_mpi() && p.transport == Carrier::kMpi && on_gpu(p) == gpu && p.in_a_row >= kFewestSent &&
          p.size_B <= kNoBytes_B)
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
      if (of_mpi() && p.transport == Carrier::kMpi && p.between_nodes && p.in_a_row == 1 &&
          p.source.rfind("cpu", 0) == 0)
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
      if (p.transport == Carrier::kHost && p.pairs == context_.wires->gpu_count() && p.size_B <= kSmall_B)
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

namespace {

// Launch-bound, eager in a few packet sizes, rendezvous, pipelined, and beyond some cache or buffer: BIC chooses.
constexpr int kMostMessagePieces = 8;

// Smaller messages that are sent one behind the other overlap: they show how many go per second, not how long one
// takes. source: the eager messages of calibrate/data/leonardo/osu-nv4.json end below 16 KiB
constexpr double kStreamed_B = 16384;
// So much less time is a change of protocol, not scatter. source: the same file, 15.6 us at 8 KiB and 4.2 us at 16 KiB,
// a factor of 3.7; elsewhere it falls by a factor of 1.8 at most
constexpr double kFall = 2.5;

const Device& end_of(const Platform& wires, const Measurement& m, std::size_t point, const std::string& id,
                     int& index) {
  const std::string pointer = fmt::format("/points/{}", point);
  const auto device = wires.topology().find(id);
  if (!device) throw InputError(m.path, pointer, "'" + id + "' is no device of topology " + wires.topology().name);
  const Device& found = wires.topology().devices[static_cast<std::size_t>(*device)];
  if (found.kind != DeviceKind::kGpu && found.kind != DeviceKind::kCpu)
    throw InputError(m.path, pointer, "'" + id + "': the buffer of a message lies in the memory of a GPU or a CPU");
  index = *device;
  return found;
}

int socket_of(const Platform& wires, const Device& device, int index) {
  return device.kind == DeviceKind::kCpu ? index : wires.socket_of(index);
}

Sample sample_of(const Platform& wires, const Measurement& m, std::size_t point) {
  const MeasuredPoint& p = m.points[point];
  Sample s;
  const Device& source = end_of(wires, m, point, p.source, s.source);
  const Device& target = end_of(wires, m, point, p.target, s.target);
  if (source.kind != target.kind)
    throw InputError(m.path, fmt::format("/points/{}", point),
                     "both buffers of a message are of GPUs, or both of CPUs");
  s.transport = p.transport.name();
  if (p.transport == Carrier::kMpi) {
    const bool near = socket_of(wires, source, s.source) == socket_of(wires, target, s.target);
    s.transport += p.between_nodes ? "_network" : near ? "_socket" : "_node";
    if (source.kind == DeviceKind::kCpu) s.transport += "_host";
  }
  s.size_B = p.size_B;
  s.precision = m.precision;
  return s;
}

/// Least squares of ln time among curves that never fall: neighbours out of order share their mean.
std::vector<SizePoint> rising(const std::vector<SizePoint>& points) {
  struct Block {
    double sum = 0;
    int count = 0;
    [[nodiscard]] double mean() const { return sum / count; }
  };
  std::vector<Block> blocks;
  for (const SizePoint& p : points) {
    blocks.push_back({std::log(p.time_s), 1});
    while (blocks.size() > 1 && blocks[blocks.size() - 2].mean() > blocks.back().mean()) {
      const Block last = blocks.back();
      blocks.pop_back();
      blocks.back().sum += last.sum;
      blocks.back().count += last.count;
    }
  }
  std::vector<SizePoint> result = points;
  std::size_t at = 0;
  for (const Block& block : blocks)
    for (int i = 0; i < block.count; ++i, ++at)
      if (block.count > 1) result[at].time_s = std::exp(block.mean());
  return result;
}

/// Two sizes or sizes that are alike: one range, its rate known if the sizes span enough.
std::vector<Piece> one_piece(FitContext& context, const std::string& transport, const std::vector<Sample>& samples) {
  std::vector<Observation> rows;
  std::vector<double> times;
  for (const Sample& s : samples) {
    rows.push_back({{1, s.size_B}, s.time_s});
    times.push_back(s.time_s);
  }
  if (!spans_sizes(samples)) {
    const MedianEstimate startup = estimate_median(times);
    context.undetermined.push_back(key::range_bandwidth(transport, 0).name + ": messages of some megabytes");
    return {{0, false, startup.value, startup.stderr_, 0, 0}};
  }
  const LinearFit line = robust_fit(rows, {"start-up", "time per byte"});
  if (line.value[0] < 0 || !(line.value[1] > 0))
    throw InputError("the times of " + transport + " messages fit no start-up and rate above 0");
  const double per_byte = line.value[1];
  return {{0, false, line.value[0], line.stderr_[0], 1 / per_byte, line.stderr_[1] / (per_byte * per_byte)}};
}

void fit_class(FitContext& context, const std::string& transport, const std::vector<Sample>& samples) {
  const auto medians = medians_by_size(samples);
  const bool curve = medians.size() >= 3 && spans_sizes(samples);
  const auto pieces = curve ? fit_pieces(rising(medians), kMostMessagePieces, PieceForms::kProportional)
                            : one_piece(context, transport, samples);
  double end_s = medians.front().time_s;  // of the range before
  for (std::size_t k = 0; k < pieces.size(); ++k) {
    const Piece& p = pieces[k];
    if (k + 1 < pieces.size()) context.set(key::range_end(transport, k), p.to_B, 0);
    if (p.flat || p.startup_s > 0)
      context.set((p.flat ? key::flat : key::startup)(transport, k), p.startup_s, p.startup_stderr_s);
    else  // in proportion to the size, but not below what smaller messages take
      context.set(key::flat(transport, k), end_s, 0, "derived: end of the range before");
    end_s = p.startup_s + (p.rate_Bps > 0 ? p.to_B / p.rate_Bps : 0);
    if (p.rate_Bps > 0) context.set(key::range_bandwidth(transport, k), p.rate_Bps, p.rate_stderr_Bps);
  }
}

/// The CPU moves eager messages itself, one after the other: a window of them shows their rate, and the next size,
/// which a copy engine moves, takes less time. @returns the last eager size and its time; none where no time falls
std::optional<SizePoint> last_eager(std::vector<Sample> windows) {
  std::sort(windows.begin(), windows.end(), [](const Sample& a, const Sample& b) { return a.size_B < b.size_B; });
  for (std::size_t i = 0; i + 1 < windows.size(); ++i)
    if (windows[i + 1].size_B > windows[i].size_B && kFall * windows[i + 1].time_s < windows[i].time_s)
      return SizePoint{windows[i].size_B, windows[i].time_s};
  return std::nullopt;
}

/// The start-up that a ping-pong shows, the rate and the end that windows show. What is larger goes another way.
void fit_eager(FitContext& context, const std::string& transport, const std::vector<Sample>& samples,
               const SizePoint& end) {
  std::vector<double> startups;
  for (const Sample& s : samples)
    if (s.single) startups.push_back(s.time_s - s.size_B * end.time_s / end.size_B);
  const MedianEstimate startup = estimate_median(startups);
  const double rate = end.size_B / end.time_s;
  context.set(key::range_end(transport, 0), end.size_B, 0);
  context.set(key::startup(transport, 0), startup.value, startup.stderr_);
  context.set(key::range_bandwidth(transport, 0), rate, 0);
}

/// How long a message takes is what a ping-pong shows: windows of messages, which overlap, only speak for larger ones.
void prefer_ping_pong(std::vector<Sample>& messages) {
  std::map<std::string, double> largest_B;
  for (const Sample& s : messages)
    if (s.single) largest_B[s.transport] = std::max(largest_B[s.transport], s.size_B);
  std::erase_if(messages, [&](const Sample& s) {
    const auto known = largest_B.find(s.transport);
    return !s.single && known != largest_B.end() && s.size_B <= known->second;
  });
}

}  // namespace

bool is_message(const Sample& sample) {
  const auto* row = Spelled<Carrier>::row_of(sample.transport);
  return sample.transport.starts_with("mpi_") || (row != nullptr && is_network(row->value));
}

std::vector<Sample> message_samples(const Platform& wires, const std::vector<Measurement>& measurements) {
  std::vector<Sample> samples;
  int point = 0;
  for (const Measurement& m : measurements)
    for (std::size_t i = 0; i < m.points.size(); ++i) {
      const MeasuredPoint& p = m.points[i];
      if (!is_message(p.transport) || p.bidirectional ||
          (m.timing == CopyTiming::kBackToBack && p.size_B < kStreamed_B))
        continue;
      Sample s = sample_of(wires, m, i);
      s.point = point++;
      s.single = m.timing == CopyTiming::kSingle;
      for (const double time : p.time_s) {
        s.time_s = time;
        samples.push_back(s);
      }
    }
  prefer_ping_pong(samples);
  return samples;
}

std::map<std::string, SizePoint> eager_ends(const Platform& wires, const std::vector<Measurement>& measurements) {
  std::map<std::string, std::vector<Sample>> windows;
  std::map<std::string, double> largest_B;  // of ping-pongs
  for (const Measurement& m : measurements)
    for (std::size_t i = 0; i < m.points.size(); ++i) {
      const MeasuredPoint& p = m.points[i];
      if (!is_message(p.transport) || p.bidirectional || p.between_nodes || p.time_s.empty()) continue;
      Sample s = sample_of(wires, m, i);
      s.time_s = p.time_s.front();
      if (m.timing == CopyTiming::kBackToBack)
        windows[s.transport].push_back(s);
      else
        largest_B[s.transport] = std::max(largest_B[s.transport], s.size_B);
    }
  std::map<std::string, SizePoint> ends;
  for (const auto& [transport, samples] : windows) {
    const auto end = last_eager(samples);
    if (end && largest_B.count(transport) > 0 && largest_B[transport] <= end->size_B) ends[transport] = *end;
  }
  return ends;
}

void find_messages(FitContext& context, const std::vector<Measurement>& measurements) {
  context.messages = message_samples(*context.wires, measurements);
  context.eager_ends = eager_ends(*context.wires, measurements);
  std::erase_if(context.messages,
                [&](const Sample& s) { return !s.single && context.eager_ends.contains(s.transport); });
}

void fit_messages(FitContext& context) {
  std::map<std::string, std::vector<Sample>> classes;
  for (const Sample& s : context.messages) classes[s.transport].push_back(s);
  for (const auto& [transport, samples] : classes) {
    const auto end = context.eager_ends.find(transport);
    if (end == context.eager_ends.end())
      fit_class(context, transport, samples);
    else
      fit_eager(context, transport, samples, end->second);
  }
}

void inherit_messages(FitContext& context) {
  if (context.messages.empty()) return;
  bool lent = false;
  for (const char* where : {"socket", "node", "network"})
    for (const char* memory : {"", "_host"}) {
      const std::string transport = std::string("mpi_") + where + memory;
      if (context.has_any(transport) || !context.lends_any(transport)) continue;
      context.inherit_all(transport, "");
      lent = true;
    }
  if (!lent) return;
  for (const Calibration* calibration : context.inherited)
    for (const auto& [name, parameter] : calibration->parameters)
      if (const ParameterKey key = key_named(name); ParameterName(name).head == kMessageFamily &&
                                                    !is_of(name, key::library_version) && !context.has(key) &&
                                                    context.lends(key))
        context.inherit(key, "");
}

void inherit_cables(FitContext& context) {
  std::set<std::string> kinds;
  for (const Cable& cable : context.wires->topology().cables)
    if (is_accelerator_cable(cable.kind)) kinds.insert(cable.kind);
  for (const std::string& kind : kinds) {
    const ParameterKey rate = key::cable_bandwidth(kind);
    if (!context.has(rate) && context.lends(rate)) context.inherit(rate, "");
  }
}

double message_time(const Calibration& calibration, const std::string& transport, double size_B) {
  double least_s = 0;
  for (std::size_t k = 0;; ++k) {
    const Parameter* startup = calibration.find(key::startup(transport, k));
    const Parameter* flat = calibration.find(key::flat(transport, k));
    if (!startup && !flat) throw InputError("no curve of " + transport + " messages covers this size");
    const Parameter* to = calibration.find(key::range_end(transport, k));
    const Parameter* rate = calibration.find(key::range_bandwidth(transport, k));
    const bool here = !to || size_B <= to->value;
    const double bytes = here ? size_B : to->value;
    const double moving_s = rate ? bytes / rate->value : 0;
    least_s = std::max(least_s, flat ? std::max(flat->value, moving_s) : startup->value + moving_s);
    if (here) return least_s;
  }
}

}  // namespace linkcast::fit
