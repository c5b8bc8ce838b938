// Local copies, peer copies over accelerator links, and copies relayed by a third GPU.
#include <algorithm>
#include <cmath>
#include <limits>
#include <optional>
#include <set>

#include "calibrate/fit/fit_context.hpp"
#include "sim/base/input_error.hpp"
#include "sim/records/cable_kinds.hpp"

namespace linkcast::fit {
// Bidirectional PCIe cables: rates where copies between GPUs were measured one way only.

namespace {

/// Share of both directions that one cable of a lender carries at once; 0 where it was not measured.
/// @param error  of the share, relative
double duplex_share(const Calibration& lender, const std::string& kind, double& error) {
  const Parameter* both = lender.find(key::cable_duplex(kind));
  const Parameter *up = lender.find(key::cable_to_host(kind)), *down = lender.find(key::cable_from_host(kind));
  if (!both || !up || !down || both->inherited()) return 0;
  error = both->stderr_ / both->value;
  return both->value / (up->value + down->value);
}

/// Inherits it from the first machine that measured it on a kind of the same family and generation.
void inherit_share(FitContext& context, const std::string& kind) {
  const CableKind* own = find_cable_kind(kind);
  const CableKind* usual = own ? cable_kind_of(own->family, cable_generation(kind)) : nullptr;
  for (const Calibration* lender : context.inherited)
    for (const std::string& other : {kind, std::string(usual ? usual->name : "")}) {
      double error = 0;
      const double share = duplex_share(*lender, other, error);
      if (share <= 0) continue;
      const Parameter& one_way = context.found.at(key::cable_bandwidth(kind).name);
      Parameter both = one_way;
      both.value = 2 * share * one_way.value;
      both.stderr_ = std::max(error, kOtherCopies) * both.value;
      both.provenance = "inherited:" + lender->name + ", the share of both directions of " +
                        parameter_subject(ParameterOf::kCable, other);
      context.found[key::cable_duplex(kind).name] = both;
      return;
    }
}

}  // namespace

void inherit_peer_duplex(FitContext& context) {
  std::set<std::string> kinds;
  for (const Cable& cable : context.wires->topology().cables)
    if (is_pcie_cable(cable.kind)) kinds.insert(cable.kind);
  for (const std::string& kind : kinds)
    if (context.has(key::cable_bandwidth(kind)) && !context.has(key::cable_duplex(kind))) inherit_share(context, kind);
}

// Local copies that fit the level 2 cache. They move at the pace of the cache up to copies as large as it (P100, 4 MiB:
// 2.1 times as fast up to 4 MiB; H200, twice 25 MB: 1.6 times up to 16 MiB), beyond at that of the memory. Where only
// large copies were measured, another machine tells how much faster and up to which part of its cache.

namespace {

/// The end of the cache in the local copies of a machine.
struct CacheEdge {
  const Calibration* lender = nullptr;
  double faster = 1;         ///< than beyond it
  double of_l2 = 0;          ///< largest copy over the cache's size
  double faster_stderr = 0;  ///< relative
};

const Parameter* own(const Calibration& calibration, std::size_t k, const RangeRow& row) {
  const Parameter* found = calibration.find(row("local", k));
  return found != nullptr && found->provenance == "fitted" ? found : nullptr;
}

std::optional<CacheEdge> edge_of(const Calibration& calibration, double l2_B) {
  for (std::size_t k = 0;; ++k) {
    const Parameter* here = own(calibration, k, key::range_bandwidth);
    const Parameter* end = own(calibration, k, key::range_end);
    if (end == nullptr) return std::nullopt;
    const Parameter* next = own(calibration, k + 1, key::range_bandwidth);
    if (here == nullptr || next == nullptr || here->value <= next->value) continue;
    return CacheEdge{&calibration, here->value / next->value, end->value / l2_B,
                     std::hypot(here->stderr_ / here->value, next->stderr_ / next->value)};
  }
}

std::optional<CacheEdge> known_edge(const FitContext& context) {
  for (const Calibration* lender : context.inherited) {
    const auto kin = context.kin.find(lender);
    if (kin == context.kin.end() || kin->second.l2_B <= 0) continue;
    if (const auto edge = edge_of(*lender, kin->second.l2_B)) return edge;
  }
  return std::nullopt;
}

}  // namespace

void borrow_cache(FitContext& context) {
  if (context.l2_B <= 0 || context.has(key::range_end("local", 0)) || !context.has(key::range_bandwidth("local", 0)))
    return;
  const auto edge = known_edge(context);
  if (!edge) return;
  const auto move = [&](const RangeRow& row) {
    const Parameter beyond = context.found.at(row("local", 0).name);
    const auto errors = context.errors.find(row("local", 0).name);
    context.found[row("local", 1).name] = beyond;
    if (errors != context.errors.end()) context.errors[row("local", 1).name] = errors->second;
    return beyond;
  };
  move(key::startup);
  const Parameter rate = move(key::range_bandwidth);
  const std::string as = "derived: as much faster in the level 2 cache as on " + edge->lender->name;
  const double spread = std::hypot(edge->faster_stderr, kOtherCopies);
  context.set(key::range_bandwidth("local", 0), rate.value * edge->faster, rate.value * edge->faster * spread, as);
  context.set(key::range_end("local", 0), context.l2_B * edge->of_l2, 0, as);
}

namespace {

constexpr int kMostPieces = 6;  // BIC decides below that
constexpr std::size_t kFewestForPieces = 3;
constexpr double kSizeSpan = 100;  // two orders of magnitude between smallest and largest size
// Sizes at which copies from rest are compared with copies out of a queue. source: H200, the difference falls from
// 64 MiB on, where copies of a queue overlap
constexpr double kComparable_B = 1048576;
// Start-ups are under 1 % of a host copy from here on. source: H200 host copies, 2.5 us of 305 us
constexpr double kPlentiful_B = 16777216;

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

void set_regime(FitContext& context, const std::string& transport, std::size_t k, const Piece& piece, bool last,
                bool own_rate) {
  if (!last) context.set(key::range_end(transport, k), piece.to_B, 0);
  context.set((piece.flat ? key::flat : key::startup)(transport, k), piece.startup_s, piece.startup_stderr_s);
  if (own_rate && !piece.flat) context.set(key::range_bandwidth(transport, k), piece.rate_Bps, piece.rate_stderr_Bps);
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
  const bool flat = context.has(key::flat(transport, 0));
  context.set((flat ? key::flat : key::startup)(transport, 0), startup.value, startup.stderr_);
  return true;
}

/// What of a cable the rate of a transport's largest copies is.
const CableRow& cable_rate(const std::string& transport) {
  static const std::map<std::string_view, const CableRow*> kRates{{"h2d", &key::cable_from_host},
                                                                  {"d2h", &key::cable_to_host},
                                                                  {"peer_sm", &key::cable_store},
                                                                  {"peer_sm_read", &key::cable_load}};
  const auto known = kRates.find(transport);
  return known == kRates.end() ? key::cable_bandwidth : *known->second;
}

void set_rate(FitContext& context, const std::string& transport, const std::string& kind, double per_byte,
              double stderr_) {
  const ParameterKey rate = cable_rate(transport)(kind);
  if (!context.has(rate)) context.set(rate, 1 / per_byte, stderr_ / (per_byte * per_byte));
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
  set_rate(context, transport, kind, steady.value[1], steady.stderr_[1]);
}

/// A transport whose every piece has a rate of its own.
void fit_own_pieces(FitContext& context, const std::string& transport, const std::vector<Sample>& samples) {
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
    set_regime(context, transport, k, pieces[k], k + 1 == pieces.size(), true);
}

}  // namespace

void fit_local(FitContext& context) {
  for (const std::string transport : {"local", "local_sm"}) {
    const auto samples = context.of(transport);
    if (spans_sizes(samples))
      fit_own_pieces(context, transport, samples);
    else if (transport == "local" && context.inherit_all(transport, "local copies, a few bytes and some megabytes"))
      set_small_startup(context, transport, samples);
  }
  borrow_cache(context);
}

void fit_peer(FitContext& context) {
  for (const std::string transport : {"peer", "peer_read", "peer_sm", "peer_sm_read"}) {
    std::map<std::string, std::vector<Sample>> by_kind;
    std::map<std::string, std::set<int>> bundles;
    for (Sample s : context.of(transport)) {
      const Cable& cable = narrowest_cable(*context.wires, s);
      s.size_B /= cable.count;  // per link: a bundle moves its count times one link's bytes
      by_kind[cable.kind].push_back(s);
      bundles[cable.kind].insert(cable.count);
    }
    const ParameterKey startup = key::startup(transport, 0);
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
      if (!steady && context.inherit(cable_rate(transport)(kind), transport + " copies of some megabytes")) {
        known = set_small_startup(context, transport, per_link) || known;
        continue;
      }
      if (!known && kind == by_kind.begin()->first) known = context.inherit(startup, "peer copies of a few bytes");
      const LinearFit fit = rate_fit(per_link, known ? context.value(startup) : 0);
      set_rate(context, transport, kind, fit.value[0], fit.stderr_[0]);
    }
    if (by_kind.empty() && transport.find("_sm") == std::string::npos)
      context.inherit_all(transport, transport + " copies over message sizes");
  }
}

