#include "sim/replay/replay_cost.hpp"

#include <algorithm>
#include <filesystem>
#include <istream>

#include "sim/plugin/trace_source.hpp"
#include "sim/records/packed_file.hpp"
#include "sim/replay/open_trace.hpp"

namespace linkcast::replay {
namespace {

// Time of an event, its three runs for the interval, reading and the answer together. source:
// `tests/python/limits_test.py`: 2.0 to 2.5 us over three applications on 8 GPUs, start included; tests/bench/aims.py:
// 0.7 us of 8 ranks, 2 to 4.4 us of 512, one core of an AMD EPYC that others use too
constexpr double kEvent_s = 4e-6;
constexpr double kRuns = 3;
// Memory of a generated event, its text and what the replay holds of it. source: the same: 310 B
constexpr double kEvent_B = 310;
constexpr double kRank_B = 4096;  // source: the same, replays of 8 and 1024 ranks: 48 and 88 MB

constexpr const char* kStepsOption = "steps";  // of every application that has steps

struct Length {
  double events = 0, memory_B = 0;
  int ranks = 1;
  bool at_least = false;
};

/// An application that is not kept.
class Counter final : public TraceSink {
 public:
  struct Enough {};

  explicit Counter(double most) : most_(most) {}
  void header(const TraceHeader& header) override { ranks_ = header.ranks; }
  void event(const TraceEvent& /*event*/) override {
    work::look();
    if (++events_ > most_) throw Enough();
  }
  [[nodiscard]] Length length() const { return {events_, events_ * kEvent_B, ranks_, false}; }

 private:
  double most_, events_ = 0;
  int ranks_ = 1;
};

Length counted(const std::string& name, const std::map<std::string, std::string>& options, double most) {
  Counter counter(most);
  try {
    trace_generators().get(name).run(TraceOptions(options), counter);
  } catch (const Counter::Enough&) {  // more than may be replayed: how many more does not matter
    Length cut = counter.length();
    cut.at_least = true;
    return cut;
  }
  return counter.length();
}

/// Steps are alike: the first two say what the others are.
Length length_of_application(const ReplayPart& part, double most) {
  const TraceGenerator& generator = trace_generators().get(part.trace);
  TraceOptions(part.options).refuse_others(part.trace, generator.options());
  const auto known = generator.options();
  const bool has_steps =
      std::any_of(known.begin(), known.end(), [](const TraceOption& option) { return option.key == kStepsOption; });
  constexpr int kFewSteps = 3;
  const int steps = has_steps ? TraceOptions(part.options).whole(kStepsOption, kFewSteps) : 1;
  if (steps <= kFewSteps || part.options.count(kStepsOption) == 0) return counted(part.trace, part.options, most);
  std::map<std::string, std::string> options = part.options;
  options[kStepsOption] = "1";
  Length all = counted(part.trace, options, most);
  options[kStepsOption] = "2";
  const double second = all.at_least ? all.events : counted(part.trace, options, 2 * most).events - all.events;
  all.events += (steps - 1) * std::max(0.0, second);
  all.memory_B = all.events * kEvent_B;
  return all;
}

/// Events of a file by the length of its first lines. Nothing of what is no plain file: it is read once.
Length length_of_file(const std::string& path) {
  if (!std::filesystem::is_regular_file(path)) return {};
  constexpr int kLinesRead = 200;
  const std::unique_ptr<std::istream> file = open_packed(path);
  double bytes = 0;
  int lines = 0;
  std::string line;
  for (; lines < kLinesRead && std::getline(*file, line); ++lines) bytes += static_cast<double>(line.size() + 1);
  if (lines == 0) return {};
  return {unpacked_size_B(path) / bytes * lines, 0, TraceReader(path).header().ranks};
}

}  // namespace

bool through_a_pipe(const ReplayRequest& request) {
  return std::any_of(request.parts.begin(), request.parts.end(), [](const ReplayPart& part) {
    std::error_code none;
    return std::filesystem::exists(part.trace, none) && !std::filesystem::is_regular_file(part.trace, none);
  });
}

work::Estimate estimate_of(const std::string& data_dir, const ReplayRequest& request) {
  const work::Limits& limits = work::limits();
  constexpr double kFew = 1e6;  // ours: counted in a tenth of a second
  const double most = std::max(kFew, std::min(limits.memory_B / kEvent_B, limits.time_s / kEvent_s));
  work::Estimate sum{"replay", 0, "events", 0, 0};
  const auto known = trace_generators().names();
  bool first = true;
  for (const ReplayPart& part : request.parts) {
    const bool application =
        std::find(known.begin(), known.end(), part.trace) != known.end() && !std::filesystem::exists(part.trace);
    Length length = application ? length_of_application(part, most) : length_of_file(trace_path(data_dir, part.trace));
    const double copies = part.ranks > 0 ? static_cast<double>(part.ranks) / length.ranks : 1;
    length.events *= copies * (first ? request.repeat : 1);
    sum.items += length.events;
    sum.at_least = sum.at_least || length.at_least;
    sum.memory_B += length.memory_B + kRank_B * std::max(part.ranks, length.ranks);
    first = false;
  }
  sum.time_s = sum.items * kEvent_s * (request.interval ? 1 : 1 / kRuns);
  return sum;
}

}  // namespace linkcast::replay
