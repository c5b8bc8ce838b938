#pragma once
// Normal, faulty or cannot tell: what measured times and their intervals allow to be said.
#include <string>
#include <vector>

#include "sim/machine/platform.hpp"
#include "validate/compare.hpp"

namespace linkcast::diagnosis {

enum class Finding {
  kFine,     ///< not 1.5 times slower than the fastest plausible healthy machine
  kUnclear,  ///< it may be that slow, or not
  kSlow,     ///< beyond what healthy machines reach; where something is wrong, also as slow_among_like() says
  kFast,     ///< below its interval
  kHost      ///< slow, but what issues it may be slow: says nothing about links
};
const char* text_of(Finding finding);

enum class Verdict { kNormal, kFaulty, kCannotTell };
const char* text_of(Verdict verdict);
/// Faulty before cannot tell before normal.
Verdict worse(Verdict a, Verdict b);
/// Exit code of a command, part of the contract.
int exit_code_of(Verdict verdict);

/// Normal is a machine of which this many times slower than a healthy one is excluded. source: ours, the aim
inline constexpr double kNotNormal = 1.5;

/// Evidence of a curve is what so many neighbouring sizes show. source: ours
inline constexpr std::size_t kRepeats = 3;

/// So many times beyond its interval a healthy machine may lie, by point.
std::vector<double> reaches_of(const Platform& platform, const std::vector<validate::ComparedPoint>& points);

/// A point alone. @param reach  of reaches_of()
Finding finding_of(const validate::ComparedPoint& point, double reach);

/// Small sizes show start-ups, large ones rates: one of both, of one operation or transport.
struct SizeClass {
  std::string part;      ///< "all_reduce x16 on 2 nodes from 1 MiB on"
  double slower = 1;     ///< than the fastest plausible healthy machine, in three neighbouring sizes, at most
  double width = 1;      ///< of the intervals there, high over low
  bool repeats = false;  ///< slow in three neighbouring sizes, or of copies in two points
};
/// @param places  of the points that count
std::vector<SizeClass> size_classes(const std::vector<validate::ComparedPoint>& points,
                                    const std::vector<std::size_t>& places, const std::vector<Finding>& findings);
/// The class that may be slowest; none: nothing was judged.
const SizeClass* least_sure(const std::vector<SizeClass>& classes);

}  // namespace linkcast::diagnosis
