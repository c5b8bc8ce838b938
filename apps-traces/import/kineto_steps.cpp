#include "apps-traces/import/kineto_steps.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <map>
#include <optional>
#include <set>
#include <string_view>
#include <utility>

namespace linkcast::kineto {
namespace {

constexpr std::size_t kMostPeriods = 64;  // ours: periods that are tried, those of the rarest work first
constexpr std::size_t kFewestLayers = 3;  // ours: copies of an inner sequence before it counts as layers
constexpr std::size_t kInnerShare = 3;    // ours: layers are at least a third of a step's kernels
constexpr std::size_t kLeastCovered = 2;  // ours: steps are at least half of a recording's kernels

/// A run of equal sequences: work [begin, end), of which any `period` in a row come again.
struct Run {
  std::size_t begin = 0, end = 0, period = 0;
  [[nodiscard]] std::size_t copies() const { return period == 0 ? 0 : (end - begin) / period; }
  [[nodiscard]] std::size_t length() const { return end - begin; }
};

using Tokens = std::vector<int>;

/// Work as numbers, the same for the same work. @param shapes  kernels of one name and other grids differ
Tokens tokens_of(const RankRecording& rank, bool shapes) {
  std::map<std::string, int> numbers;
  Tokens tokens;
  for (const GpuWork& work : rank.work) {
    std::string what = shapes ? work.shape : work.whole_name;
    if (work.communicates)
      what += fmt::format(" {} {} {} {}", work.collective.op, work.collective.size_B, work.collective.group,
                          work.collective.peer);
    tokens.push_back(numbers.emplace(std::move(what), static_cast<int>(numbers.size())).first->second);
  }
  return tokens;
}

/// Distances between neighbours of the same kind, the rarest kinds first: what a step does once is a step apart.
std::vector<std::size_t> periods_of(const Tokens& tokens) {
  std::map<int, std::vector<std::size_t>> places;
  for (std::size_t i = 0; i < tokens.size(); ++i) places[tokens[i]].push_back(i);
  std::vector<const std::vector<std::size_t>*> rarest;
  for (const auto& [token, at] : places)
    if (at.size() > 1) rarest.push_back(&at);
  std::stable_sort(rarest.begin(), rarest.end(), [](const auto* a, const auto* b) { return a->size() < b->size(); });
  std::vector<std::size_t> periods;
  std::set<std::size_t> known;
  for (const auto* at : rarest)
    for (std::size_t i = 1; i < at->size(); ++i) {
      const std::size_t period = (*at)[i] - (*at)[i - 1];
      if (periods.size() == kMostPeriods) return periods;
      if (period * 2 <= tokens.size() && known.insert(period).second) periods.push_back(period);
    }
  return periods;
}

/// The longest run of a period; of equally long ones the last.
Run longest_run(const Tokens& tokens, std::size_t period) {
  Run longest;
  std::size_t begin = 0;
  for (std::size_t i = 0; i + period <= tokens.size(); ++i) {
    const bool ends = i + period == tokens.size() || tokens[i] != tokens[i + period];
    if (!ends) continue;
    const Run run{begin, i + period, period};
    if (run.copies() > 1 && run.length() >= longest.length()) longest = run;
    begin = i + 1;
  }
  return longest;
}

/// Runs of all periods, the longest first; of equally long ones that of the shortest period.
std::vector<Run> runs_of(const Tokens& tokens) {
  std::vector<Run> runs;
  for (const std::size_t period : periods_of(tokens))
    if (const Run run = longest_run(tokens, period); run.copies() > 1) runs.push_back(run);
  std::stable_sort(runs.begin(), runs.end(), [](const Run& a, const Run& b) {
    return std::pair(b.length(), a.period) < std::pair(a.length(), b.period);
  });
  return runs;
}

/// Whether a sequence encloses layers, which repeat in it.
bool encloses_layers(const Tokens& tokens, const Run& run) {
  const auto first = tokens.begin() + static_cast<std::ptrdiff_t>(run.begin);
  const Tokens unit(first, first + static_cast<std::ptrdiff_t>(run.period));
  const std::vector<Run> inner = runs_of(unit);
  return std::any_of(inner.begin(), inner.end(), [&](const Run& layers) {
    return layers.copies() >= kFewestLayers && layers.length() * kInnerShare >= run.period;
  });
}

/// Kernels that a step has and a layer has not: loss, sampling, optimizer. source: pytorch/pytorch
/// aten/src/ATen/native/cuda: Loss.cu (nll_loss_forward_*), ReduceArgMaxKernel.cu (ArgMaxOps), MultinomialKernel.cu,
/// MultiTensorApply.cuh, which foreach and fused optimizers run by
bool is_once_a_step(const GpuWork& work) {
  static constexpr std::array<std::string_view, 4> kNames{"nll_loss_forward", "ArgMaxOps", "sampleMultinomial",
                                                          "multi_tensor_apply_kernel"};
  return std::any_of(kNames.begin(), kNames.end(),
                     [&](std::string_view name) { return work.whole_name.find(name) != std::string::npos; });
}

/// Whether the CPU waits for the GPU, or fetches what it computed, in each copy but the last, whose end may be missing.
bool waits_each_time(const RankRecording& rank, const Run& run) {
  auto wait = rank.waits.begin();
  for (std::size_t copy = 0; copy + 1 < run.copies(); ++copy) {
    const std::size_t begin = run.begin + copy * run.period, end = begin + run.period;
    const double from_s = rank.work[begin].launch_start_s, to_s = rank.work[end].launch_start_s;
    bool waits = false;
    for (std::size_t i = begin; i < end; ++i) waits = waits || rank.work[i].copy == "d2h";
    while (wait != rank.waits.end() && wait->start_s < from_s) ++wait;
    for (; wait != rank.waits.end() && wait->start_s < to_s; ++wait) waits = waits || wait->device;
    if (!waits) return false;
  }
  return true;
}

bool any_once_a_step(const RankRecording& rank, std::size_t begin, std::size_t end) {
  return std::any_of(rank.work.begin() + static_cast<std::ptrdiff_t>(begin),
                     rank.work.begin() + static_cast<std::ptrdiff_t>(end), is_once_a_step);
}

/// Whether a run is of steps, not of layers: it goes on to the end of the recording, and each copy waits, samples, or
/// encloses layers. Layers are followed by something else: what ends the step.
bool is_of_steps(const RankRecording& rank, const Tokens& tokens, const Run& run) {
  if (run.end != tokens.size()) return false;
  const bool samples = any_once_a_step(rank, run.begin, run.begin + run.period);
  if (samples || waits_each_time(rank, run)) return true;
  return run.begin == 0 && encloses_layers(tokens, run);
}

/// Runs that cover enough of a recording, the best first, and the numbers that they are runs of.
struct Found {
  Tokens tokens;
  std::vector<Run> runs;
};

Found runs_in(const RankRecording& rank, bool shapes) {
  Found found{tokens_of(rank, shapes), {}};
  found.runs = runs_of(found.tokens);
  std::erase_if(found.runs, [&](const Run& run) { return run.length() * kLeastCovered < found.tokens.size(); });
  return found;
}

/// By kernels of the same shape, else of the same name: what a step attends to grows from one to the next.
std::optional<Run> found_in(const RankRecording& rank) {
  for (const bool shapes : {true, false}) {
    const Found found = runs_in(rank, shapes);
    for (const Run& run : found.runs)
      if (is_of_steps(rank, found.tokens, run)) return run;
  }
  return std::nullopt;
}

/// A run of so many copies, or of a multiple.
std::optional<Run> run_of(const RankRecording& rank, std::size_t steps) {
  for (const bool shapes : {true, false}) {
    const std::vector<Run> runs = runs_in(rank, shapes).runs;
    for (const bool several : {false, true})
      for (Run run : runs) {
        if (several ? run.copies() % steps != 0 : run.copies() != steps) continue;
        run.period *= run.copies() / steps;
        return run;
      }
  }
  return std::nullopt;
}

/// Whether the CPU waits for the GPU between two pieces of work that it launches.
bool waits_before(const RankRecording& rank, std::size_t work) {
  const double from_s = rank.work[work - 1].launch_end_s, to_s = rank.work[work].launch_start_s;
  auto wait = std::lower_bound(rank.waits.begin(), rank.waits.end(), from_s,
                               [](const HostWait& one, double time_s) { return one.start_s < time_s; });
  for (; wait != rank.waits.end() && wait->start_s < to_s; ++wait)
    if (wait->device) return true;
  return false;
}

/// Where the first whole copy begins: behind other work so that the last copy is whole, since the end of that work may
/// be like the end of a step. In a recording that holds parts of copies alone, behind a wait of the CPU that two copies
/// follow, else where it begins.
std::size_t first_copy(const RankRecording& rank, const Run& run) {
  const std::size_t rest = run.length() % run.period;
  if (run.begin > 0 || rest == 0) return run.begin + rest;
  for (std::size_t begin = 1; begin < run.period && begin + 2 * run.period <= run.end; ++begin)
    if (waits_before(rank, begin)) return begin;
  return 0;
}

/// Numbers the copies, and removes all other work. @returns  how much that is
std::size_t keep_copies(RankRecording& rank, Run run) {
  run.begin = first_copy(rank, run);
  const std::size_t before = rank.work.size(), kept = run.copies() * run.period;
  if (run.begin + kept < before) {
    const double ends_s = rank.work[run.begin + kept].launch_start_s;
    std::erase_if(rank.waits, [&](const HostWait& wait) { return wait.start_s >= ends_s; });
  }
  if (run.begin > 0) {
    double begins_s = rank.work[run.begin - 1].launch_end_s;
    const double launch_s = rank.work[run.begin].launch_start_s;
    for (const HostWait& wait : rank.waits)
      if (wait.start_s < launch_s) begins_s = std::max(begins_s, wait.end_s);
    rank.begins_s = begins_s;
    std::erase_if(rank.waits, [&](const HostWait& wait) { return wait.start_s < launch_s; });
  }
  const auto first = rank.work.begin() + static_cast<std::ptrdiff_t>(run.begin);
  rank.work.erase(first + static_cast<std::ptrdiff_t>(kept), rank.work.end());
  rank.work.erase(rank.work.begin(), first);
  for (std::size_t i = 0; i < kept; ++i) rank.work[i].step = static_cast<int>(i / run.period);
  rank.steps_marked = true;
  return before - kept;
}

/// That all is one step, and what repeats in it.
std::string one_step(const std::vector<RankRecording>& ranks) {
  std::string note =
      "assumed: the recording is one step: it holds neither ProfilerStep, which the profiler's step() records, nor an "
      "optimizer's";
  const std::vector<Run> runs = runs_in(ranks.front(), true).runs;
  if (runs.empty()) return note;
  return note + fmt::format(
                    "; {} kernels and copies repeat {} times, which may be layers: option steps={} makes each of them "
                    "a step",
                    runs.front().period, runs.front().copies(), runs.front().copies());
}

}  // namespace

std::string number_repeated_steps(std::vector<RankRecording>& ranks, int steps) {
  const bool marked =
      std::any_of(ranks.begin(), ranks.end(), [](const RankRecording& one) { return one.steps_marked; });
  if (marked && steps > 0)
    throw InputError("option steps: is for recordings that mark none, and " + ranks.front().file + " marks them");
  if (marked) return "";
  if (steps == 1) return "the recording is one step, as option steps says";
  std::vector<Run> runs;
  for (const RankRecording& rank : ranks) {
    const auto run = steps == 0 ? found_in(rank) : run_of(rank, static_cast<std::size_t>(steps));
    if (!run && steps > 0)
      throw InputError(
          fmt::format("option steps: no sequence of kernels and copies comes {} times in {}", steps, rank.file));
    if (!run || (!runs.empty() && run->copies() != runs.front().copies())) return one_step(ranks);
    runs.push_back(*run);
  }
  std::size_t left_out = 0;
  for (std::size_t i = 0; i < ranks.size(); ++i) left_out += keep_copies(ranks[i], runs[i]);
  std::string note = fmt::format("{} steps found by repetition of {} kernels and copies, since nothing marks them",
                                 runs.front().copies(), runs.front().period);
  if (left_out > 0) note += fmt::format("; left out: {} that belong to no whole step", left_out);
  return steps > 0 ? note : "assumed: " + note + "; option steps says otherwise";
}

}  // namespace linkcast::kineto