/// What a relayed copy costs beyond two peer copies one after the other: from the smallest size that was measured.
void fit_relay(FitContext& context) {
  const auto relayed = context.of("relay");
  double smallest = std::numeric_limits<double>::infinity();
  for (const Sample& s : relayed) smallest = std::min(smallest, s.size_B);
  std::map<std::pair<std::string, bool>, double> alone;  // median time of one hop
  const auto hop = [&](const Sample& s, bool single) {
    const std::string transport = std::string("peer") + (s.read ? "_read" : "");
    const auto [it, fresh] = alone.try_emplace({transport, single}, 0);
    if (!fresh) return it->second;
    std::vector<double> times;
    for (const Sample& p : context.samples)
      if (p.transport == transport && p.single == single && p.size_B == smallest) times.push_back(p.time_s);
    return it->second = times.empty() ? 0 : median(times);
  };
  std::vector<double> extra;
  for (const Sample& s : relayed)
    if (s.size_B == smallest && hop(s, false) > 0 && (!s.single || hop(s, true) > 0))
      extra.push_back(s.time_s - hop(s, false) - hop(s, s.single));
  if (extra.empty()) {
    context.inherit(key::handover("relay"), "relayed copies and peer copies of one size, the smaller the better");
    return;
  }
  const MedianEstimate estimate = estimate_median(extra);
  context.set(key::handover("relay"), std::max(estimate.value, 0.0), estimate.stderr_);
}

