#include "cli/recorded_machine.hpp"

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <random>

#include "cli/import_notes.hpp"
#include "cli/progress.hpp"
#include "cli/trace_out.hpp"
#include "sim/launch/host_costs.hpp"
#include "sim/replay/host_scale.hpp"
#include "sim/units/parse.hpp"
#include "sim/units/text.hpp"

namespace linkcast::cli {
namespace {
namespace fs = std::filesystem;

/// A trace that nobody sees, until the host is fitted.
class Spool final : public TraceSink {
 public:
  Spool()
      : path_((fs::temp_directory_path() / ("linkcast-" + std::to_string(std::random_device{}()) + ".jsonl")).string()),
        file_(path_) {}
  Spool(const Spool&) = delete;
  Spool& operator=(const Spool&) = delete;
  ~Spool() override {
    std::error_code ignored;
    fs::remove(path_, ignored);
  }
  [[nodiscard]] const std::string& path() const { return path_; }
  void header(const TraceHeader& header) override { file_ << trace_line(to_json(header)); }
  void event(const TraceEvent& event) override { file_ << trace_line(to_json(event)); }
  void close() {
    file_.close();
    if (!file_) throw InputError(path_ + ": cannot be written");
  }

 private:
  std::string path_;
  std::ofstream file_;
};

/// An error of the trace that nobody sees names what it was made of.
InputError of_recording(const InputError& error, const std::string& trace, const std::string& file) {
  std::string what = error.what();
  if (const std::size_t at = what.find(trace); at != std::string::npos)
    what.replace(at, trace.size(), "trace of " + file);
  return InputError(what);
}

std::string option_of(const std::map<std::string, std::string>& options, const std::string& key) {
  const auto found = options.find(key);
  return found == options.end() ? "" : found->second;
}

bool has_all(const Calibration& calibration, const std::vector<TraceOption>& known) {
  return std::all_of(known.begin(), known.end(), [&](const TraceOption& option) {
    return option.parameter.empty() || calibration.find(option.parameter) != nullptr;
  });
}

/// @returns  empty where neither it nor the measured host has them
std::string lender_of(Context& context, const std::vector<TraceOption>& known, const std::string& machine) {
  catalogue::Catalogue& catalogue = context.catalogue();
  if (!machine.empty() && has_all(catalogue.machine(machine)->platform().calibration(), known)) return machine;
  const std::string& lent = launch::measured_host();
  return catalogue.has_platform(lent) && has_all(catalogue.machine(lent)->platform().calibration(), known) ? lent : "";
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
  return std::to_string(header.ranks) + " ranks, and " + topology.name + " has " + std::to_string(gpus) + " GPUs";
}

/// The machine on which the host is fitted; empty: none is known, and the time comes with the recording, so that nobody
/// asked for it. One that is named may call its GPUs otherwise (40 GB for 80 GB), and a note of the header says so.
/// @throws InputError  the option asks for it
std::string machine_of(Context& context, const std::map<std::string, std::string>& options, TraceHeader& header) {
  const bool named = options.count("machine") > 0;
  const std::string machine = option_of(options, named ? "machine" : "lender");
  std::string why = "no machine is named";
  if (!machine.empty()) {
    const Topology& topology = context.machine(machine)->platform().topology();
    const std::string other = other_gpus(topology, header);
    why = too_few_gpus(topology, header);
    if (why.empty() && named && !other.empty())
      header.notes.push_back("assumed: they are the same, since option machine names it: " + other);
    if (why.empty() && !named) why = other;
  }
  if (why.empty()) return machine;
  if (option_of(options, "step-time").empty()) return "";
  throw InputError("option step-time: " + why + ": --option machine=ID names the machine on which a step takes that");
}

void fit_host(Context& context, const std::map<std::string, std::string>& options, const std::string& trace,
              TraceHeader& header) {
  const std::string machine = machine_of(context, options, header);
  if (machine.empty()) {
    header.notes.push_back("host_scale: not fitted to the " + to_text(Seconds{*header.step_time_s}) +
                           " a step that were measured without recording: --option machine=ID names the machine");
    header.step_time_s.reset();
    return;
  }
  const std::vector<std::string> edits = split(option_of(options, "edits"), ';');
  const catalogue::MachinePtr edited = context.catalogue().edited(context.machine(machine), edits);
  const std::string measured = to_text(Seconds{*header.step_time_s});
  const replay::HostAnchor anchor = replay::anchor_host(context.catalogue(), edited, trace, *header.step_time_s);
  header.host_scale = anchor.scale;
  const std::string where = machine + (edits.empty() ? "" : " (" + option_of(options, "edits") + ")");
  header.notes.push_back(anchor.device_s
                             ? "host_scale: GPUs and links of " + where + " alone take " +
                                   to_text(Seconds{*anchor.device_s}) + " a step, no less than the " + measured +
                                   " that were measured without recording: the CPUs are taken as never late"
                             : "host_scale: fitted so that a step on " + where + " takes the " + measured +
                                   " that were measured without recording");
}

}  // namespace

void lend_parameters(Context& context, const std::vector<TraceOption>& known,
                     std::map<std::string, std::string>& options) {
  const bool wants = std::any_of(known.begin(), known.end(), [](const TraceOption& o) { return !o.parameter.empty(); });
  if (!wants) return;
  const std::string lender = lender_of(context, known, option_of(options, "machine"));
  if (lender.empty()) return;
  const Calibration& calibration = context.machine(lender)->platform().calibration();
  for (const TraceOption& option : known)
    if (!option.parameter.empty())
      options.emplace(option.key, Json(calibration.find(option.parameter)->value).dump() + "s");
  options.emplace("lender", lender);
}

void import_recorded(Context& context, const TraceImporter& importer, const std::vector<std::string>& files,
                     const std::map<std::string, std::string>& options, const std::string& out) {
  TraceOut sink(out, context.progress());  // before the work, which takes its time
  Spool spool;
  importer.run(files, TraceOptions(options), spool);
  spool.close();
  try {
    TraceReader reader(spool.path());
    TraceHeader header = reader.header();
    if (header.step_time_s)
      fit_host(context, options, spool.path(), header);
    else if (options.count("edits") > 0)
      throw InputError("option edits: is of the machine for step-time, which is not given");
    ToldTrace told(sink);
    told.header(header);
    while (const auto event = reader.next()) told.event(*event);
    told.tell();
  } catch (const InputError& error) {
    throw of_recording(error, spool.path(), files.front());
  }
  sink.close();
}

}  // namespace linkcast::cli
