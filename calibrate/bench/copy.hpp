#pragma once
// One copy between two ends, as a value: which GPU executes it, with which engine, and how its result is checked.
#include <cstddef>
#include <string>
#include <vector>

#include "calibrate/bench/context.hpp"

namespace linkcast::bench {

enum class Engine { kCopy, kMultiprocessors };
enum class Direction { kRead, kWrite };
/// Blocks of the copy kernel that fill a GPU.
int resident_blocks(int device);

const char* to_text(Engine engine);        // "copy_engine", "sm"
const char* to_text(Direction direction);  // "read", "write"

/// A copy between the arenas of two GPUs (or of one).
struct Copy {
  int source = 0;
  int target = 0;
  std::size_t bytes = 0;
  Engine engine = Engine::kCopy;
  Direction direction = Direction::kWrite;  ///< write: the source's engine pushes; read: the target's engine pulls
  std::size_t source_offset = 0;
  std::size_t target_offset = 0;
  int max_blocks = 1;  ///< of a kernel copy

  [[nodiscard]] int executor() const { return direction == Direction::kWrite ? source : target; }
};

/// Gives every copy its own slot in the arenas and its share of the multiprocessors of its executor.
void place(std::vector<Copy>& copies, const Buffers& buffers);

/// Queues `copy` once on a stream of copy.executor().
void enqueue(const Copy& copy, const Buffers& buffers, cudaStream_t stream);

struct CopyResult {
  Samples samples;
  bool verified = false;
};

/// Runs all copies at once, each on a stream of its own, each `repeats` times back to back, and checks the data.
CopyResult run_copies(Context& context, const std::vector<Copy>& copies, int repeats, const Effort& effort,
                      bool hold = true);

}  // namespace linkcast::bench
