// Traces, with the host fitted on the machine that they were recorded on.
#include <algorithm>
#include <array>
#include <filesystem>
#include <sstream>

#include "calibrate/import/importer.hpp"
#include "calibrate/pipelines/import_files.hpp"
#include "calibrate/pipelines/import_notes.hpp"
#include "calibrate/pipelines/recorded_machine.hpp"
#include "sim/base/parse.hpp"
#include "sim/base/release.hpp"
#include "sim/base/text.hpp"
#include "sim/machine/trace_source.hpp"
#include "sim/replay/host_scale.hpp"

namespace linkcast::pipelines {
namespace {

using Options = std::map<std::string, std::string>;
using Write = std::function<void(std::string_view)>;

constexpr std::int64_t kEventsBetween = 64;  // ours: events that are written, between two looks at the clock

/// Writes lines, and counts what they hold.
class TraceLines final : public TraceSink {
 public:
  TraceLines(Write write, log::Progress& progress) : write_(std::move(write)), work_(progress, "trace", "events") {}
  void header(const TraceHeader& header) override {
    header_ = header;
    if (!keeps_) write_(trace_line(to_json(header)));
  }
  void event(const TraceEvent& event) override {
    ++count_[static_cast<std::size_t>(event.kind)];
    Json json = to_json(event);
    if (keeps_)
      *kept_ += trace_line(json);
    else
      write_(trace_line(json));
    linkcast::release(json);
    if (++events_ % kEventsBetween == 0) work_.advance(events_);
  }

  /// From now on lines stay in memory, until release().
  void keep() { keeps_ = true; }
  [[nodiscard]] TraceHeader& kept_header() { return header_; }
  /// The whole trace.
  [[nodiscard]] std::shared_ptr<const std::string> text() const {
    return std::make_shared<const std::string>(trace_line(to_json(header_)) + *kept_);
  }
  void release() {
    write_(trace_line(to_json(header_)));
    write_(*kept_);
  }

  /// Notes of the header and numbers of events; a warning where ranks exchange nothing.
  [[nodiscard]] std::vector<Note> notes() const {
    std::vector<Note> notes;
    for (const std::string& note : header_.notes) notes.push_back({note});
    const std::int64_t messages = of(TraceKind::kSend) + of(TraceKind::kRecv);
    notes.push_back({fmt::format("{}: {}, {}, {}, {} of compute", counted(header_.ranks, "rank", "ranks"),
                                 counted(of(TraceKind::kCollective), "call of a collective", "calls of collectives"),
                                 counted(messages, "send or receive", "sends and receives"),
                                 counted(of(TraceKind::kCopy), "copy", "copies"), of(TraceKind::kCompute))});
    if (of(TraceKind::kCollective) + messages == 0)
      notes.push_back({"0 collectives and 0 messages found: its ranks exchange nothing in a replay", true});
    return notes;
  }

 private:
  [[nodiscard]] std::int64_t of(TraceKind kind) const { return count_[static_cast<std::size_t>(kind)]; }

