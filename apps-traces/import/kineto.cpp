// PyTorch profiler (Kineto) recordings, one file a rank, into a trace.
#include <algorithm>

#include "apps-traces/import/kineto_bundle.hpp"
#include "apps-traces/import/recorded_trace.hpp"
#include "sim/base/foreign_json.hpp"
#include "sim/base/packed_file.hpp"
#include "sim/records/parameter_rows.hpp"

namespace linkcast::kineto {
namespace {

RankRecording read_kineto(const std::string& file) {
  const std::unique_ptr<std::istream> stream = open_packed(file);
  if (!*stream) throw InputError(file + ": cannot be read");
  const Json json = parse_foreign_json(*stream, file);
  if (json.is_discarded()) throw InputError(file + ": is not whole JSON");
  return is_bundle(json) ? read_bundle(file, json) : read_timeline(file, json, true);
}

std::vector<RankRecording> read_all(const std::vector<std::string>& files) {
  std::vector<RankRecording> ranks;
  for (const std::string& file : files) ranks.push_back(read_kineto(file));
  if (ranks.size() == 1 && ranks.front().ranks > 1) {
    take_alone(ranks.front());
    return ranks;
  }
  std::sort(ranks.begin(), ranks.end(), [](const RankRecording& a, const RankRecording& b) { return a.rank < b.rank; });
  for (std::size_t i = 0; i < ranks.size(); ++i) {
    const std::string is =
        ranks[i].file + ": is rank " + std::to_string(ranks[i].rank) + " of " + std::to_string(ranks[i].ranks);
    if (ranks[i].ranks != static_cast<int>(ranks.size()))
      throw InputError(is + ", and " + std::to_string(ranks.size()) + " files are given: one of each rank is needed");
    if (i > 0 && ranks[i].rank == ranks[i - 1].rank) throw InputError(is + ", which another file is too");
    if (ranks[i].rank != static_cast<int>(i)) throw InputError(is + ", and no file is rank " + std::to_string(i));
  }
  return ranks;
}

class Kineto final : public TraceImporter {
 public:
  [[nodiscard]] std::vector<TraceOption> options() const override {
    std::vector<TraceOption> all = recording_options("kineto");
    all.insert(
        all.end(),
        {{"machine", "platform that was recorded, which lends what recording costs; hgx-h200 unless said"},
         {"edits", "of the machine for step-time, with ; between: 'disable p2p'"},
         {"launch-cost", "what recording adds to a call that puts work on the GPU", key::recording_launch().name},
         {"call-cost", "the same of other calls of CUDA", key::recording_call().name},
         {"operator-cost", "the same of an operator of PyTorch", key::recording_operator().name},
         {"collective-cost", "the same of a collective, beside its operators", key::recording_collective().name}});
    return all;
  }

  void run(const std::vector<std::string>& files, const TraceOptions& options, TraceSink& sink) const override {
    write_recordings({"kineto", "recorded by torch.profiler (Kineto)"}, read_all(files), options, sink);
  }
};

const bool kineto_registered = trace_importers().add(
    {"kineto", "torch.profiler Chrome traces (Kineto), one file a rank",
     "PyTorch 2.11 torch.profiler.profile.export_chrome_trace; google/trace-viewer, Trace Event Format"},
    [] { return std::make_unique<Kineto>(); });

}  // namespace
}  // namespace linkcast::kineto
