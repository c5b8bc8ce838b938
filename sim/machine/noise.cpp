#include "sim/machine/noise.hpp"

#include <algorithm>
#include <cmath>
#include <vector>

#include "sim/base/random.hpp"
#include "sim/records/parameters.hpp"

namespace linkcast {
namespace {

enum Purpose : std::uint64_t { kLoss = 1, kWait = 2 };  // so that the draws of one way differ

std::uint64_t as_word(int number) { return static_cast<std::uint64_t>(number); }

}  // namespace

std::optional<NoiseModel> NoiseModel::of(const Calibration& calibration) {
  const Parameter* most = calibration.find(key::most_loss());
  const Parameter* exponent = calibration.find(key::loss_exponent());
  const Parameter* wait = calibration.find(key::noise_wait());
  const Parameter* sigma = calibration.find(key::noise_wait_sigma());
  if (!most || !exponent || !wait || !sigma) return std::nullopt;
  return NoiseModel{most->value, exponent->value, wait->value, sigma->value};
}

double NoiseModel::lost(double uniform, int links) const {
  return links == 0 ? 0 : most_loss * std::pow(uniform, loss_exponent / links);
}

double NoiseModel::waited_s(double normal, int links) const { return links * wait_s * std::exp(wait_sigma * normal); }

NoisyWay noisy_way(const Fabric& fabric, int from, int to) {
  std::vector<int> way;
  fabric.minimal_way(from, to, 0, way);
  return {from, to, fabric.link(way.front()).to, fabric.link(way.back()).from,
          std::max(0, static_cast<int>(way.size()) - 2)};  // the first and the last one are of the NICs
}

Background::Background(const NoiseModel& model, std::uint64_t seed, int sample)
    : model_(model), hash_(joined(mixed(seed), as_word(sample))) {}

double Background::slowdown(const NoisyWay& way) const {
  if (way.links == 0) return 1;
  const std::uint64_t pair = joined(joined(joined(hash_, kLoss), as_word(way.from_switch)), as_word(way.to_switch));
  return 1 / (1 - model_.lost(uniform(pair), way.links));
}

double Background::wait_s(const NoisyWay& way) const {
  if (way.links == 0) return 0;
  const std::uint64_t pair = joined(joined(joined(hash_, kWait), as_word(way.from)), as_word(way.to));
  return model_.waited_s(normal(pair), way.links);
}

}  // namespace linkcast
