// Copies between two GPUs (and inside one), one pair at a time.
// Measures: every ordered pair, at all sizes where the first GPU sends and at some elsewhere; copy engine and kernel;
// read (the target pulls) and write (the source pushes); one way and both ways; peer access on, and off (staged by the
// runtime through host memory).
// Excludes: anything else running; allocation; first touch; enabling of peer access.
// Method: lane_timer.hpp. Bidirectional times are the slower of the two directions. Data is checked once a point.
// Limits: the same buffers are copied again and again, so sizes below the L2 size may be read from L2.
#include <algorithm>

#include "calibrate/bench/bench.hpp"
#include "calibrate/bench/copy.hpp"

namespace linkcast::bench {
namespace {

constexpr std::size_t kLargestStaged = std::size_t{256} << 20;  // host staging is slow

struct Case {
  std::string transport;  // local, peer, staged
  int source, target;
  Engine engine;
  Direction direction;
  bool bidirectional;
};

class P2pCopy final : public Bench {
 public:
  explicit P2pCopy(bool back_to_back) : back_to_back_(back_to_back) {}

  std::optional<std::string> can_run(const Context&) const override { return std::nullopt; }  // local copies always can
  std::vector<Point> points(Context& context) override;
  Json method(const Context& context) const override;

 private:
  std::vector<Case> cases(const Context& context) const;
  Point point(Context& context, const Case& which, std::size_t bytes);
  Json run(Context& context, const Case& which, std::size_t bytes);

  bool back_to_back_;
  bool staged_holds_ = true;  // until a staged copy turned out to block the host
};

std::vector<Case> P2pCopy::cases(const Context& context) const {
  std::vector<Case> all;
  for (const Engine engine : {Engine::kCopy, Engine::kMultiprocessors})
    for (int gpu = 0; gpu < (context.options.quick ? 1 : context.gpus); ++gpu)
      all.push_back({"local", gpu, gpu, engine, Direction::kWrite, false});
  for (const bool staged : {false, true})
    for (const bool both : {false, true})
      for (const Engine engine : {Engine::kCopy, Engine::kMultiprocessors})
        for (const Direction direction : {Direction::kWrite, Direction::kRead})
          for (int source = 0; source < context.gpus; ++source)
            for (int target = 0; target < context.gpus; ++target) {
              if (source == target || (both && source > target)) continue;
              if (context.options.quick && source != 0 && target != 0) continue;
              if (staged && (engine != Engine::kCopy || direction != Direction::kWrite)) continue;
              all.push_back({staged ? "staged" : "peer", source, target, engine, direction, both});
            }
  return all;
}

std::vector<Point> P2pCopy::points(Context& context) {
  std::vector<Point> all;
  for (const Case& which : cases(context)) {
    const std::size_t most = which.transport == "staged" ? kLargestStaged : context.buffers().largest_copy();
    const bool few = context.options.quick || which.source != 0;  // enough to find a pair that differs from its like
    for (const std::size_t bytes : copy_sizes(few, std::min(most, context.buffers().largest_copy())))
      all.push_back(point(context, which, bytes));
  }
  return all;
}

Point P2pCopy::point(Context& context, const Case& which, std::size_t bytes) {
  Json key{{"transport", which.transport},
           {"source", gpu_id(which.source)},
           {"target", gpu_id(which.target)},
           {"size_B", bytes},
           {"engine", to_text(which.engine)}};
  if (which.transport != "local") key["direction"] = to_text(which.direction);
  if (which.bidirectional) key["bidirectional"] = true;
  const std::string group = which.transport + " " + gpu_id(which.source) + (which.bidirectional ? "<->" : "->") +
                            gpu_id(which.target) + " " + to_text(which.engine) + " " + to_text(which.direction);
  return {key, group, [this, &context, which, bytes] { return run(context, which, bytes); }};
}

Json P2pCopy::run(Context& context, const Case& which, std::size_t bytes) {
  if (which.transport == "peer" &&
      !(context.peers().possible(which.source, which.target) && context.peers().possible(which.target, which.source)))
    throw Waived("the CUDA runtime offers no peer access between " + gpu_id(which.source) + " and " +
                 gpu_id(which.target));
  context.peers().set(which.transport != "staged");
  std::vector<Copy> copies(1);
  copies[0].source = which.source;
  copies[0].target = which.target;
  copies[0].bytes = bytes;
  copies[0].engine = which.engine;
  copies[0].direction = which.direction;
  if (which.bidirectional) {
    copies.push_back(copies[0]);
    std::swap(copies[1].source, copies[1].target);
  }
  place(copies, context.buffers());
  const int repeats = back_to_back_ ? copies_per_repetition(bytes) : 1;
  const bool hold = which.transport != "staged" || staged_holds_;
  const auto result = run_copies(context, copies, repeats, context.effort(bytes), hold);
  if (which.transport == "staged") staged_holds_ = result.samples.held;
  return result_fields(result.samples, result.verified);
}

Json P2pCopy::method(const Context&) const {
  Json method{{"start", "held by a spinning kernel, released by the host"},
              {"clock", "CUDA events around the queue of each direction; both directions: the slower one"},
              {"data", "hash pattern, target overwritten before and compared on the GPU after each point"},
              {"engine",
               "copy_engine: cudaMemcpyPeerAsync (local: cudaMemcpyAsync); sm: kernel, 512 threads a block, 16-byte "
               "accesses, at most 4 blocks a multiprocessor"},
              {"direction", "write: issued on a stream of the source; read: of the target"},
              {"staged", "cudaMemcpyPeerAsync with peer access disabled between all GPUs"}};
  if (back_to_back_) method["copies_per_repetition"] = copies_rule();
  return method;
}

const bool registered_queue =
    add_bench({"p2p_copy", "copies inside a GPU and between each pair, time per copy in a queue", "back_to_back", 10},
              [] { return std::make_unique<P2pCopy>(true); });
const bool registered_single =
    add_bench({"p2p_copy_single", "as p2p_copy, one copy at a time: start-up cost included", "single", 20},
              [] { return std::make_unique<P2pCopy>(false); });

}  // namespace
}  // namespace linkcast::bench
