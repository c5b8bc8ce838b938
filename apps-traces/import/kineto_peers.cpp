#include "apps-traces/import/kineto_peers.hpp"

namespace linkcast::kineto {
namespace {

/// The only rank but this one whose GPU has a number; -1: none, or several.
int rank_with(const std::vector<RankRecording>& ranks, const RankRecording& own, int gpu) {
  int found = -1;
  for (const RankRecording& rank : ranks) {
    if (&rank == &own || gpu < 0 || rank.gpu != gpu) continue;
    if (found >= 0) return -1;
    found = rank.rank;
  }
  return found;
}

}  // namespace

std::vector<std::string> find_peers(std::vector<RankRecording>& ranks) {
  long pulled = 0, unknown = 0;
  for (RankRecording& rank : ranks)
    for (GpuWork& work : rank.work) {
      if (work.copy != "d2d") continue;
      const bool pushes = work.from == rank.gpu;
      work.peer =
          rank.gpu >= 0 && (pushes || work.to == rank.gpu) ? rank_with(ranks, rank, pushes ? work.to : work.from) : -1;
      if (work.peer >= 0) {
        pulled += pushes ? 0 : 1;
        continue;
      }
      work.copy.clear();
      ++unknown;
    }
  std::vector<std::string> notes;
  if (pulled > 0)
    notes.push_back("assumed: " + std::to_string(pulled) +
                    " copies from other GPUs take as long as copies to them: a trace has those alone");
  if (unknown > 0)
    notes.push_back("assumed: " + std::to_string(unknown) +
                    " copies between GPUs take as long as recorded on any machine: the recordings do not say which "
                    "rank's GPU is at the other end");
  return notes;
}

}  // namespace linkcast::kineto
