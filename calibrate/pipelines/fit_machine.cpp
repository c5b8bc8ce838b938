#include "calibrate/pipelines/fit_machine.hpp"

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <limits>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <tuple>

#include "calibrate/fit/fit.hpp"
#include "calibrate/fit/fit_record.hpp"
#include "calibrate/fit/inherit.hpp"
#include "sim/base/file_hash.hpp"
#include "sim/base/log.hpp"
#include "sim/engine/problem.hpp"
#include "sim/forecast/host_costs.hpp"
#include "sim/machine/fabric.hpp"
#include "sim/machine/inherit.hpp"
#include "sim/machine/library.hpp"
#include "sim/machine/library_name.hpp"
#include "sim/machine/noise.hpp"
#include "sim/machine/platform.hpp"
#include "sim/plan/transfer.hpp"
#include "sim/records/calibration.hpp"
#include "sim/records/forecast_mark.hpp"
#include "sim/records/gpu_models.hpp"
#include "sim/records/parameters.hpp"

namespace linkcast::pipelines {
namespace {

// Structure and simulation of what a fit's samples timed.

/// Time in seconds of a sample on a platform, alone; repetitions share one simulation.
class SampleTime {
 public:
  /// Both outlive it.
  SampleTime(const Platform& platform, Solver& solver) : platform_(platform), solver_(solver) {}
  double operator()(const fit::Sample& sample);

