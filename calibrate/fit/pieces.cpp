#include "calibrate/fit/pieces.hpp"

#include <cmath>
#include <limits>
#include <optional>

#include "sim/records/input_error.hpp"

namespace linkcast {
namespace {

// Smallest relative deviation worth a parameter. source: repeated columns of the P100-DGX-1 sweep differ by about 1 %.
constexpr double kNoiseFloor = 0.01;

struct Candidate {
  Piece piece;
  double chi2 = 0;
  int parameters = 0;
};

std::optional<Candidate> fit_piece(const std::vector<SizePoint>& points, std::size_t first, std::size_t last,
                                   bool flat) {
  const std::size_t count = last - first + 1;
  if (count < (flat ? 2U : 3U)) return std::nullopt;
  std::vector<Observation> rows;
  for (std::size_t i = first; i <= last; ++i)
    rows.push_back({flat ? std::vector<double>{1} : std::vector<double>{1, points[i].size_B}, points[i].time_s});
  const LinearFit fit = robust_fit(
      rows, flat ? std::vector<std::string>{"start-up"} : std::vector<std::string>{"start-up", "time per byte"});
  Candidate c;
  c.piece.to_B = points[last].size_B;
  c.piece.flat = flat;
  c.piece.startup_s = fit.value[0];
  c.piece.startup_stderr_s = fit.stderr_[0];
  if (c.piece.startup_s < 0) return std::nullopt;
  if (!flat) {
    if (!(fit.value[1] > 0)) return std::nullopt;
    c.piece.rate_Bps = 1 / fit.value[1];
    c.piece.rate_stderr_Bps = fit.stderr_[1] / (fit.value[1] * fit.value[1]);
  }
  c.chi2 = fit.loss / (kNoiseFloor * kNoiseFloor);
  c.parameters = flat ? 2 : 3;  // with its end
  return c;
}

double time_at(const Piece& piece, double size_B) {
  return piece.startup_s + (piece.flat ? 0 : size_B / piece.rate_Bps);
}

struct Best {
  double score = std::numeric_limits<double>::infinity();
  std::vector<Piece> pieces;
};

}  // namespace

std::vector<Piece> fit_pieces(const std::vector<SizePoint>& points, int most) {
  if (points.size() < 3)
    throw InputError("a curve over message sizes needs at least 3 sizes, there are " + std::to_string(points.size()));
  const double penalty = std::log(static_cast<double>(points.size()));
  // best[k][i]: points 0..i covered by k+1 pieces
  std::vector<std::vector<Best>> best(static_cast<std::size_t>(most), std::vector<Best>(points.size()));
  for (std::size_t k = 0; k < best.size(); ++k)
    for (std::size_t last = 0; last < points.size(); ++last)
      for (std::size_t first = 0; first <= last; ++first) {
        if ((k == 0) != (first == 0)) continue;
        for (const bool flat : {true, false}) {
          const auto candidate = fit_piece(points, first, last, flat);
          if (!candidate) continue;
          double score = candidate->chi2 + penalty * candidate->parameters;
          std::vector<Piece> pieces;
          if (k > 0) {
            const Best& before = best[k - 1][first - 1];
            if (before.pieces.empty()) continue;
            const double join = points[first - 1].size_B;
            if (time_at(candidate->piece, join) < time_at(before.pieces.back(), join) * (1 - kNoiseFloor) &&
                time_at(candidate->piece, points[first].size_B) < time_at(before.pieces.back(), join))
              continue;
            score += before.score;
            pieces = before.pieces;
          }
          if (score >= best[k][last].score) continue;
          pieces.push_back(candidate->piece);
          best[k][last] = {score, std::move(pieces)};
        }
      }
  const Best* chosen = nullptr;
  for (const auto& row : best)
    if (!row.back().pieces.empty() && (!chosen || row.back().score < chosen->score)) chosen = &row.back();
  return chosen->pieces;
}

}  // namespace linkcast
