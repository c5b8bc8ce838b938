#include "sim/replay/utilisation.hpp"

namespace linkcast::replay {
namespace {

// The first width; it doubles as often as needed.
constexpr double kFirstBin_s = 1e-6;

/// Pairs of neighbours become one.
void halve(std::vector<double>& bins) {
  for (std::size_t i = 0; 2 * i + 1 < bins.size(); ++i) bins[i] = bins[2 * i] + bins[2 * i + 1];
  bins.resize(bins.size() / 2);
}

Json shares(const std::vector<double>& bins, double full) {
  Json all = Json::array();
  for (const double bin : bins) all.push_back(bin / full);
  return all;
}

}  // namespace

Utilisation::Utilisation(const ReplaySummary& summary, std::size_t ranks, ReplayNetwork& network)
    : summary_(summary), network_(network), bin_s_(kFirstBin_s), ranks_(ranks) {}

double Utilisation::looks_at_s() const { return static_cast<double>(bins_ + 1) * bin_s_; }

void Utilisation::looks(double now_s) {
  fill(now_s);
  if (bins_ == kMostBins) merge();
}

void Utilisation::close(double end_s) {
  if (end_s > static_cast<double>(bins_) * bin_s_) fill(end_s);
}

void Utilisation::fill(double now_s) {
  for (std::size_t i = 0; i < ranks_.size(); ++i) {
    Rank& rank = ranks_[i];
    const RankTimes now = summary_.times_until(i, now_s);
    rank.compute_s.push_back(now.compute_s - rank.until_now.compute_s);
    rank.communication_s.push_back(now.communication_s - rank.until_now.communication_s);
    rank.exposed_s.push_back(now.exposed_s - rank.until_now.exposed_s);
    rank.until_now = now;
  }
  for (const LinkUse& use : network_.link_use()) {
    Link& link = links_[use.id];
    link.capacity_Bps = use.capacity_Bps;
    link.carried_B.resize(bins_, 0);
    link.carried_B.push_back(use.carried_B - link.until_now_B);
    link.until_now_B = use.carried_B;
  }
  ++bins_;
}

void Utilisation::merge() {
  for (Rank& rank : ranks_)
    for (std::vector<double>* bins : {&rank.compute_s, &rank.communication_s, &rank.exposed_s}) halve(*bins);
  for (auto& [id, link] : links_) halve(link.carried_B);
  bins_ /= 2;
  bin_s_ *= 2;
}

Json Utilisation::to_json() const {
  Json out{{"bin_s", bin_s_}, {"ranks", Json::array()}, {"links", Json::object()}};
  for (const Rank& rank : ranks_)
    out["ranks"].push_back({{"compute", shares(rank.compute_s, bin_s_)},
                            {"communication", shares(rank.communication_s, bin_s_)},
                            {"exposed", shares(rank.exposed_s, bin_s_)}});
  for (const auto& [id, link] : links_) out["links"][id] = shares(link.carried_B, bin_s_ * link.capacity_Bps);
  return out;
}

}  // namespace linkcast::replay
