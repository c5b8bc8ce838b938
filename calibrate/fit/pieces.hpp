#pragma once
// Time against size as a few straight pieces; the number of pieces is chosen by the data.
#include <vector>

#include "calibrate/fit/least_squares.hpp"

namespace linkcast::fit {

/// One median time of all pairs at one size.
struct SizePoint {
  double size_B = 0;
  double time_s = 0;
};

struct Piece {
  double to_B = 0;    ///< last size it covers
  bool flat = false;  ///< time = startup; else time = startup + size / rate
  double startup_s = 0, startup_stderr_s = 0;
  double rate_Bps = 0, rate_stderr_Bps = 0;  ///< 0 if flat
};

/// What a piece may be: kProportional adds time = size / rate, for ranges in which the time grows faster than the size.
enum class PieceForms { kFlatAndLine, kProportional };

/// Pieces of at least two sizes each (three if not flat), times never falling from one piece to the next.
/// The last proportional piece may be a single size.
/// The number of pieces minimises BIC with a noise floor of 1 % of the time, so that pieces are not spent on
/// differences that do not matter.
/// @param points  sizes rising
/// @param most  largest number of pieces
std::vector<Piece> fit_pieces(const std::vector<SizePoint>& points, int most,
                              PieceForms forms = PieceForms::kFlatAndLine);

}  // namespace linkcast::fit
