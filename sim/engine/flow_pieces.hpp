#pragma once
#include <cstddef>
#include <vector>

#include "sim/base/index.hpp"

namespace linkcast {

/// Bytes that flows moved, by the constraint that limited them.
class FlowPieces {
 public:
  static constexpr int kNone = -1;

  void clear() { pieces_.clear(); }
  /// @param newest  of the flow, or kNone. @returns  its newest one now
  int add(int newest, double moved_B, int limiter) {
    for (int i = newest; i >= 0; i = pieces_[at(i)].older)
      if (pieces_[at(i)].limiter == limiter) {
        pieces_[at(i)].moved_B += moved_B;
        return newest;
      }
    pieces_.push_back({moved_B, limiter, newest});
    return static_cast<int>(pieces_.size()) - 1;
  }
  /// Constraint that limited the flow for most of its bytes; the lower of equal ones.
  /// @param last_B, last  bytes that are no piece yet, and what limited them
  [[nodiscard]] int most_limited(int newest, double last_B, int last) const {
    Piece most{last_B, last};
    for (int i = newest; i >= 0; i = pieces_[at(i)].older)
      if (pieces_[at(i)].limiter == last) most.moved_B += pieces_[at(i)].moved_B;
    for (int i = newest; i >= 0; i = pieces_[at(i)].older) {
      const Piece& piece = pieces_[at(i)];
      const bool tie = piece.moved_B == most.moved_B && piece.limiter < most.limiter;
      if (piece.limiter != last && (piece.moved_B > most.moved_B || tie)) most = piece;
    }
    return most.limiter;
  }

 private:
  struct Piece {
    double moved_B = 0;
    int limiter = 0;
    int older = kNone;
  };
  std::vector<Piece> pieces_;
};

}  // namespace linkcast
