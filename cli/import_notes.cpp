#include "cli/import_notes.hpp"

#include <map>
#include <string>
#include <vector>

#include "sim/log/log.hpp"
#include "sim/platform/topology.hpp"
#include "sim/records/gpu_model_names.hpp"

namespace linkcast::cli {
namespace {

const log::Log& import_log() {
  static const log::Log kLog("import");
  return kLog;
}

/// The parts of a source, which semicolons divide, that say what was assumed, found or left out.
std::vector<std::string> assumed_in(const std::string& source) {
  std::vector<std::string> parts;
  for (std::size_t from = 0; from < source.size();) {
    const std::size_t end = std::min(source.find("; ", from), source.size());
    const std::string part = source.substr(from, end - from);
    if (part.rfind("assumed:", 0) == 0 || part.rfind("finding:", 0) == 0 || part.rfind("left out", 0) == 0)
      parts.push_back(part);
    from = end + 2;
  }
  return parts;
}

std::string source_of(const Json& object) {
  const auto source = object.find("source");
  return source != object.end() && source->is_string() ? source->get<std::string>() : "";
}

/// Name of the first GPU that the files print; empty: none.
std::string printed_gpu(const Json& environment) {
  if (const auto one = environment.find("gpu"); one != environment.end() && one->is_string()) return *one;
  const auto all = environment.find("gpus");
  if (all == environment.end()) return "";
  for (const Json& gpu : *all)
    if (gpu.is_string()) return gpu;
  return "";
}

std::string counted(std::int64_t count, const std::string& one, const std::string& many) {
  return std::to_string(count) + " " + (count == 1 ? one : many);
}

}  // namespace

void tell_record(const Json& record) {
  if (const auto notes = record.find("notes"); notes != record.end())
    for (const Json& note : *notes) import_log().note("{}", note.get<std::string>());
  for (const std::string& part : assumed_in(source_of(record))) import_log().note("{}", part);
  std::map<std::string, std::int64_t> assumed;
  if (const auto cables = record.find("cables"); cables != record.end())
    for (const Json& cable : *cables)
      for (const std::string& part : assumed_in(source_of(cable))) ++assumed[part];
  for (const auto& [part, count] : assumed) import_log().note("{} ({})", part, counted(count, "cable", "cables"));
  if (const auto points = record.find("points"); points != record.end())
    import_log().note("{}", counted(static_cast<std::int64_t>(points->size()), "point", "points"));
}

void check_gpus(const Json& record, const std::optional<Topology>& topology) {
  const std::string printed = printed_gpu(record.value("environment", Json::object()));
  const std::string name = record.value("topology", "");
  const auto said = find_gpu_model(printed);
  if (name.empty() || printed.empty()) return;
  if (!topology) {
    import_log().note("assumed: topology {} has GPUs '{}': it is not among the shipped ones", name, printed);
    return;
  }
  const Device& gpu = topology->devices[static_cast<std::size_t>(topology->gpus().front())];
  const std::string& model = gpu.model;
  if (model.empty() && said && said->sm == gpu.sm) return;  // NCCL's files tell compute capabilities alone
  const auto known = find_gpu_model(model);
  if (!said || !known) {
    import_log().note("not checked: whether GPUs '{}' of the file are '{}' of topology {}", printed, model, name);
    return;
  }
  if (said->words == known->words) return;
  // "H100" and "H100 PCIE" are one chip: said, not refused.
  if (!names_model(printed, *known) && !names_model(model, *said))
    throw InputError("--topology: " + name + " has GPUs '" + model + "', the file names '" + printed + "'");
  import_log().warning("GPUs '{}' of the file and '{}' of topology {} may differ", printed, model, name);
}

void ToldTrace::header(const TraceHeader& header) {
  ranks_ = header.ranks;
  for (const std::string& note : header.notes) import_log().note("{}", note);
  sink_.header(header);
}

void ToldTrace::event(const TraceEvent& event) {
  ++count_[static_cast<std::size_t>(event.kind)];
  sink_.event(event);
}

void ToldTrace::tell() const {
  const std::int64_t messages = of(TraceKind::kSend) + of(TraceKind::kRecv);
  import_log().note("{}: {}, {}, {}, {}", counted(ranks_, "rank", "ranks"),
                    counted(of(TraceKind::kCollective), "call of a collective", "calls of collectives"),
                    counted(messages, "send or receive", "sends and receives"),
                    counted(of(TraceKind::kCopy), "copy", "copies"),
                    std::to_string(of(TraceKind::kCompute)) + " of compute");
  if (of(TraceKind::kCollective) + messages == 0)
    import_log().warning("0 collectives and 0 messages found: its ranks exchange nothing in a replay");
}

}  // namespace linkcast::cli
