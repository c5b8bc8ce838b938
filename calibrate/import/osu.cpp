// Text of the OSU micro-benchmarks: messages of MPI between one pair of processes, and collectives of MPI.
// The programs do not print where their processes ran: options say it.

#include <fmt/format.h>

#include "calibrate/import/decimal.hpp"
#include "calibrate/import/message_ends.hpp"
#include "calibrate/import/option_values.hpp"
#include "calibrate/import/osu_log.hpp"
#include "calibrate/import/record_builder.hpp"
#include "sim/machine/library.hpp"

namespace linkcast {
namespace {

void check_pairs(const ImportRequest& request, const std::string& path, const OsuTable& log) {
  if (!log.program->many_pairs) return;
  const auto said = option_count(request, "pairs");
  if (log.pairs > 0 && said && *said != log.pairs)
    throw InputError(fmt::format("option pairs: is {}, {} prints {}", *said, path, log.pairs));
  if (log.pairs == 0 && !said)
    throw InputError("option pairs: is needed, " + log.program->name + " does not print how many pairs ran: pairs=1");
  if ((log.pairs > 0 ? log.pairs : *said) != 1)
    throw InputError(path + ": several pairs at once: schema measurement/1 has one pair a point");
}

/// Source, target and whether they lie on two nodes.
Json ends_of(const ImportRequest& request, const std::string& path, const OsuTable& log) {
  const MessageEnds said = message_ends(request, false);
  check_buffer("src", said.source, log.device_memory, path);
  check_buffer("dst", said.target, log.device_memory, path);
  Json ends{{"transport", "mpi"}, {"source", said.source}, {"target", said.target}};
  if (said.between_nodes) ends["between_nodes"] = true;
  return ends;
}

/// @param exponent  of the printed unit
std::pair<std::int64_t, double> size_and_value(const OsuRow& row, int exponent) {
  const auto size = whole_size(row.size);
  const auto value = decimal(row.value, exponent);
  if (!size) throw InputError(row.place + ": size '" + row.size + "' is not a whole number");
  if (!value || !(*value > 0)) throw InputError(row.place + ": '" + row.value + "' is not a number above 0");
  return {*size, *value};
}

void add_messages(const OsuTable& log, const Json& ends, RecordBuilder& record) {
  for (const OsuRow& row : log.rows) {
    const auto [size, value] = size_and_value(row, log.program->latency ? -6 : 6);
    if (size == 0) {
      record.note("Left out: messages of 0 bytes, which schema measurement/1 does not have.");
      continue;
    }
    Json point = ends;
    if (log.program->bidirectional) point["bidirectional"] = true;
    point["size_B"] = size;
    if (log.program->bidirectional) point["payload_count"] = 2;
    record.add(point, log.program->latency ? "time_s" : "bandwidth_Bps", value);
  }
}

/// GPUs in rank order, of each node; gpus=8 is their number.
std::vector<int> gpus_of(const ImportRequest& request, const OsuTable& log) {
  const auto text = option_text(request, "gpus");
  if (!text)
    throw InputError("option gpus: is needed, " + log.program->name +
                     " does not print who took part: gpus=8, their number on a node, or gpus=0,1,3,2 in rank order");
  if (text->find(',') != std::string::npos) return *option_gpus(request, "gpus");
  constexpr int kMost = 1024;  // far more than a node has. source: ours
  const auto count = option_count(request, "gpus").value_or(0);
  if (count > kMost) throw InputError(fmt::format("option gpus: at most {} on a node", kMost));
  std::vector<int> all;
  for (int gpu = 0; gpu < static_cast<int>(count); ++gpu) all.push_back(gpu);
  return all;
}

void add_collectives(const ImportRequest& request, const std::string& path, const OsuTable& log,
                     RecordBuilder& record) {
  const std::string memory = option_choice(request, "memory", {"device", "host"}).value_or("");
  if (memory == "host" || (memory.empty() && log.device_memory == false))
    throw InputError(path + ": " + log.program->name +
                     " had its buffers in host memory, and schema measurement/1 has collectives of GPUs: option "
                     "memory=device where they were in GPU memory after all");
  const std::vector<int> gpus = gpus_of(request, log);
  const std::int64_t nodes = option_count(request, "nodes").value_or(1);
  if (static_cast<std::int64_t>(gpus.size()) * nodes < 2)
    throw InputError("option gpus: one rank: a collective has at least two");
  Json common{{"op", log.program->op}, {"gpus", gpus}};
  if (nodes > 1) common["nodes"] = nodes;
  if (log.program->per_rank)
    record.note(log.program->name +
                ": the printed size is that of one rank's part; the record has that of all, as "
                "nccl-tests says it.");
  for (const OsuRow& row : log.rows) {
    const auto [size, value] = size_and_value(row, -6);
    if (size == 0) continue;
    const std::int64_t parts = log.program->per_rank ? static_cast<std::int64_t>(gpus.size()) * nodes : 1;
    constexpr std::int64_t kMostBytes = std::int64_t{1} << 53;  // of schema measurement/1
    if (size > kMostBytes / parts) throw InputError(row.place + ": more than 2^53 bytes over all ranks");
    Json point = common;
    point["size_B"] = size * parts;
    record.add(point, "time_s", value);
  }
  if (const auto library = option_choice(request, "library", libraries().names()))
    record.library(*library);
  else
    record.note("Which MPI this is does not stand in the file (option library).");
}

class Osu final : public Importer {
 public:
  [[nodiscard]] std::vector<ImportOption> options() const override {
    return {{"src", "device of the first process: gpu0, or cpu0 for buffers in host memory; needed of pairs"},
            {"dst", "device of the second process; needed of pairs"},
            {"between_nodes", "true if the processes ran on two nodes (default: false)"},
            {"gpus", "of collectives: their number on a node, 8, or their numbers in rank order, 0,1,3,2; needed"},
            {"nodes", "of collectives: number of nodes (default: 1)"},
            {"memory", "of collectives: device, where the title does not say CUDA or ROCm and buffers were on GPUs"},
            {"library", "of collectives: the MPI as `linkcast list libraries` names it"},
            {"pairs", "number of pairs, needed for osu_multi_lat; only 1 is read"},
            RecordBuilder::id_option()};
  }
  [[nodiscard]] Json run(const ImportRequest& request) const override;
};

void add_table(const ImportRequest& request, const std::string& path, const OsuTable& log, RecordBuilder& record) {
  record.source("OSU micro-benchmarks " + log.version);
  record.environment("osu_micro_benchmarks", log.version, path);
  if (!log.program->op.empty()) {
    record.method(log.program->name, "mean over the ranks of the time of one call, each after a barrier");
    add_collectives(request, path, log, record);
    return;
  }
  check_pairs(request, path, log);
  const Json ends = ends_of(request, path, log);
  add_messages(log, ends, record);
  record.method(log.program->name, log.program->latency ? "one-way latency: half a round trip, one message at a time"
                                                        : "time per message in a window of messages");
  if (!log.device_memory)
    record.note(file_name(path) + " does not print which memory held the buffers: options src and dst say it.");
  if (!log.program->latency)
    record.note(log.window > 0
                    ? fmt::format("{}: window of {} messages.", log.program->name, log.window)
                    : "assumed: " + log.program->name + " had its default window of 64 messages; it is not printed.");
}

/// Latencies, bandwidths and collectives are timed differently.
std::string kind_of(const OsuProgram& program) {
  return !program.op.empty() ? "osu-collectives" : program.latency ? "osu-latency" : "osu-bandwidth";
}

Json Osu::run(const ImportRequest& request) const {
  std::string kind;
  std::vector<std::pair<std::string, OsuTable>> tables;  ///< with their files
  for (const std::string& path : request.files) {
    TextFile file(path);
    file.strip_launchers();
    bool any = false;
    while (const std::optional<OsuTable> log = next_osu_table(file)) {
      const std::string its = kind_of(*log->program);
      if (!kind.empty() && kind != its)
        throw InputError(path + ": " + log->program->name +
                         " with tables of other timing: latencies time one message, bandwidths a queue, collectives "
                         "one call: import them one by one");
      kind = its;
      any = true;
      tables.emplace_back(path, *log);
    }
    if (!any) throw InputError(path + ": is no output of OSU micro-benchmarks: no line '# OSU MPI ... Test v...'");
  }
  RecordBuilder record(request, kind, "osu", kind == "osu-bandwidth" ? "back_to_back" : "single");
  for (const auto& [path, log] : tables) add_table(request, path, log, record);
  return record.json();
}

const bool osu_registered = importers().add(
    {"osu",
     "text of osu_latency, osu_bw, osu_bibw, osu_multi_lat or osu_mbw_mr with one pair, or of osu_allreduce and other "
     "collectives: MPI",
     "OSU micro-benchmarks, README, c/mpi/pt2pt and c/mpi/collective of versions 5.7 and 7.x"},
    [] { return std::make_unique<Osu>(); });

}  // namespace
}  // namespace linkcast
