// Several copies at once: who shares what.
// Measures: the makespan and each copy's own time for patterns over the GPUs, by copy engine and kernel, pushed and
// pulled. Two streams of one GPU towards one or two targets show whether its copy engine serves them in turn. Excludes:
// staged copies; copies of different size. Method: lane_timer.hpp, one lane a flow, one copy a flow and repetition.
// Kernels of one GPU share its multiprocessors evenly, all resident at once.
#include "calibrate/bench/bench.hpp"
#include "calibrate/bench/copy.hpp"

namespace linkcast::bench {
namespace {

using Pairs = std::vector<std::pair<int, int>>;
struct Pattern {
  std::string name;
  Pairs pairs;
};

Pairs ring(int gpus, int step) {
  Pairs pairs;
  for (int gpu = 0; gpu < gpus; ++gpu) pairs.emplace_back(gpu, (gpu + step + gpus) % gpus);
  return pairs;
}

std::vector<Pattern> patterns(int gpus) {
  std::vector<Pattern> all = {{"same_pair", {{0, 1}, {0, 1}}}, {"opposite", {{0, 1}, {1, 0}}}};
  Pairs from_first, to_first, disjoint, everyone;
  for (int gpu = 1; gpu < gpus; ++gpu) {
    from_first.emplace_back(0, gpu);
    to_first.emplace_back(gpu, 0);
    if (gpu < 2) continue;
    all.push_back({"same_source", from_first});  // two targets, then three, ...
    all.push_back({"same_destination", to_first});
  }
  for (int gpu = 0; gpu + 1 < gpus; gpu += 2) disjoint.emplace_back(gpu, gpu + 1);
  for (int source = 0; source < gpus; ++source)
    for (int target = 0; target < gpus; ++target)
      if (source != target) everyone.emplace_back(source, target);
  if (disjoint.size() > 1) all.push_back({"disjoint", disjoint});
  if (gpus > 2) {
    all.push_back({"through", {{0, 1}, {1, 2}}});  // one GPU receives and sends
    all.push_back({"ring", ring(gpus, 1)});
    Pairs both = ring(gpus, 1);
    for (const auto& pair : ring(gpus, -1)) both.push_back(pair);
    all.push_back({"ring_both", both});
    all.push_back({"all_to_all", everyone});
  }
  return all;
}

class Concurrency final : public Bench {
 public:
  std::optional<std::string> can_run(const Context& context) const override {
    if (context.gpus < 2) return "needs 2 GPUs, this machine has 1";
    return std::nullopt;
  }
  std::vector<Point> points(Context& context) override;
  Json method(const Context&) const override {
    return {{"start", "every flow held by a spinning kernel, all released together by the host"},
            {"clock", "CUDA events of each flow's own device, from release to the end of its one copy"},
            {"time_s", "the slowest flow of each repetition"},
            {"flow_times_s", "one list a flow, in the order of flows"},
            {"engine",
             "copy_engine: cudaMemcpyPeerAsync; sm: kernels, 4 resident blocks of 512 threads a multiprocessor shared "
             "evenly by the flows of one executor"},
            {"direction", "write: issued on a stream of the source; read: of the target"}};
  }

 private:
  static Json run(Context& context, const Pairs& pairs, Engine engine, Direction direction, std::size_t bytes);
};

std::vector<Point> Concurrency::points(Context& context) {
  std::vector<std::size_t> sizes;
  for (const std::size_t mebibytes : {1, 4, 16, 64, 256})
    if (!context.options.quick || mebibytes == 1 || mebibytes == 64) sizes.push_back(mebibytes << 20);
  std::vector<Point> all;
  for (const Pattern& pattern : patterns(context.gpus))
    for (const Engine engine : {Engine::kCopy, Engine::kMultiprocessors})
      for (const Direction direction : {Direction::kWrite, Direction::kRead})
        for (const std::size_t bytes : sizes) {
          if (context.options.quick && direction == Direction::kRead) continue;
          Json flows = Json::array();
          for (const auto& [source, target] : pattern.pairs) flows.push_back({gpu_id(source), gpu_id(target), bytes});
          all.push_back({{{"pattern", pattern.name},
                          {"flows", flows},
                          {"engine", to_text(engine)},
                          {"direction", to_text(direction)}},
                         pattern.name + " x" + std::to_string(pattern.pairs.size()) + " " + to_text(engine),
                         [&context, pairs = pattern.pairs, engine, direction, bytes] {
                           return run(context, pairs, engine, direction, bytes);
                         }});
        }
  return all;
}

Json Concurrency::run(Context& context, const Pairs& pairs, Engine engine, Direction direction, std::size_t bytes) {
  std::vector<Copy> copies;
  for (const auto& [source, target] : pairs) {
    if (!context.peers().possible(source, target) || !context.peers().possible(target, source))
      throw Waived("the CUDA runtime offers no peer access between " + gpu_id(source) + " and " + gpu_id(target));
    Copy copy;
    copy.source = source;
    copy.target = target;
    copy.bytes = bytes;
    copy.engine = engine;
    copy.direction = direction;
    copies.push_back(copy);
  }
  if (bytes > context.buffers().largest_copy()) throw Waived("not enough GPU memory");
  context.peers().set(true);
  place(copies, context.buffers());
  const auto result = run_copies(context, copies, 1, context.effort(bytes));
  Json fields = result_fields(result.samples, result.verified);
  fields["flow_times_s"] = result.samples.lane_s;
  return fields;
}

const bool registered =
    add_bench({"concurrency", "several copies at once: same source, same target, ring, all to all", "single", 50},
              [] { return std::make_unique<Concurrency>(); });

}  // namespace
}  // namespace linkcast::bench
