#pragma once
// Network noise (sim/machine/noise.hpp) from printed figures of distributions.
#include <functional>
#include <map>
#include <string>
#include <vector>

#include "calibrate/fit/fit_context.hpp"

namespace linkcast::fit {

// What a ping-pong shows of a distribution: half of the sum of two draws, one for either direction. Its extremes are
// rarer than those of one way: both draws would have to be extreme at once.

/// One direction.
struct OneWay {
  std::function<double(double)> quantile;  ///< of a probability in (0, 1)
  std::function<double(double)> below;     ///< probability to be no more than this
};

/// Probability that half of the sum of two draws is above this.
double half_sum_above(const OneWay& way, double half_sum);

/// Median of the largest of so many half sums. @param low, high  between which it lies
double largest_half_sum(const OneWay& way, int draws, double low, double high);

/// Mean of the inverse of half the sum of two draws: of times a byte, the mean goodput.
double mean_inverse_half_sum(const OneWay& way);

/// Where a rising function crosses zero, halving an interval that has it inside.
double root_of(const std::function<double(double)>& rising, double low, double high);

/// What the fabric of a topology says about two endpoints.
struct FabricDistance {
  double farther_s = 0;  ///< mean latency of the ways beyond that of the nearest two endpoints, of data sheets
  int links = 0;         ///< between switches
};

/// Figures are those of half round trips, as a ping-pong has them, either direction with a draw of its own. The mean
/// and the extreme of each distribution are met exactly: of n repetitions the extreme is the median of the largest of
/// n. Other percentiles are left for the reader to compare with.
/// @param distances  by their name in the fabric
/// @throws InputError  a distance that the fabric does not have, a message without a curve, figures with no solution
void fit_noise(FitContext& context, const std::vector<Measurement>& measurements,
               const std::map<std::string, FabricDistance>& distances);

// Times of routes between switches, from a printed mean over pairs that are far apart, against their data sheets.

/// cable.KIND.latency_scale of the cables between switches: the mean time beyond that of neighbours, over the mean that
/// data sheets give for these ways. A distribution with an extreme is of noise, see fit_noise(). Without a figure, that
/// of a machine which lends and has the same cables.
/// @param distances  by their name in the fabric
void fit_distances(FitContext& context, const Topology& topology, const std::vector<Measurement>& measurements,
                   const std::map<std::string, FabricDistance>& distances);

}  // namespace linkcast::fit