  Write write_;
  log::Work work_;
  TraceHeader header_;
  bool keeps_ = false;
  std::shared_ptr<std::string> kept_ = std::make_shared<std::string>();
  std::int64_t events_ = 0;
  std::array<std::int64_t, 7> count_{};  ///< by kind
};

std::string option_of(const Options& options, const std::string& key) {
  const auto found = options.find(key);
  return found == options.end() ? "" : found->second;
}

/// That a machine has other GPUs than those a trace was recorded on; empty: not by their names.
std::string other_gpus(const Topology& topology, const TraceHeader& header) {
  for (const Device& device : topology.devices)
    if (device.kind == DeviceKind::kGpu && !header.device.empty() && device.model != header.device)
      return "recorded on " + header.device + ", and " + topology.name + " has " + device.model;
  return "";
}

/// That a machine has fewer GPUs than a trace has ranks; empty: it has not.
std::string too_few_gpus(const Topology& topology, const TraceHeader& header) {
  const auto gpus = static_cast<int>(topology.gpus().size());
  if (gpus >= header.ranks) return "";
  return fmt::format("{} ranks, and {} has {} GPUs", header.ranks, topology.name, gpus);
}

/// The machine on which the host is fitted, and why there is none.
struct Anchor {
  std::string machine, why;
};

/// A machine that is named may call its GPUs otherwise (40 GB for 80 GB), and a note of the header says so.
Anchor named_anchor(catalogue::Catalogue& catalogue, const std::string& machine, TraceHeader& header) {
  const Topology& topology = catalogue.machine(machine)->platform().topology();
  const std::string other = other_gpus(topology, header), why = too_few_gpus(topology, header);
  if (!why.empty()) return {"", why};
  if (!other.empty()) header.notes.push_back("assumed: they are the same, since option machine names it: " + other);
  return {machine, ""};
}

/// The only shipped machine with the GPUs that a recording names.
Anchor anchor_with_gpus(catalogue::Catalogue& catalogue, TraceHeader& header) {
  const auto machines = machines_with(catalogue.data_dir(), header.device, header.ranks);
  const std::string gpus = (header.ranks > 1 ? counted(header.ranks, "GPU", "GPUs") + " " : "") + header.device;
  if (machines.empty()) return {"", "no shipped machine has " + gpus};
  if (machines.size() > 1) return {"", "several machines have " + gpus + ": " + joined(machines)};
  const std::string other = other_gpus(catalogue.machine(machines.front())->platform().topology(), header);
  if (!other.empty()) header.notes.push_back("assumed: they are the same, since no other machine has them: " + other);
  return {machines.front(), ""};
}

/// The machine on which the host is fitted; empty: none is known, and the time comes with the recording, so that nobody
/// requested it. @param of_costs  whose costs of recording hold; empty: none's
/// @throws InputError  the option asks for it
std::string machine_of(catalogue::Catalogue& catalogue, const Options& options, const std::string& of_costs,
                       TraceHeader& header) {
  const std::string machine = options.count("machine") > 0 ? option_of(options, "machine") : "";
  Anchor anchor{"", "no machine is named"};
  if (!machine.empty())
    anchor = named_anchor(catalogue, machine, header);
  else if (!header.device.empty())
    anchor = anchor_with_gpus(catalogue, header);
  else if (!of_costs.empty())
    anchor = named_anchor(catalogue, of_costs, header);
  if (!anchor.machine.empty()) return anchor.machine;
  if (option_of(options, "step-time").empty()) return "";
  throw InputError("option step-time: " + anchor.why +
                   ": option machine=ID names the machine on which a step takes that");
}

/// Sets the header's host_scale to the fitted one, and a note says so. @param part  the trace
void fit_host(catalogue::Catalogue& catalogue, const Options& options, const std::string& of_costs,
              const replay::ReplayPart& part, TraceHeader& header) {
  const std::string machine = machine_of(catalogue, options, of_costs, header);
  if (machine.empty()) {
    header.notes.push_back("host_scale: not fitted to the " + to_text(Seconds{*header.step_time_s}) +
                           " a step that were measured without recording: option machine=ID names the machine");
    header.step_time_s.reset();
    return;
  }
  const std::vector<std::string> edits = split(option_of(options, "edits"), ';');
  const catalogue::MachinePtr edited = catalogue.edited(catalogue.machine(machine), edits);
  const std::string measured = to_text(Seconds{*header.step_time_s});
  const replay::HostAnchor anchor = replay::anchor_host(catalogue, edited, part, *header.step_time_s);
  header.host_scale = anchor.scale;
  const std::string where = machine + (edits.empty() ? "" : " (" + option_of(options, "edits") + ")");
  header.notes.push_back(anchor.device_s
                             ? "host_scale: GPUs and links of " + where + " alone take " +
                                   to_text(Seconds{*anchor.device_s}) + " a step, no less than the " + measured +
                                   " that were measured without recording: the CPUs are taken as never late"
                             : "host_scale: fitted so that a step on " + where + " takes the " + measured +
                                   " that were measured without recording");
}

/// Checks that a recording gives a trace that can be read, whoever recorded it.
void read_all(const replay::ReplayPart& part) {
  const auto reader = catalogue::open_text(*part.text, part.trace);
  while (reader->next()) {
  }
}

}  // namespace

std::vector<Note> import_trace(catalogue::Catalogue& catalogue, const std::string& format, const ImportRequest& request,
                               const Write& write) {
  refuse_same_files(request.files);
  const TraceImporter& importer = trace_importers().get(format);
  const std::vector<TraceOption> known = importer.options();
  const Options& options = request.options;
  TraceOptions(options).refuse_others(format, known);
  for (const auto& [key, value] : {std::pair{"machine", &request.machine}, {"topology", &request.topology}})
    if (!value->empty()) throw InputError(std::string(key) + ": " + format + " gives a trace, which is of no machine");
  for (const std::string& file : request.files)
    if (std::filesystem::is_directory(file)) throw InputError(file + ": is a folder: name the files in it");
  expect_import(format, request.files);
  const bool of_machine =
      std::any_of(known.begin(), known.end(), [](const TraceOption& option) { return option.key == "machine"; });
  TraceLines trace(write, catalogue.progress());
  if (of_machine) trace.keep();
  std::string of_costs;
  const auto fitted = [&](const std::string& gpu) {
    FittedCosts costs = fitted_costs(catalogue, known, option_of(options, "machine"), gpu);
    of_costs = costs.machine;
    if (!costs.machine.empty()) costs.values.emplace("costs-machine", costs.machine);
    if (!costs.note.empty()) costs.values.emplace("costs-note", costs.note);
    return costs.values;
  };
  importer.run(request.files, TraceOptions(options, fitted), trace);
  if (!of_machine) return trace.notes();
  replay::ReplayPart part{"trace of " + request.files.front()};
  part.text = trace.text();
  read_all(part);
  if (trace.kept_header().step_time_s)
    fit_host(catalogue, options, of_costs, part, trace.kept_header());
  else if (options.count("edits") > 0)
    throw InputError("option edits: is of the machine for step-time, which is not given");
  trace.release();
  return trace.notes();
}

double fit_recorded_host(catalogue::Catalogue& catalogue, const std::string& trace, const std::string& platform,
                         double step_s, const Write& write) {
  const std::unique_ptr<TraceReader> reader = catalogue::open_trace(catalogue.data_dir(), trace, {});
  TraceLines out(write, catalogue.progress());
  const double scale = replay::fit_host_scale(catalogue, catalogue.machine(platform), {trace}, step_s);
  TraceHeader header = reader->header();
  header.host_scale = scale;
  header.notes.push_back("host_scale: fitted so that a step without exchange takes the " + to_text(Seconds{step_s}) +
                         " that were measured without recording");
  out.header(header);
  while (const auto event = reader->next()) out.event(*event);
  return scale;
}

}  // namespace linkcast::pipelines
