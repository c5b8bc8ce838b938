// Local copies, peer copies over accelerator links, and copies relayed by a third GPU.
#include <algorithm>
#include <cmath>
#include <set>

#include "calibrate/fit/fit_context.hpp"
#include "sim/records/input_error.hpp"

namespace linkcast {
namespace {

constexpr int kMostPieces = 3;  // launch-bound, cache or eager, steady: more has no physical meaning here
constexpr std::size_t kFewestForPieces = 3;
constexpr double kSizeSpan = 100;  // two orders of magnitude between smallest and largest size
// Sizes whose bytes cost under 3 % of a peer copy's start-up. source: P100-DGX-1 sweep, flat up to 4 KiB
constexpr double kSmall_B = 4096;
// Sizes at which a link's rate shows even if the start-up is only roughly known. source: the same sweep, within 10 % of
// the asymptote from 4 MiB
constexpr double kSteady_B = 4194304;

/// The bundle that limits a peer copy: the lowest nominal rate on the way; among equals one that other copies share.
const Cable& narrowest_cable(const Platform& wires, const Sample& sample) {
  const auto& route = wires.peer_route(sample.source, sample.target);
  if (!route)
    throw InputError("a peer copy was measured between devices that topology " + wires.topology().name +
                     " gives no peer access");
  const Cable* narrowest = nullptr;
  for (const int link : route->links) {
    const Cable& cable =
        wires.topology().cables[static_cast<std::size_t>(wires.links()[static_cast<std::size_t>(link)].cable)];
    const double rate = cable.count * cable.bandwidth.si,
                 least = narrowest ? narrowest->count * narrowest->bandwidth.si : 0;
    const bool inner =
        cable.a != sample.source && cable.a != sample.target && cable.b != sample.source && cable.b != sample.target;
    if (!narrowest || rate < least || (rate == least && inner)) narrowest = &cable;
  }
  return *narrowest;
}

std::string regime(const std::string& transport, std::size_t k, const char* what) {
  return "transport." + transport + ".r" + std::to_string(k) + "." + what;
}

void set_regime(FitContext& context, const std::string& transport, std::size_t k, const Piece& piece, bool last,
                bool own_rate) {
  if (!last) context.set(regime(transport, k, "to_B"), piece.to_B, 0, "B");
  context.set(regime(transport, k, piece.flat ? "flat_s" : "startup_s"), piece.startup_s, piece.startup_stderr_s, "s");
  if (own_rate && !piece.flat)
    context.set(regime(transport, k, "bandwidth_Bps"), piece.rate_Bps, piece.rate_stderr_Bps, "B/s");
}

/// Start-up and rate from all samples of the steady piece, so that the error bars see every pair.
LinearFit steady_fit(const std::vector<Sample>& samples, double above_B) {
  std::vector<Observation> rows;
  for (const Sample& s : samples)
    if (s.size_B > above_B) rows.push_back({{1, s.size_B}, s.time_s});
  LinearFit fit = robust_fit(rows, {"start-up", "time per byte"});
  if (!(fit.value[1] > 0))
    throw InputError("the time of " + samples.front().transport +
                     " copies does not grow with their size: larger copies are needed");
  if (fit.value[0] < 0)
    throw InputError("the time per byte of " + samples.front().transport +
                     " copies grows with their size: no start-up of 0 s or more fits them");
  return fit;
}

/// Rate of one link where the start-up is known from elsewhere.
LinearFit rate_fit(const std::vector<Sample>& samples, double startup_s) {
  std::vector<Observation> rows;
  for (const Sample& s : samples)
    if (s.size_B >= kSteady_B && s.time_s > startup_s) rows.push_back({{s.size_B}, s.time_s - startup_s});
  if (rows.empty())
    throw InputError("calibrate fit: the " + samples.front().transport +
                     " copies determine no rate: copies of 4 MiB a link or more are needed");
  return robust_fit(rows, {"time per byte"});
}

/// Start-up of copies so small that their bytes cost nothing. @returns false if there are none
bool set_small_startup(FitContext& context, const std::string& transport, const std::vector<Sample>& samples) {
  std::vector<double> small;
  for (const Sample& s : samples)
    if (s.size_B <= kSmall_B) small.push_back(s.time_s);
  if (small.empty()) return false;
  const MedianEstimate startup = estimate_median(small);
  const bool flat = context.has(regime(transport, 0, "flat_s"));
  context.set(regime(transport, 0, flat ? "flat_s" : "startup_s"), startup.value, startup.stderr_, "s");
  return true;
}

void set_rate(FitContext& context, const std::string& kind, double per_byte, double stderr_) {
  const std::string name = "cable." + kind + ".bandwidth_Bps";
  if (!context.has(name)) context.set(name, 1 / per_byte, stderr_ / (per_byte * per_byte), "B/s");
}

/// Pieces over all sizes; the last one's rate belongs to the link, the others' to the transport.
/// @param links  of every bundle; 0 if they differ: then no size of the whole copy bounds a piece, and there is but one
void fit_startup_and_rate(FitContext& context, const std::string& transport, const std::string& kind,
                          const std::vector<Sample>& per_link, int links) {
  const auto medians = medians_by_size(per_link);
  std::vector<Piece> pieces;
  if (links > 0 && medians.size() >= kFewestForPieces) pieces = fit_pieces(medians, kMostPieces);
  if (pieces.empty() || pieces.back().flat) pieces = {Piece{}};
  const double above = pieces.size() > 1 ? pieces[pieces.size() - 2].to_B : 0;
  const LinearFit steady = steady_fit(per_link, above);
  Piece& last = pieces.back();
  last.startup_s = steady.value[0];
  last.startup_stderr_s = steady.stderr_[0];
  for (std::size_t k = 0; k < pieces.size(); ++k) {
    const bool slower = pieces[k].rate_Bps * steady.value[1] < 1;
    pieces[k].to_B *= links;  // of the whole copy again
    pieces[k].rate_Bps *= links;
    pieces[k].rate_stderr_Bps *= links;
    set_regime(context, transport, k, pieces[k], k + 1 == pieces.size(), k + 1 < pieces.size() && slower);
  }
  set_rate(context, kind, steady.value[1], steady.stderr_[1]);
}

}  // namespace

void fit_local(FitContext& context) {
  const auto samples = context.of("local");
  if (!spans_sizes(samples)) {
    if (context.inherit_all("transport.local.", "local copies, a few bytes and some megabytes"))
      set_small_startup(context, "local", samples);
    return;
  }
  const auto medians = medians_by_size(samples);
  std::vector<Piece> pieces;
  if (medians.size() >= kFewestForPieces) {
    pieces = fit_pieces(medians, kMostPieces);
  } else {
    const LinearFit line = steady_fit(samples, 0);
    pieces = {{0, false, line.value[0], line.stderr_[0], 1 / line.value[1],
               line.stderr_[1] / (line.value[1] * line.value[1])}};
  }
  for (std::size_t k = 0; k < pieces.size(); ++k)
    set_regime(context, "local", k, pieces[k], k + 1 == pieces.size(), true);
}

void fit_peer(FitContext& context) {
  for (const std::string transport : {"peer", "peer_read"}) {
    std::map<std::string, std::vector<Sample>> by_kind;
    std::map<std::string, std::set<int>> bundles;
    for (Sample s : context.of(transport)) {
      const Cable& cable = narrowest_cable(*context.wires, s);
      s.size_B /= cable.count;  // per link: a bundle moves its count times one link's bytes
      by_kind[cable.kind].push_back(s);
      bundles[cable.kind].insert(cable.count);
    }
    const std::string startup = "transport." + transport + ".r0.startup_s";
    bool known = false;
    for (auto& [kind, per_link] : by_kind) {
      if (!known && spans_sizes(per_link)) {
        fit_startup_and_rate(context, transport, kind, per_link,
                             bundles[kind].size() == 1 ? *bundles[kind].begin() : 0);
        known = true;
        continue;
      }
      const bool steady =
          std::any_of(per_link.begin(), per_link.end(), [](const Sample& s) { return s.size_B >= kSteady_B; });
      if (!steady && context.inherit("cable." + kind + ".bandwidth_Bps", transport + " copies of some megabytes")) {
        known = set_small_startup(context, transport, per_link) || known;
        continue;
      }
      if (!known && kind == by_kind.begin()->first) known = context.inherit(startup, "peer copies of a few bytes");
      const LinearFit fit = rate_fit(per_link, known ? context.value(startup) : 0);
      set_rate(context, kind, fit.value[0], fit.stderr_[0]);
    }
    if (by_kind.empty()) context.inherit_all("transport." + transport + ".", transport + " copies over message sizes");
  }
}

/// What a relayed copy of a few bytes costs beyond two peer copies one after the other.
void fit_relay(FitContext& context) {
  std::vector<double> extra;
  for (const Sample& s : context.of("relay")) {
    const std::string hop = std::string("transport.peer") + (s.read ? "_read" : "") + ".r0.";
    const std::string name = hop + (context.has(hop + "flat_s") ? "flat_s" : "startup_s");
    if (s.size_B <= kSmall_B && context.has(name)) extra.push_back(s.time_s - 2 * context.value(name));
  }
  if (extra.empty()) {
    context.inherit("transport.relay.handover_s", "relayed copies of a few bytes");
    return;
  }
  const MedianEstimate estimate = estimate_median(extra);
  context.set("transport.relay.handover_s", std::max(estimate.value, 0.0), estimate.stderr_, "s");
}

std::vector<SizePoint> medians_by_size(const std::vector<Sample>& samples) {
  std::map<double, std::vector<double>> by_size;
  for (const Sample& s : samples) by_size[s.size_B].push_back(s.time_s);
  std::vector<SizePoint> points;
  for (const auto& [size, times] : by_size) points.push_back({size, median(times)});
  return points;
}

bool spans_sizes(const std::vector<Sample>& samples) {
  if (samples.empty()) return false;
  const auto [low, high] = std::minmax_element(samples.begin(), samples.end(),
                                               [](const Sample& a, const Sample& b) { return a.size_B < b.size_B; });
  return high->size_B >= kSizeSpan * low->size_B;
}

}  // namespace linkcast