 private:
  using Key = std::tuple<std::string, bool, int, int, int, double>;
  const Platform& platform_;
  Solver& solver_;
  std::map<Key, double> known_;
};

/// The copy that a sample timed.
activities::Transfer transfer_of(const fit::Sample& s) {
  activities::Transfer transfer{s.source, s.target, s.size_B, s.transport, s.via};
  const bool peer = s.transport.starts_with("peer");
  if (peer) transfer.transport = "peer";
  if (s.transport.starts_with("local")) transfer.transport = "local";
  if (s.transport.starts_with("h2d") || s.transport.starts_with("d2h")) transfer.transport = "host";
  if (peer || s.transport.starts_with("relay")) transfer.read = s.read;
  if (s.transport.find("_sm") != std::string::npos) transfer.by = activities::MoveBy::kSm;
  transfer.pageable = s.transport.find("pageable") != std::string::npos;
  transfer.single = s.single;
  transfer.bidirectional = s.both;
  return transfer;
}

double SampleTime::operator()(const fit::Sample& s) {
  double& time_s =
      known_[{s.transport + (s.read ? "<" : "") + (s.both ? "=" : ""), s.single, s.source, s.target, s.via, s.size_B}];
  if (time_s > 0) return time_s;
  activities::ProblemBuilder builder(platform_);
  builder.add(transfer_of(s));
  if (s.both) {
    activities::Transfer back = transfer_of(s);
    std::swap(back.source, back.target);
    builder.add(back);
  }
  return time_s = solver_.run(builder.problem()).makespan_s;
}

/// Mean latency of each distance of the fabric beyond the nearest, and links of its first pair, seen from the first
/// endpoint.
std::map<std::string, fit::FabricDistance> fabric_distances(const Topology& topology) {
  const auto fabric = make_fabric(topology);
  std::map<std::string, fit::FabricDistance> found;
  std::map<std::string, int> count;
  double nearest_s = std::numeric_limits<double>::infinity();
  for (int to = 1; to < fabric->endpoints(); ++to) {
    const std::string& name = fabric->distances()[static_cast<std::size_t>(fabric->distance(0, to))];
    const double latency_s = fabric_latency(*fabric, 0, to).si;
    nearest_s = std::min(nearest_s, latency_s);
    if (count[name]++ == 0) found[name].links = noisy_way(*fabric, 0, to).links;
    found[name].farther_s += latency_s;
  }
  for (auto& [name, distance] : found) distance.farther_s = distance.farther_s / count[name] - nearest_s;
  return found;
}

// Learning from measured collectives, or forecasting those that are held out.

// Collectives of the fitted machines are met within 1.02 to 1.3: beyond this they are of something else. source:
// models/params
constexpr double kOtherThings = 2;

Json to_json(const learn::AccuracyRow& row) {
  return {{"left_out", row.left_out},
          {"machine", row.machine},
          {"library", row.library},
          {"nodes", row.nodes},
          {"op", row.op},
          {"sizes", row.sizes},
          {"points", row.points},
          {"median", row.median},
          {"p95", row.p95},
          {"bias", row.bias},
          {"coverage", row.coverage}};
}

Json to_json(const learn::Point& p) {
  return {{"file", p.file},
          {"library", p.library},
          {"op", p.op},
          {"nodes", p.nodes},
          {"gpus_per_node", p.gpus},
          {"size_B", p.size_B},
          {"algorithm", p.algorithm},
          {"protocol", p.protocol},
          {"measured_s", p.measured_s},
          {"modelled_s", p.modelled_s},
          {"low_s", p.low_s},
          {"high_s", p.high_s}};
}

template <class Row>
Json list_of(const std::vector<Row>& rows) {
  Json list = Json::array();
  for (const Row& row : rows) list.push_back(to_json(row));
  return list;
}

/// One line for all that is refused alike.
void say_refused(const std::vector<std::string>& refused) {
  std::map<std::string, int> times;
  for (const std::string& error : refused) ++times[error];
  for (const auto& [error, count] : times)
    log::Log("fit").note("no forecast{}: {}", count > 1 ? fmt::format(" of {} collectives", count) : "", error);
}

std::vector<learn::Sample> kept_of(const std::vector<learn::Sample>& samples, const std::vector<learn::Part>& parts) {
  std::vector<learn::Sample> kept;
  for (const learn::Sample& sample : samples)
    if (std::none_of(parts.begin(), parts.end(), [&](const learn::Part& part) { return part.holds(sample); }))
      kept.push_back(sample);
  return kept;
}

learn::Lesson learn_from(catalogue::Catalogue& catalogue, const Topology& topology,
                         const std::vector<learn::Sample>& kept, Calibration& calibration) {
  learn::Lesson lesson = learn::learn_collectives(catalogue, topology, calibration, kept);
  if (!kept.empty() && lesson.points.empty())
    throw InputError(
        fmt::format("calibrate fit: none of {} collectives can be forecast: {}", kept.size(), lesson.refused.front()));
  say_refused(lesson.refused);
  for (const learn::LeftAtPrior& part : lesson.left_at_prior)
    log::Log("fit").note(
        "{} stays as inherited: of {} collectives, each left out of a fit, forecasts miss them by {:.1f} % "
        "with it learned, by {:.1f} % without",
        part.of, part.points, 100 * std::expm1(part.learned), 100 * std::expm1(part.prior));
  if (std::exp(lesson.sigma) > kOtherThings)
    log::Log("fit").note(
        "the forecast misses these collectives by a factor of {:.4g}: are they of this machine, and their times in "
        "seconds?",
        std::exp(lesson.sigma));
  return lesson;
}

/// Learns the library's parameters into out.fit, or forecasts what is left out: fills lesson and held_out.
/// @param measurements  that were fitted. @throws InputError  parts are named where no library's collectives are
void learn_or_hold_out(catalogue::Catalogue& catalogue, const MachineFit& machine, const Topology& topology,
                       const std::vector<Measurement>& measurements, FittedMachine& out) {
  out.scored = !machine.hold_out.empty() || !machine.leave_out.empty();
  const std::vector<learn::Sample> samples = learn::samples_of(measurements);
  if (samples.empty()) {
    if (out.scored) throw InputError("hold_out, leave_out: no measurement holds collectives of a named library");
    return;
  }
  const auto score = [&](learn::HeldOut held) {
    say_refused(held.refused);
    auto rows = learn::accuracy(held.points, topology.name, held.part);
    out.held_out.push_back({std::move(held), std::move(rows)});
  };
  std::vector<learn::Part> held;
  for (const std::string& text : machine.hold_out) {
    held.emplace_back(text);
    static_cast<void>(learn::samples_of_part(samples, held.back()));  // before the fit, which takes its time
  }
  if (!machine.leave_out.empty()) {
    const std::vector<learn::Part> parts = learn::parts_of(samples, machine.leave_out);
    log::Work work(catalogue.progress(), "left out", "parts", static_cast<std::int64_t>(parts.size()));
    for (std::size_t i = 0; i < parts.size(); ++i) {
      work.advance(static_cast<std::int64_t>(i), parts[i].text());
      score(learn::hold_out(catalogue, topology, out.fit.calibration, samples, parts[i]));
    }
    return;
  }
  out.lesson = learn_from(catalogue, topology, kept_of(samples, held), out.fit.calibration);
  for (const learn::Part& part : held) {
    learn::HeldOut one{part.text(), {}, {}};
    one.points =
        learn::forecasts(catalogue, topology, out.fit.calibration, learn::samples_of_part(samples, part), one.refused);
    score(std::move(one));
  }
  for (const learn::Taught& t : out.lesson->parameters)
    if (!t.estimate.determined) out.fit.undetermined.push_back(t.name + ": collectives that it limits");
}

}  // namespace

Json to_json(const FittedMachine& fitted) {
  Json out = Json::object();
  out["left_out_rows"] = Json::array();
  for (const Scatter& s : fitted.fit.calibration.scatter)
    if (s.transport.starts_with("left_out."))
      out["left_out_rows"].push_back(
          {{"transport", s.transport}, {"from_B", s.from_B}, {"to_B", s.to_B}, {"sigma_log", s.sigma_log}});
  if (fitted.scored) {
    out["held_out"] = Json::array();
    for (const HeldOutPart& part : fitted.held_out)
      out["held_out"].push_back({{"left_out", part.held.part},
                                 {"rows", list_of(part.rows)},
                                 {"points", list_of(part.held.points)},
                                 {"refused", part.held.refused}});
  }
  if (!fitted.lesson) return out;
  out["points"] = list_of(fitted.lesson->points);
  out["left_at_prior"] = Json::array();
  for (const learn::LeftAtPrior& part : fitted.lesson->left_at_prior)
    out["left_at_prior"].push_back({{"parameters", part.of},
                                    {"points", part.points},
                                    {"learned_error_log", part.learned},
                                    {"prior_error_log", part.prior}});
  return out;
}

namespace {

namespace fs = std::filesystem;

/// That of forecasts that name none: what the data of costs ran, or owners of such machines do.
std::string default_library(const std::string& named, const std::vector<Measurement>& measurements,
                            const Topology& topology) {
  if (!named.empty()) {
    const std::string meant = library_meant(named);
    if (!meant.empty()) log::Log("fit").note("{}", library_meant_text("library", named, meant));
    return meant.empty() ? named : meant;
  }
  for (const Measurement& m : measurements)
    if (m.of_base_costs() && !m.library.empty()) return m.library;
  return usual_library(topology);
}

/// A folder of measurements holds other records too: they are read, so that nothing malformed passes, and left out.
void read_record(const std::string& path, fit::FitRequest& request) {
  const Json json = read_json_file(path);
  ObjectReader r(json, path);
  const std::string schema = r.choice("schema", {"measurement/1", "launch/1", "topology/1", "discovery/1",
                                                 "calibration/1", "residuals/1", "fit-report/1"});
  if (schema == "measurement/1") {
    Measurement m = parse_measurement(json, path);
    refuse_forecast(m.source, path, "nothing is fitted to it");
    if (m.of_base_costs() && m.library.empty()) m.library = registered_nccl(m.library_version);
    return request.measurements.push_back(std::move(m));
  }
  if (schema == "launch/1") return request.launches.push_back(read_launch_record(path));
  if (schema == "topology/1") read_topology(path);
  if (schema == "calibration/1") read_calibration(json, path);
  log::Log("fit").note("{}: {}, no measurement: left out", path, schema);
}

/// Data sheet of a machine's GPUs.
fit::Lender known_of(const Topology& topology) {
  const Device& gpu = topology.devices[static_cast<std::size_t>(topology.gpus().front())];
  const auto model = find_gpu_model(gpu.model);
  return {topology, model ? model->l2_B : 0};
}

/// Machines whose calibrations are inherited. A topology that is not at hand stays empty, unless all rests on it.
void add_lenders(const catalogue::MachineFiles& files, bool unmeasured, fit::FitRequest& request) {
  const auto add = [&](const Calibration& calibration, bool needed, std::vector<fit::Lender>& machines) {
    const auto path = files.topology_of(calibration);
    if (!path && needed && calibration.wiring.is_null()) files.refuse_topology(calibration);
    const bool known = path || !calibration.wiring.is_null();
    machines.push_back(known ? known_of(files.read_topology_of(calibration)) : fit::Lender{});
  };
  for (const Calibration& calibration : request.inherited) add(calibration, unmeasured, request.lenders);
  for (const Calibration& calibration : request.library_lenders) add(calibration, false, request.library_machines);
  request.l2_B = known_of(*request.topology).l2_B;
}

/// Leaves out points of transports that are not named.
void keep_only(const std::vector<std::string>& transports, std::vector<Measurement>& measurements) {
  if (transports.empty()) return;
  const auto other = [&](const MeasuredPoint& p) {
    return std::find(transports.begin(), transports.end(), p.transport) == transports.end();
  };
  for (Measurement& m : measurements)
    m.points.erase(std::remove_if(m.points.begin(), m.points.end(), other), m.points.end());
}

/// Adds the scatter of forecasts beside their parameters: as learned the same way, where that is known.
void add_left_out(const fit::FitRequest& request, Calibration& calibration) {
  const std::string path = (fs::path(request.data_dir) / "calibrate" / "data" / "left-out.json").string();
  const bool bench = std::any_of(request.measurements.begin(), request.measurements.end(),
                                 [](const Measurement& m) { return m.of_base_costs(); });
  if (!fs::exists(path)) {
    log::Log("fit").note("{}: not there: intervals of collectives get a wide assumption", path);
    return;
  }
  for (Scatter& row : scatter_left_out(read_left_out(path), bench)) calibration.scatter.push_back(std::move(row));
  calibration.from.push_back({request.relative(path), sha256_of_file(path)});
}

/// Parameters of the nearest machines together, and the calibrations that they are from, best first.
struct Nearest {
  Calibration parameters;
  std::vector<Calibration> machines;
};

/// Parameters of this machine by the nearest ones, chosen as for a machine without measurements, by its own list
/// (`inherits`) if it has one: parameters at the share of nominal rates, with the spread between machines.
/// @returns nothing  other machines are named, none is wanted, or none has GPUs of this maker
/// @throws InputError  "nearest" with others, or where there is none
std::optional<Nearest> nearest_of(const catalogue::MachineFiles& files, const MachineFit& machine,
                                  const Topology& topology) {
  const auto has = [&](const char* word) {
    return std::find(machine.inherit.begin(), machine.inherit.end(), word) != machine.inherit.end();
  };
  const bool named = has("nearest");
  if ((named || has("none")) && machine.inherit.size() > 1)
    throw InputError("inherit: nearest and none stand alone, without other machines");
  if (!named && (!machine.inherit.empty() || files.is_shipped(topology))) return std::nullopt;
  const bool listed = !topology.inherits.empty();
  auto machines = listed ? files.inherited_by(topology) : files.lenders();
  std::erase_if(machines, [&](const auto& one) { return one.topology.sha256 == topology.sha256; });
  const std::string library = usual_library(topology);
  Nearest nearest;
  std::string who;
  const auto add = [&](const Calibration& calibration, const std::string& alike) {
    who += (nearest.machines.empty() ? "" : ", then ") + calibration.name + alike;
    nearest.machines.push_back(calibration);
  };
  if (listed && !machines.empty()) {
    nearest.parameters = lending::inherited_calibration(topology, machines, library);
    for (const auto& one : machines) add(one.calibration, "");
  } else {
    const auto near = lending::relatives_of(topology, machines);
    if (!named && near.empty()) return std::nullopt;
    nearest.parameters = lending::stranger(topology, machines, library);
    for (std::size_t i = 0; i < nearest.parameters.from.size(); ++i)
      add(machines[near[i].lender].calibration, i == 0 ? " (" + near[i].alike + ")" : "");
  }
  nearest.parameters.notes = {"what these data leave open is inherited from " + who +
                              ", at the share of nominal rates"};
  return nearest;
}

/// Parameters of the nearest machines by the machine that they are from, as if it had fitted them here.
Calibration part_of(const Calibration& nearest, Calibration machine) {
  std::map<std::string, Parameter> part;
  for (const auto& [name, parameter] : nearest.parameters) {
    const std::string from = "inherited:" + machine.name;
    if (parameter.provenance != from && !parameter.provenance.starts_with(from + ",")) continue;
    const Parameter* there = machine.find(name);
    part[name] = parameter;
    part[name].provenance = there != nullptr ? there->provenance : "fitted";
  }
  machine.parameters = std::move(part);
  return machine;
}

/// Adds the parameters that are still missing: of cables and of libraries one by one, of transports whole curves, since
/// ranges of two machines do not fit each other.
void add_missing(const Calibration& nearest, Calibration& calibration) {
  std::set<std::string> transports;
  for (const auto& [name, parameter] : calibration.parameters) transports.emplace(ParameterName(name).transport());
  transports.erase("");
  for (const auto& [name, parameter] : nearest.parameters) {
    const auto found = calibration.parameters.find(name);
    if (found == calibration.parameters.end() && !transports.contains(std::string(ParameterName(name).transport())))
      calibration.parameters.emplace(name, parameter);
    else if (found != calibration.parameters.end() && parameter.provenance.starts_with(found->second.provenance + ","))
      found->second.provenance = parameter.provenance;  // says that it was scaled
  }
}

/// Machines that the rest is inherited from, then the host that forecasts fall back to.
std::vector<Calibration> nearest_hosts(const catalogue::Catalogue& catalogue, const MachineFit& machine,
                                       const Topology& topology, const std::optional<Nearest>& nearest,
                                       const std::vector<Calibration>& inherited) {
  if (machine.inherit == std::vector<std::string>{"none"}) return {};
  std::vector<Calibration> hosts = nearest ? nearest->machines : inherited;
  const std::string& measured = launch::measured_host();
  if (topology.name != measured && catalogue.has_platform(measured))
    hosts.push_back(read_calibration(catalogue::MachineFiles(catalogue.data_dir()).calibration(measured)));
  return hosts;
}

fit::FitRequest request_of(catalogue::Catalogue& catalogue, const MachineFit& machine, const Topology& topology,
                           const std::optional<Nearest>& nearest) {
  const catalogue::MachineFiles files(catalogue.data_dir());
  fit::FitRequest request;
  request.name = machine.name.empty() ? topology.name : machine.name;
  request.data_dir = catalogue.data_dir();
  request.topology = &topology;
  for (const std::string& path : machine.measurements) read_record(path, request);
  request.default_library = default_library(machine.library, request.measurements, topology);
  static_cast<void>(libraries().get(request.default_library));  // throws on an unknown one, with the known ones
  if (nearest)
    for (const Calibration& one : nearest->machines)
      request.inherited.push_back(machine.unmeasured ? one : part_of(nearest->parameters, one));
  for (const std::string& id : machine.inherit)
    if (id != "nearest" && id != "none") request.inherited.push_back(read_calibration(files.calibration(id)));
  if (!request.launches.empty())
    request.nearest_hosts = nearest_hosts(catalogue, machine, topology, nearest, request.inherited);
  for (const std::string& id : machine.inherit_library)
    request.library_lenders.push_back(read_calibration(files.calibration(id)));
  if (std::any_of(request.measurements.begin(), request.measurements.end(),
                  [](const Measurement& m) { return !m.spreads.empty(); }))
    request.distances = fabric_distances(topology);
  request.bootstrap = machine.bootstrap;
  request.progress = &catalogue.progress();
  keep_only(machine.only, request.measurements);
  add_lenders(files, machine.unmeasured, request);
  return request;
}

}  // namespace

FittedMachine fit_machine(catalogue::Catalogue& catalogue, const MachineFit& machine) {
  const catalogue::MachineFiles files(catalogue.data_dir());
  const Topology topology = files.read_wiring(machine.topology);
  const std::optional<Nearest> nearest = nearest_of(files, machine, topology);
  const fit::FitRequest request = request_of(catalogue, machine, topology, nearest);
  if (nearest) log::Log("fit").note("{}", nearest->parameters.notes.front());
  FittedMachine out;
  out.fit = machine.unmeasured ? fit::inherit_parameters(request) : fit::fit_parameters(request);
  if (nearest) add_missing(nearest->parameters, out.fit.calibration);
  add_left_out(request, out.fit.calibration);
  learn_or_hold_out(catalogue, machine, topology, request.measurements, out);
  if (!files.is_shipped(topology))
    out.fit.calibration.wiring = files.wiring_of(catalogue::MachineFiles::read(topology.path));
  const Platform platform(topology, out.fit.calibration);
  SampleTime sample_time(platform, catalogue.solver("fluid"));
  const auto simulate = [&sample_time](const fit::Sample& sample) { return sample_time(sample); };
  fit::assess(out.fit, simulate);
  if (machine.residuals) out.residuals = fit::residual_report(out.fit, platform.topology(), simulate);
  return out;
}

}  // namespace linkcast::pipelines