namespace {

/// A cable that carries less both ways than twice one way. Only host copies use one cable alone in both directions.
/// @param transport  h2d or h2d_sm: one of the two ways
void fit_host_duplex(FitContext& context, const std::string& transport, const CableRow& row) {
  const auto& wires = *context.wires;
  std::map<std::string, std::vector<double>> rates;
  for (const Sample& s : context.both_ways(transport)) {
    if (s.size_B < kPlentiful_B) continue;
    const int cable = wires.links()[static_cast<std::size_t>(wires.from_host(s.target).links.back())].cable;
    const std::string& kind = wires.topology().cables[static_cast<std::size_t>(cable)].kind;
    if (is_pcie_cable(kind)) rates[kind].push_back(2 * s.size_B / s.time_s);
  }
  for (const auto& [kind, list] : rates) {
    const MedianEstimate both = estimate_median(list);
    const double twice = context.value(key::cable_to_host(kind)) + context.value(key::cable_from_host(kind));
    if (both.value < (1 - kDistinct) * twice && !context.has(row(kind)))
      context.set(row(kind), both.value, both.stderr_);
  }
}

/// Bidirectional copies against the slower direction alone, where the bytes take little of the time.
/// @param from, to  host: transports of the two directions
void fit_bidirectional(FitContext& context, const std::string& from, const std::string& to) {
  constexpr double kFrom_B = 1024, kTo_B = 65536;  // source: ours; larger copies wait for the cable too
  const auto there = context.times(from, false), back = context.times(to, false);
  std::map<FitContext::Key, std::vector<double>> both;
  for (const Sample& s : context.both_ways(from))
    if (s.size_B >= kFrom_B && s.size_B <= kTo_B) both[{s.source, s.target, s.size_B}].push_back(s.time_s);
  std::vector<double> differences;
  for (const auto& [key, times] : both) {
    const auto& [host, gpu, size_B] = key;
    const auto one = there.find(key), other = back.find({gpu, host, size_B});
    if (one != there.end() && other != back.end())
      differences.push_back(median(times) - std::max(median(one->second), median(other->second)));
  }
  if (differences.empty()) return;
  const MedianEstimate wait = estimate_median(differences);
  if (wait.value > kDistinctSigmas * wait.stderr_) context.set(key::bidirectional(from), wait.value, wait.stderr_);
}

}  // namespace

