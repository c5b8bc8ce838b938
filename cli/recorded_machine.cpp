#include "cli/recorded_machine.hpp"

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <random>

#include "cli/progress.hpp"
#include "cli/trace_out.hpp"
#include "sim/launch/host_costs.hpp"
#include "sim/log/log.hpp"
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
  if (!machine.empty() && has_all(catalogue.platform(machine).calibration(), known)) return machine;
  const std::string& lent = launch::measured_host();
  return catalogue.has_platform(lent) && has_all(catalogue.platform(lent).calibration(), known) ? lent : "";
}

/// Why a trace was not recorded on a machine; empty: nothing speaks against it.
std::string other_machine(const Topology& topology, const TraceHeader& header) {
  int gpus = 0;
  for (const Device& device : topology.devices) {
    if (device.kind != DeviceKind::kGpu) continue;
    ++gpus;
    if (!header.device.empty() && device.model != header.device)
      return "recorded on " + header.device + ", and " + topology.name + " has " + device.model;
  }
  if (gpus >= header.ranks) return "";
  return std::to_string(header.ranks) + " ranks, and " + topology.name + " has " + std::to_string(gpus) + " GPUs";
}

/// The machine on which the host is fitted; empty: none is known, and the time comes with the recording, so that nobody
/// asked for it. @throws InputError  the option asks for it
std::string machine_of(Context& context, const std::map<std::string, std::string>& options, const TraceHeader& header) {
  const std::string machine = option_of(options, "machine");
  const std::string why =
      machine.empty() ? "no machine is named" : other_machine(context.catalogue().platform(machine).topology(), header);
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
  const std::string edited = edits.empty() ? machine : context.catalogue().edited(machine, edits);
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
  const Calibration& calibration = context.catalogue().platform(lender).calibration();
  for (const TraceOption& option : known)
    if (!option.parameter.empty())
      options.emplace(option.key, Json(calibration.find(option.parameter)->value).dump() + "s");
  options.emplace("lender", lender);
  options.emplace("machine", lender);
}

void import_recorded(Context& context, const TraceImporter& importer, const std::vector<std::string>& files,
                     const std::map<std::string, std::string>& options, const std::string& out) {
  TraceOut sink(out, context.progress());  // before the work, which takes its time
  Spool spool;
  importer.run(files, TraceOptions(options), spool);
  spool.close();
  TraceReader reader(spool.path());
  TraceHeader header = reader.header();
  if (header.step_time_s) fit_host(context, options, spool.path(), header);
  for (const std::string& note : header.notes) log::Log("cli").note("{}", note);
  sink.header(header);
  while (const auto event = reader.next()) sink.event(*event);
  sink.close();
}

}  // namespace linkcast::cli
