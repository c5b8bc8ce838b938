// Traces, with the host fitted on the machine that they were recorded on.
#include <algorithm>
#include <array>
#include <filesystem>
#include <sstream>

#include "calibrate/import/importer.hpp"
#include "calibrate/pipelines/import_files.hpp"
#include "calibrate/pipelines/import_notes.hpp"
#include "sim/base/parse.hpp"
#include "sim/base/text.hpp"
#include "sim/forecast/host_costs.hpp"
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
    if (keeps_)
      *kept_ += trace_line(to_json(event));
    else
      write_(trace_line(to_json(event)));
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

bool has_all(const Calibration& calibration, const std::vector<TraceOption>& known) {
  return std::all_of(known.begin(), known.end(), [&](const TraceOption& option) {
    return option.parameter.empty() || calibration.find(option.parameter) != nullptr;
  });
}

/// @returns  empty where neither the named machine nor the measured host has them
std::string lender_of(catalogue::Catalogue& catalogue, const std::vector<TraceOption>& known,
                      const std::string& machine) {
  if (!machine.empty() && has_all(catalogue.machine(machine)->platform().calibration(), known)) return machine;
  const std::string& measured = launch::measured_host();
  return catalogue.has_platform(measured) && has_all(catalogue.machine(measured)->platform().calibration(), known)
             ? measured
             : "";
}

/// Adds the options that a fitted parameter stands in for and that are not given; `lender` says whose they are.
void add_fitted(catalogue::Catalogue& catalogue, const std::vector<TraceOption>& known, Options& options) {
  if (std::all_of(known.begin(), known.end(), [](const TraceOption& o) { return o.parameter.empty(); })) return;
  const std::string lender = lender_of(catalogue, known, option_of(options, "machine"));
  if (lender.empty()) return;
  const Calibration& calibration = catalogue.machine(lender)->platform().calibration();
  for (const TraceOption& option : known)
    if (!option.parameter.empty())
      options.emplace(option.key, Json(calibration.find(option.parameter)->value).dump() + "s");
  options.emplace("lender", lender);
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
  const auto gpus = std::count_if(topology.devices.begin(), topology.devices.end(),
                                  [](const Device& device) { return device.kind == DeviceKind::kGpu; });
  if (gpus >= header.ranks) return "";
  return fmt::format("{} ranks, and {} has {} GPUs", header.ranks, topology.name, gpus);
}

/// The machine on which the host is fitted; empty: none is known, and the time comes with the recording, so that nobody
/// requested it. One that is named may call its GPUs otherwise (40 GB for 80 GB), and a note of the header says so.
/// @throws InputError  the option asks for it
std::string machine_of(catalogue::Catalogue& catalogue, const Options& options, TraceHeader& header) {
  const bool named = options.count("machine") > 0;
  const std::string machine = option_of(options, named ? "machine" : "lender");
  std::string why = "no machine is named";
  if (!machine.empty()) {
    const Topology& topology = catalogue.machine(machine)->platform().topology();
    const std::string other = other_gpus(topology, header);
    why = too_few_gpus(topology, header);
    if (why.empty() && named && !other.empty())
      header.notes.push_back("assumed: they are the same, since option machine names it: " + other);
    if (why.empty() && !named) why = other;
  }
  if (why.empty()) return machine;
  if (option_of(options, "step-time").empty()) return "";
  throw InputError("option step-time: " + why + ": option machine=ID names the machine on which a step takes that");
}

/// Sets the header's host_scale to the fitted one, and a note says so. @param part  the trace
void fit_host(catalogue::Catalogue& catalogue, const Options& options, const replay::ReplayPart& part,
              TraceHeader& header) {
  const std::string machine = machine_of(catalogue, options, header);
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
  Options options = request.options;
  TraceOptions(options).refuse_others(format, known);
  for (const auto& [key, value] : {std::pair{"machine", &request.machine}, {"topology", &request.topology}})
    if (!value->empty()) throw InputError(std::string(key) + ": " + format + " gives a trace, which is of no machine");
  for (const std::string& file : request.files)
    if (std::filesystem::is_directory(file)) throw InputError(file + ": is a folder: name the files in it");
  expect_import(format, request.files);
  const bool of_machine =
      std::any_of(known.begin(), known.end(), [](const TraceOption& option) { return option.key == "machine"; });
  TraceLines trace(write, catalogue.progress());
  if (of_machine) {
    add_fitted(catalogue, known, options);
    trace.keep();
  }
  importer.run(request.files, TraceOptions(options), trace);
  if (!of_machine) return trace.notes();
  replay::ReplayPart part{"trace of " + request.files.front()};
  part.text = trace.text();
  read_all(part);
  if (trace.kept_header().step_time_s)
    fit_host(catalogue, options, part, trace.kept_header());
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
