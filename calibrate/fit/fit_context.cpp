#include "calibrate/fit/fit_context.hpp"

#include <fmt/format.h>

#include <cmath>
#include <limits>
#include <optional>

#include "sim/base/input_error.hpp"

namespace linkcast::fit {
namespace {

// Smallest relative deviation worth a parameter. source: repeated columns of the P100-DGX-1 sweep differ by about 1 %.
constexpr double kNoiseFloor = 0.01;

enum class Form { kFlat, kLine, kProportional };

struct Candidate {
  Piece piece;
  double chi2 = 0;
  int parameters = 0;
};

std::optional<Candidate> fit_piece(const std::vector<SizePoint>& points, std::size_t first, std::size_t last,
                                   Form form) {
  const std::size_t fewest = form == Form::kLine ? 3 : form == Form::kFlat || last + 1 < points.size() ? 2 : 1;
  if (last - first + 1 < fewest) return std::nullopt;
  std::vector<Observation> rows;
  std::vector<std::string> names;
  if (form != Form::kProportional) names.emplace_back("start-up");
  if (form != Form::kFlat) names.emplace_back("time per byte");
  for (std::size_t i = first; i <= last; ++i) {
    rows.push_back({{}, points[i].time_s});
    if (form != Form::kProportional) rows.back().row.push_back(1);
    if (form != Form::kFlat) rows.back().row.push_back(points[i].size_B);
  }
  const LinearFit fit = robust_fit(rows, names);
  Candidate c;
  c.piece.to_B = points[last].size_B;
  c.piece.flat = form == Form::kFlat;
  if (form != Form::kProportional) {
    c.piece.startup_s = fit.value.front();
    c.piece.startup_stderr_s = fit.stderr_.front();
  }
  if (c.piece.startup_s < 0) return std::nullopt;
  if (form != Form::kFlat) {
    const double per_byte = fit.value.back();
    if (!(per_byte > 0)) return std::nullopt;
    c.piece.rate_Bps = 1 / per_byte;
    c.piece.rate_stderr_Bps = fit.stderr_.back() / (per_byte * per_byte);
  }
  c.chi2 = fit.loss / (kNoiseFloor * kNoiseFloor);
  c.parameters = form == Form::kLine ? 3 : 2;  // with its end
  return c;
}

double time_at(const Piece& piece, double size_B) {
  return piece.startup_s + (piece.flat ? 0 : size_B / piece.rate_Bps);
}

struct Best {
  double score = std::numeric_limits<double>::infinity();
  std::vector<Piece> pieces;
};

/// Every piece that could be: candidates[first][last] in the order in which ties are decided.
using Candidates = std::vector<std::vector<std::vector<Candidate>>>;

Candidates all_candidates(const std::vector<SizePoint>& points, PieceForms forms) {
  Candidates all(points.size(), std::vector<std::vector<Candidate>>(points.size()));
  for (std::size_t first = 0; first < points.size(); ++first)
    for (std::size_t last = first; last < points.size(); ++last)
      for (const Form form : {Form::kFlat, Form::kLine, Form::kProportional}) {
        if (form == Form::kProportional && forms == PieceForms::kFlatAndLine) continue;
        if (const auto candidate = fit_piece(points, first, last, form)) all[first][last].push_back(*candidate);
      }
  return all;
}

/// True if the time falls from one piece to the next.
bool falls(const Piece& before, const Piece& next, double join_B, double first_B) {
  const double until = time_at(before, join_B);
  return time_at(next, join_B) < until * (1 - kNoiseFloor) && time_at(next, first_B) < until;
}

}  // namespace

std::vector<Piece> fit_pieces(const std::vector<SizePoint>& points, int most, PieceForms forms) {
  if (points.size() < 3)
    throw InputError(fmt::format("a curve over message sizes needs at least 3 sizes, there are {}", points.size()));
  const double penalty = std::log(static_cast<double>(points.size()));
  const Candidates candidates = all_candidates(points, forms);
  // best[k][i]: points 0..i covered by k+1 pieces
  std::vector<std::vector<Best>> best(static_cast<std::size_t>(most), std::vector<Best>(points.size()));
  for (std::size_t k = 0; k < best.size(); ++k)
    for (std::size_t last = 0; last < points.size(); ++last)
      for (std::size_t first = 0; first <= last; ++first) {
        if ((k == 0) != (first == 0)) continue;
        for (const Candidate& candidate : candidates[first][last]) {
          double score = candidate.chi2 + penalty * candidate.parameters;
          std::vector<Piece> pieces;
          if (k > 0) {
            const Best& before = best[k - 1][first - 1];
            if (before.pieces.empty() ||
                falls(before.pieces.back(), candidate.piece, points[first - 1].size_B, points[first].size_B))
              continue;
            score += before.score;
            pieces = before.pieces;
          }
          if (score >= best[k][last].score) continue;
          pieces.push_back(candidate.piece);
          best[k][last] = {score, std::move(pieces)};
        }
      }
  const Best* chosen = nullptr;
  for (const auto& row : best)
    if (!row.back().pieces.empty() && (!chosen || row.back().score < chosen->score)) chosen = &row.back();
  return chosen->pieces;
}

}  // namespace linkcast::fit
