#pragma once
// Schedule of a collective in MSCCL's words: thread blocks of GPUs, their steps, and the messages that they come down
// to.
#include <string>
#include <vector>

#include "sim/base/index.hpp"

namespace linkcast::msccl {

/// One step of a thread block. Buffers: i(nput), o(utput), s(cratch).
struct Step {
  bool receives = false, reduces = false, stores = false, sends = false, copies = false;
  char source = 'i', target = 'i';
  int source_at = 0, target_at = 0, count = 1;  ///< chunks
  int after_block = -1, after_step = -1;        ///< of the same GPU, that it waits for
  bool tells = true;                            ///< hasdep: steps of other thread blocks see that it has ended
  int line = 0;
};

struct Block {
  int gpu = 0, id = 0, send = -1, receive = -1, channel = 0, line = 0;
  std::vector<Step> steps{};
};

enum class Collective { kAllReduce, kAllGather, kReduceScatter, kBroadcast, kAlltoall };

struct Program {
  Collective call = Collective::kAllReduce;
  std::string path, name, operation, protocol;
  int line = 1;  ///< of <algo>
  int ranks = 0, chunks = 0, channels = 1;
  double min_B = 0, max_B = kInfinity;  ///< sizes that it is for: from min_B on, below max_B
  bool in_place = false;
  std::vector<int> scratch{};   ///< chunks of each GPU
  std::vector<Block> blocks{};  ///< GPU by GPU

  /// @throws InputError  "path:line: what"
  [[noreturn]] void fail(int line, const std::string& what) const;
};

/// Chunks on their way from GPU to GPU, or copied or added inside one: one flow.
struct Move {
  int from = 0, to = 0;  ///< ranks; alike: inside one GPU
  int count = 0;         ///< chunks
  std::vector<int> after{};
  bool reduces = false;  ///< the receiver adds them to its own
};

struct Played {
  std::vector<Move> moves{};  ///< each after those that it needs
  /// Line of a step that waits for ever once a chunk fills a slot of its connection; 0: none does.
  int stuck_line = 0;
};

/// Plays the steps on sets of contributions.
/// @throws InputError  with file and line: steps that wait for ever, access outside of a buffer, another result than
/// the
///                     collective's
Played play(const Program& program);

}  // namespace linkcast::msccl
