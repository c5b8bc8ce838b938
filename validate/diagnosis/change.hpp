#pragma once
// Two logs of one benchmark: which sizes take longer, by how much, and whether such runs differ by that anyway.
#include <optional>
#include <string>
#include <vector>

#include "validate/diagnosis/fleet.hpp"
#include "validate/diagnosis/verdict.hpp"

namespace linkcast::diagnosis {

enum class Change { kAlike, kSlower, kFaster };
const char* text_of(Change change);

/// One figure in both logs.
struct ChangedPoint {
  std::string key;  ///< of FleetLog
  Judged judged;
  double before_s = 0, after_s = 0;
  double usual = 1;  ///< such runs differ by up to so many times
  Change change = Change::kAlike;
};

/// One curve: times before and times after are these, but for noise, where start-up and rate alone changed.
struct ChangedCurve {
  std::string group;
  double startup_s = 0;      ///< every size takes longer by it; 0: none that shows
  double startup_times = 1;  ///< at the smallest size
  double rate_times = 1;     ///< slower at the largest size, above the start-up; 1: none that shows
  struct Sizes {
    double from_B = 0, to_B = 0, times = 1;
  };
  std::optional<Sizes> apart{};  ///< sizes in the middle that neither explains: another protocol or algorithm
};

struct LogChange {
  std::vector<ChangedPoint> points;
  std::vector<ChangedCurve> curves;  ///< of collectives that are slower
  std::size_t slower = 0, faster = 0;
  std::vector<std::string> parts{};  ///< that are slower in three neighbouring sizes, of copies in two figures
  double slower_at_most = 1;         ///< in the three neighbouring sizes that are least sure
  Ranking ranking{};                 ///< of slow parts
  Verdict verdict = Verdict::kNormal;
};

/// @throws InputError  nothing in common
LogChange change_between(const FleetLog& before, const FleetLog& after);

Json to_json(const LogChange& change);
/// A row a size of each curve, and each copy that changed.
std::string table_text(const LogChange& change);
/// "all_reduce x16 on 2 nodes: start-up 90 us longer (4.6 times at 8 B), rate as it was", of each slower curve.
std::vector<std::string> curve_texts(const LogChange& change);

}  // namespace linkcast::diagnosis
