#pragma once
// How far a healthy machine's times lie from what is expected of them, and how much of that its points share.
#include <string>
#include <vector>

#include "validate/compare.hpp"

namespace linkcast::diagnosis {

/// Standard deviations of ln(time) of one figure, whatever is expected of it.
struct Scatter {
  double gpu = 0;  ///< what GPUs of one machine differ by, each end; alike for all figures of a GPU
  double own = 0;  ///< the rest: of this figure alone
};

/// One figure beside what is expected of it.
struct Judged {
  std::string group;     ///< points of one group err alike: one operation, or one transport over one kind of way
  std::string place;     ///< the GPUs of a collective, the kind of way of a copy: operations there err alike, too
  std::string family;    ///< collective, host, peer, staged, ...: decides the noise
  bool by_host = false;  ///< passes a CPU, whose boards differ more
  std::vector<std::string> gpus{};  ///< at the ends; none of a collective of many
  double size_B = 0;
  double shared_sigma = 0;  ///< of ln(time): what the expectation may be off by, alike for points of about one size
  double box_sigma = 0;     ///< of ln(time): what two machines of one type differ by
  Scatter scatter{};
};

Scatter scatter_of(const std::string& family, double size_B);
/// Judged against a forecast.
Judged judged(const validate::ComparedPoint& point);
/// Of two figures of a healthy machine around what is expected of them.
struct Covariance {
  double model = 0;    ///< what the forecast and the box are off by
  double figures = 0;  ///< what single figures scatter by
};
/// @param same  they are one
Covariance covariance(const Judged& a, const Judged& b, bool same);

/// Large sizes show rates, small ones start-ups. source: ours, as the ranges of validate --against
inline constexpr double kLargeFrom_B = 1048576;

/// Degrees of freedom of the figures' scatter: the one unknown factor by which a log is noisier or calmer than what was
/// measured.
extern const double kNoiseFreedom;

}  // namespace linkcast::diagnosis