/// Start-up and rate of copies between host memory and a GPU, each way; pageable ones have rates of their own.
void fit_host(FitContext& context) {
  for (const std::string transport : {"h2d", "d2h", "h2d_sm", "d2h_sm", "h2d_pageable", "d2h_pageable"}) {
    const auto samples = context.of(transport);
    if (samples.empty()) continue;
    const bool up = transport.rfind("d2h", 0) == 0;
    const int gpu = up ? samples.front().source : samples.front().target;
    const auto& wires = *context.wires;
    const Cable& cable = wires.topology().cables[static_cast<std::size_t>(
        wires.links()[static_cast<std::size_t>(wires.to_host(gpu).links.front())].cable)];
    const bool own = transport.find('_') != std::string::npos || !is_pcie_cable(cable.kind);
    if (!spans_sizes(samples) && own) {
      context.undetermined.push_back(parameter_subject(ParameterOf::kTransport, transport) +
                                     ": such copies from a few bytes to some megabytes");
    } else if (own) {
      fit_own_pieces(context, transport, samples);
    } else if (spans_sizes(samples)) {
      fit_startup_and_rate(context, transport, cable.kind, samples, 1);
    } else {
      const LinearFit fit = rate_fit(samples, 0);
      set_rate(context, transport, cable.kind, fit.value[0], fit.stderr_[0]);
    }
  }
  fit_host_duplex(context, "h2d", key::cable_duplex);
  fit_host_duplex(context, "h2d_sm", key::cable_kernel_duplex);
  fit_bidirectional(context, "h2d", "d2h");
  fit_bidirectional(context, "h2d_sm", "d2h_sm");
}

/// Copies from rest against copies of the same ends and size out of a queue.
void fit_single(FitContext& context) {
  for (const std::string transport :
       {"local", "local_sm", "peer", "peer_read", "peer_sm", "peer_sm_read", "staged", "h2d", "d2h"}) {
    const auto queued = context.times(transport, false);
    std::vector<double> differences;
    for (const auto& [key, times] : context.times(transport, true)) {
      const auto it = queued.find(key);
      if (it != queued.end() && std::get<2>(key) <= kComparable_B)
        differences.push_back(median(times) - median(it->second));
    }
    if (differences.empty()) continue;
    const MedianEstimate extra = estimate_median(differences);
    if (extra.value > kDistinctSigmas * extra.stderr_) context.set(key::single(transport), extra.value, extra.stderr_);
  }
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

}  // namespace linkcast::fit
