// Time-independent traces of SimGrid's SMPI: one action a line, of MPI calls and of the flops between them.
#include <fmt/format.h>

#include <filesystem>
#include <map>
#include <set>

#include "apps-traces/import/ti_rank.hpp"
#include "sim/machine/trace_source.hpp"

namespace linkcast {
namespace {

/// One file of actions, read to its next action.
class TiFile {
 public:
  explicit TiFile(const std::string& path) : lines_(path) {}

  /// @returns  the words of the next action, or none at the end
  std::vector<std::string> next() {
    while (lines_.next()) {
      std::vector<std::string> words = trace_words(lines_.text());
      if (words.empty() || words[0].front() == '#') continue;
      const std::optional<std::int64_t> rank = trace_whole(words[0]);
      if (!rank || *rank < 0 || *rank >= kMostRanks)
        lines_.fail(shown(words[0]) + " is no rank: an action is a rank, its name, and what it takes");
      if (words.size() < 2) lines_.fail("an action is a rank, its name, and what it takes");
      rank_ = static_cast<int>(*rank);
      return words;
    }
    return {};
  }
  [[nodiscard]] int rank() const { return rank_; }
  [[nodiscard]] const Lines& lines() const { return lines_; }

 private:
  Lines lines_;
  int rank_ = 0;
};

/// One file whose first line is no action names the others, as smpirun -trace-ti writes it.
std::vector<std::string> named_files(const std::vector<std::string>& files) {
  if (files.size() != 1) return files;
  Lines list(files[0]);
  std::vector<std::string> names;
  while (list.next()) {
    const std::vector<std::string> words = trace_words(list.text());
    if (words.empty() || words[0].front() == '#') continue;
    if (names.empty() && trace_whole(words[0])) return files;
    if (words.size() > 1) list.fail("neither an action nor the name of a file with actions");
    const std::filesystem::path beside = std::filesystem::path(files[0]).parent_path() / words[0];
    names.push_back(std::filesystem::exists(beside) ? beside.string() : words[0]);
    if (!std::filesystem::exists(names.back())) list.fail("file " + shown(words[0]) + " is not there");
  }
  if (names.empty()) throw InputError(files[0] + ": holds no action");
  return names;
}

/// How many ranks there are, and which actions, which the header has to say before the first event.
struct Survey {
  int ranks = 0;
  std::set<std::string> actions;
};

Survey survey_of(const std::vector<std::string>& files) {
  Survey survey;
  std::set<int> seen;
  for (const std::string& name : files) {
    TiFile file(name);
    for (auto words = file.next(); !words.empty(); words = file.next()) {
      seen.insert(file.rank());
      survey.actions.insert(lower(words[1]));
    }
  }
  if (seen.empty()) throw InputError(files[0] + ": holds no action");
  survey.ranks = *seen.rbegin() + 1;
  if (static_cast<int>(seen.size()) != survey.ranks) {
    int missing = 0;
    while (seen.count(missing) > 0) ++missing;
    throw InputError(fmt::format("{}: no action of rank {}, but of rank {}: is a file missing?", files[0], missing,
                                 survey.ranks - 1));
  }
  return survey;
}

std::vector<std::string> notes_of(const Survey& survey, const TraceOptions& options, double eager_B) {
  const auto any = [&](const std::vector<std::string>& names) {
    for (const std::string& name : names)
      if (survey.actions.count(name) > 0) return true;
    return false;
  };
  std::vector<std::string> notes{"assumed: every collective is of all ranks; the format names no communicator",
                                 "sends of at most " + to_text(Bytes{eager_B}) + " wait for no receive" +
                                     (options.has("eager") ? "" : " (assumed)")};
  if (options.has("flops-per-second"))
    notes.push_back("a rank computes " + options.text("flops-per-second", "") + " flops per second");
  if (any({"barrier", "ibarrier"})) notes.emplace_back("assumed: a barrier is an all_reduce of 4 bytes");
  if (any({"allgatherv", "reducescatter"}))
    notes.emplace_back("assumed: parts of different size (allgatherv, reducescatter) take as long as equal ones");
  if (any({"scan", "exscan"})) notes.emplace_back("assumed: a scan is a message from each rank to the next, in turn");
  if (any({"waitany", "waitsome"}))
    notes.emplace_back("assumed: waitany and waitsome wait for nothing; the format does not say what they found");
  return notes;
}

class TiImporter final : public TraceImporter {
 public:
  [[nodiscard]] ReadingCost cost() const override {
    return {1e-7, 1.5};  // source: `limits_test.py --imports`; it is read line by line
  }
  [[nodiscard]] std::vector<TraceOption> options() const override {
    return {
        {"flops-per-second", "what one rank computes, e.g. 1e12; needed where the trace computes"},
        {"eager", "sends of at most this size wait for no receive, 65535 B unless said (SMPI detaches below 65536)"}};
  }

  void run(const std::vector<std::string>& given, const TraceOptions& options, TraceSink& sink) const override {
    constexpr double kDetached = 65535;  // source: SimGrid, smpi/send-is-detached-thresh is 65536 and not itself eager
    const double eager_B = options.bytes("eager", kDetached);
    const double flops = options.number("flops-per-second", 0);
    if (options.has("flops-per-second") && flops <= 0) throw InputError("option flops-per-second: must be above 0");
    const std::vector<std::string> files = named_files(given);
    const Survey survey = survey_of(files);
    TraceHeader header;
    header.name = trace_file_name(given[0]);
    header.ranks = survey.ranks;
    header.source = "SimGrid time-independent trace " + header.name;
    header.eager_B = eager_B;
    header.notes = notes_of(survey, options, eager_B);
    for (int rank = 0; rank < survey.ranks; ++rank) header.groups[kTiWorld].push_back(rank);
    sink.header(header);
    write(files, survey.ranks, flops, sink);
  }

 private:
  /// The files take turns, so that a reader has to keep little.
  static void write(const std::vector<std::string>& files, int ranks, double flops, TraceSink& sink) {
    std::vector<TiFile> open;
    for (const std::string& file : files) open.emplace_back(file);
    std::map<int, TiRank> writers;
    for (bool more = true; more;) {
      more = false;
      for (TiFile& file : open) {
        const std::vector<std::string> words = file.next();
        if (words.empty()) continue;
        more = true;
        writers.try_emplace(file.rank(), file.rank(), ranks, flops, sink).first->second.action(words, file.lines());
      }
    }
  }
};

const bool simgrid_ti_registered = trace_importers().add(
    {"simgrid-ti", "SimGrid time-independent traces: one file a rank, a list of them, or one file of all ranks",
     "F. Desprez et al., Improving the Accuracy and Efficiency of Time-Independent Trace Replay, PMBS 2012; SimGrid "
     "manual, Replaying MPI Traces"},
    [] { return std::make_unique<TiImporter>(); });

}  // namespace
}  // namespace linkcast
