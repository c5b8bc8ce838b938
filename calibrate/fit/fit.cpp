#include "calibrate/fit/fit.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <iterator>
#include <limits>
#include <map>
#include <set>

#include "calibrate/fit/launch_fit.hpp"
#include "calibrate/fit/message_fit.hpp"
#include "calibrate/fit/noise_fit.hpp"
#include "sim/base/input_error.hpp"
#include "sim/machine/inherit.hpp"
#include "sim/machine/structure.hpp"
#include "sim/records/calibration.hpp"
#include "sim/records/gpu_models.hpp"

namespace linkcast::fit {
namespace {

using lending::first_gpu;

// What two occasions on one machine differ by, which no repetition of one occasion shows: part of every standard error.
// source: 40 MB copies of the P100-DGX-1 sweep and matrix, two programs on two days, differ by 0.5 %.
constexpr double kBetweenOccasions = 0.005;
// The same for what passes before the bytes flow. source: copies of a few bytes on 4 H200, two occasions on other GPUs:
// by kernels 3 to 4 % apart, local ones 2 to 5 %, by copy engines 0.3 %
constexpr double kBetweenOccasionsStartup = 0.03;
// Pageable memory, which the CPU copies, on two hosts. source: eleven hosts of H100 and H200,
// calibrate/data/*/*-host_copy.json: medians of a host from 1 MiB on scatter by 0.11 to 0.15
constexpr double kBetweenHostsPageable = 0.12;

int device_of(const Topology& topology, const Measurement& m, std::size_t point, const std::string& id) {
  const auto device = topology.find(id);
  if (!device)
    throw InputError(m.path, fmt::format("/points/{}", point),
                     fmt::format("'{}' is no device of topology {}", id, topology.name));
  if (topology.devices[static_cast<std::size_t>(*device)].kind != DeviceKind::kGpu)
    throw InputError(m.path, fmt::format("/points/{}", point),
                     fmt::format("'{}' is no GPU: only host copies may name others", id));
  return *device;
}

/// Refuses a copy that these wires cannot carry in that way.
void check_sample(const Platform& wires, const Sample& s, const Measurement& m, std::size_t point) {
  const std::string pointer = fmt::format("/points/{}", point);
  if (s.transport.rfind("peer", 0) == 0 && !wires.peer_route(s.source, s.target))
    throw InputError(m.path, pointer,
                     "topology " + wires.topology().name +
                         " gives these two GPUs no peer access: where they have it, pcie_peer of the topology is "
                         "same_socket or all");
  const auto relays = s.transport == "relay" ? wires.relays(s.source, s.target) : std::vector<int>{s.via};
  if (std::find(relays.begin(), relays.end(), s.via) == relays.end())
    throw InputError(m.path, pointer,
                     "topology " + wires.topology().name + " has no direct link from via to both ends");
}

/// Name of the transport whose parameters a point determines; empty: none, it is predicted or of another kind.
std::string transport_of(const MeasuredPoint& p) {
  if ((p.bidirectional && !crosses_host(p)) || p.chunk_B > 0) return "";
  const bool kernel = p.engine == CopyUnit::kSm;
  const std::string unit = kernel ? "_sm" : "";
  switch (p.transport.value()) {
    case Carrier::kLocal:
      return "local" + unit;
    case Carrier::kPeer:
      return "peer" + unit + (p.direction == CopyDirection::kRead ? "_read" : "");
    case Carrier::kHost:
      return (p.target.starts_with("gpu") ? "h2d" : "d2h") + (p.pageable ? "_pageable" : unit);
    case Carrier::kRelay:
    case Carrier::kStaged:
      return kernel ? "" : p.transport.name();
    default:
      return "";
  }
}

/// Ends of a point; host memory is that of the GPU's own socket. @returns false for memory of another socket
bool set_ends(const Platform& wires, const Measurement& m, std::size_t i, Sample& s) {
  const MeasuredPoint& p = m.points[i];
  if (p.transport != Carrier::kHost) {
    s.source = device_of(wires.topology(), m, i, p.source);
    s.target = device_of(wires.topology(), m, i, p.target);
    return true;
  }
  const bool up = s.transport.rfind("d2h", 0) == 0;
  const int gpu = device_of(wires.topology(), m, i, up ? p.source : p.target);
  const std::string& other = up ? p.target : p.source;
  const int cpu = wires.socket_of(gpu);
  s.source = up ? gpu : cpu;
  s.target = up ? cpu : gpu;
  return other == kHostMemory || wires.topology().find(other) == cpu;
}

std::vector<Sample> samples_of(const Platform& wires, const std::vector<Measurement>& measurements) {
  std::vector<Sample> samples;
  int point = 0;
  for (const Measurement& m : measurements)
    for (std::size_t i = 0; i < m.points.size(); ++i) {
      const MeasuredPoint& p = m.points[i];
      Sample s{transport_of(p), 0, 0, -1, p.size_B, 0};
      if (s.transport.empty() || !set_ends(wires, m, i, s)) continue;
      s.point = point++;
      s.read = p.direction == CopyDirection::kRead;
      s.precision = m.precision;
      s.single = m.timing == CopyTiming::kSingle;
      s.both = p.bidirectional;
      if (!p.via.empty()) s.via = device_of(wires.topology(), m, i, p.via);
      check_sample(wires, s, m, i);
      for (const double time : p.time_s) {
        s.time_s = time;
        samples.push_back(s);
      }
    }
  return samples;
}

/// Size at which a copy reaches half its attainable bandwidth: start-up x rate.
void derive_half_bandwidth(FitContext& context) {
  std::string last;
  for (const auto& [name, p] : context.found) {
    const std::string_view transport = ParameterName(name).transport();
    if (transport.starts_with("peer") && is_of(name, key::startup) && p.provenance == "fitted" &&
        (last.empty() || transport == "peer"))
      last = name;
  }
  if (last.empty()) return;
  const Parameter& startup = context.found.at(last);
  std::vector<std::pair<std::string, Parameter>> derived;
  for (const auto& [name, rate] : context.found) {
    const std::string kind(ParameterName(name).subject);
    if (!is_of(name, key::cable_bandwidth) || kind.find('@') != std::string::npos || !is_accelerator_cable(kind))
      continue;
    const double half = startup.value * rate.value;
    const double error = half * std::hypot(startup.stderr_ / startup.value, rate.stderr_ / rate.value);
    derived.emplace_back(key::cable_half_bandwidth(kind).name,
                         Parameter{half, error, "B", "derived: " + last + " x " + name});
  }
  for (auto& [name, parameter] : derived) context.found[name] = parameter;
}

/// What a copy engine needs between the copies of two streams is the end of the first: the part of a copy from rest
/// that local copies show, which cross no link.
void derive_turn(FitContext& context) {
  const ParameterKey single = key::single("local");
  const auto local = context.found.find(single.name);
  if (local == context.found.end()) return;
  Parameter turn = local->second;
  turn.provenance = "derived: " + single.name;
  context.found[key::engine_turn().name] = turn;
}

/// Standard errors become the larger one of covariance and bootstrap; the part between occasions stays.
void widen(FitContext& context, const Bootstrap& bootstrap) {
  for (auto& [name, parameter] : context.found) {
    const auto parts = context.errors.find(name);
    if (parts == context.errors.end() || parameter.inherited()) continue;
    const double repeated = std::max(parts->second.fitted, bootstrap.stderr_of(name));
    parameter.stderr_ = std::hypot(repeated, parts->second.between);
  }
}

/// GPUs of one maker and one compute capability.
bool same_capability(const Topology& here, const Lender& there) {
  if (here.gpus().empty() || there.topology.gpus().empty()) return false;
  return lending::maker_of(here) == lending::maker_of(there.topology) &&
         first_gpu(here).sm == first_gpu(there.topology).sm;
}

/// What copies cannot show of a library is inherited from machines like this one, with what these differ by.
void inherit_libraries(FitContext& context, const FitRequest& request) {
  for (std::size_t i = 0; i < request.library_lenders.size(); ++i) {
    const Calibration& calibration = request.library_lenders[i];
    const bool same =
        i < request.library_machines.size() && same_capability(*request.topology, request.library_machines[i]);
    const double spread = same ? kSameCapability : kOtherMachine;
    for (const auto& [name, parameter] : calibration.parameters) {
      // Which version runs is no cost: another machine's says nothing of it.
      if (lending::is_of_fabric(name) || !is_of_library(name) || is_of(name, key::library_version) ||
          context.found.contains(name) || parameter.inherited())
        continue;
      Parameter inherited = parameter;
      inherited.provenance = "inherited:" + calibration.name;
      inherited.stderr_ = std::max(inherited.stderr_, spread * std::abs(inherited.value));
      context.found[name] = inherited;
    }
  }
}

void fit_network(FitContext& context, const FitRequest& request) {
  fit_distances(context, *request.topology, request.measurements, request.distances);
  fit_noise(context, request.measurements, request.distances);
}

template <class Record>
void check_each_once(const std::vector<Record>& records, std::map<std::string, std::string>& seen) {
  for (const Record& r : records)
    if (const auto [it, fresh] = seen.emplace(r.sha256, r.path); !fresh && !r.sha256.empty())
      throw InputError(r.path, "", "holds the same bytes as " + it->second + ": give each measurement once");
}

[[noreturn]] void fail_topology(const std::string& path, const std::string& is, const Topology& wanted) {
  throw InputError(path, "/topology", "is '" + is + "', the fit is for '" + wanted.name + "'");
}

/// Members that the machine has.
void check_members(const Measurement& m, const Topology& topology) {
  const int count = static_cast<int>(topology.gpus().size());
  for (const MeasuredCollective& c : m.collectives)
    for (std::size_t k = 0; k < c.gpus.size(); ++k)
      if (c.gpus[k] >= count)
        throw InputError(m.path, fmt::format("/points/{}/gpus/{}", c.point, k),
                         fmt::format("{} is no GPU of {}: 0 to {}", c.gpus[k], topology.name, count - 1));
}

/// Models of the CPUs and PCIe switches, sorted.
std::vector<std::string> host_models(const Topology& topology) {
  std::vector<std::string> models;
  for (const Device& device : topology.devices)
    if (device.kind == DeviceKind::kCpu || device.kind == DeviceKind::kPcieSwitch) models.push_back(device.model);
  std::sort(models.begin(), models.end());
  return models;
}

/// Fills inherited, kin and l2_B.
void know_lenders(FitContext& context, const FitRequest& request) {
  const std::vector<std::string> here = host_models(*request.topology);
  context.l2_B = request.l2_B;
  for (std::size_t i = 0; i < request.inherited.size(); ++i) {
    context.inherited.push_back(&request.inherited[i]);
    if (i >= request.lenders.size()) continue;
    const std::vector<std::string> there = host_models(request.lenders[i].topology);
    const bool named = std::none_of(here.begin(), here.end(), [](const std::string& model) { return model.empty(); });
    context.kin[&request.inherited[i]] = {named && !here.empty() && here == there, request.lenders[i].l2_B};
  }
}

/// @throws InputError  not one parameter
void require_found(const FitContext& context) {
  if (!context.found.empty()) return;
  std::string needed;
  for (const std::string& missing : context.undetermined) needed += (needed.empty() ? "" : "; ") + missing;
  throw InputError("calibrate fit: these data determine nothing; needed for " + needed);
}

}  // namespace

void check_records(const FitRequest& request) {
  std::map<std::string, std::string> seen;  // by hash
  check_each_once(request.measurements, seen);
  check_each_once(request.launches, seen);
  const Topology& topology = *request.topology;
  for (const Measurement& m : request.measurements)
    if (m.topology != topology.name) fail_topology(m.path, m.topology, topology);
  // Calls cost the host the same however the GPUs are wired.
  for (const LaunchRecord& l : request.launches)
    if (l.topology != topology.name && (topology.gpus().empty() || !same_gpu_model(l.gpu, first_gpu(topology).model)))
      fail_topology(l.path, l.topology, topology);
  for (const Measurement& m : request.measurements) check_members(m, *request.topology);
}

std::string FitRequest::relative(const std::string& path) const {
  const auto relative = std::filesystem::relative(path, data_dir).generic_string();
  return relative.rfind("..", 0) == 0 || relative.empty() ? path : relative;
}

std::vector<Sample> FitContext::of(const std::string& transport) const {
  std::vector<Sample> queued, single;
  for (const Sample& s : samples)
    if (s.transport == transport && !s.both) (s.single ? single : queued).push_back(s);
  return queued.empty() ? single : queued;
}

std::vector<Sample> FitContext::both_ways(const std::string& transport) const {
  std::vector<Sample> list;
  std::copy_if(samples.begin(), samples.end(), std::back_inserter(list),
               [&](const Sample& s) { return s.transport == transport && s.both; });
  return list;
}

std::map<FitContext::Key, std::vector<double>> FitContext::times(const std::string& transport, bool single) const {
  std::map<Key, std::vector<double>> found;
  for (const Sample& s : samples)
    if (s.transport == transport && s.single == single && !s.both)
      found[{s.source, s.target, s.size_B}].push_back(s.time_s);
  return found;
}

void FitContext::set(const ParameterKey& key, double value, double stderr_, const std::string& provenance) {
  const std::string unit(key.row->unit);
  const double share = unit == "B"                                        ? 0
                       : key.name.find("_pageable.") != std::string::npos ? kBetweenHostsPageable
                       : unit == "s"                                      ? kBetweenOccasionsStartup
                                                                          : kBetweenOccasions;
  const double between = std::hypot(share, unit == "B" ? 0 : precision_of(key)) * std::abs(value);
  found[key.name] = {value, std::hypot(stderr_, between), unit, provenance};
  errors[key.name] = {stderr_, between};
}

double FitContext::precision_of(const ParameterKey& key) const {
  const std::string_view transport = ParameterName(key.name).transport();
  const bool cable = transport.empty();
  double largest = 0;
  for (const Sample& s : samples)
    if (cable || s.transport == transport) largest = std::max(largest, s.precision);
  for (const Sample& s : messages)
    if (s.transport == transport) largest = std::max(largest, s.precision);
  return largest;
}

double FitContext::value(const ParameterKey& key) const {
  const auto it = found.find(key.name);
  if (it == found.end()) throw InputError("calibrate fit: nothing determines " + key.name);
  return it->second.value;
}

void fit_all(FitContext& context) {
  fit_local(context);
  fit_peer(context);
  fit_relay(context);
  fit_host(context);
  fit_staged(context);
  inherit_peer_duplex(context);
  fit_single(context);
  fit_messages(context);
  inherit_cables(context);
}

namespace {

/// The same; what the copies cannot determine names the records that they are from.
void fit_all(FitContext& context, const std::vector<Measurement>& records) try {
  fit_all(context);
} catch (const InputError& error) {
  if (std::string_view(error.what()).starts_with("calibrate fit: ")) throw;  // of the whole fit
  constexpr std::size_t kShown = 3;                                          // source: ours, the rest is counted
  std::string names;
  for (std::size_t i = 0; i < std::min(kShown, records.size()); ++i) names += (i > 0 ? ", " : "") + records[i].path;
  if (records.size() > kShown) names += fmt::format(" and {} more", records.size() - kShown);
  throw InputError(names + ": " + error.what());
}

}  // namespace

FitResult fit_parameters(const FitRequest& request) {
  if (request.measurements.empty()) throw InputError("calibrate fit: no measurement given");
  check_records(request);
  Calibration empty;
  empty.name = empty.topology = request.topology->name;
  const Platform wires(*request.topology, empty);
  FitContext context;
  context.wires = &wires;
  know_lenders(context, request);
  context.samples = samples_of(wires, request.measurements);
  find_messages(context, request.measurements);
  if (context.samples.empty() && context.messages.empty())
    throw InputError("calibrate fit: the measurements hold no copy that a parameter could come from");
  fit_all(context, request.measurements);
  const Bootstrap bootstrap = run_bootstrap(context, request.bootstrap, request.progress);
  widen(context, bootstrap);
  derive_turn(context);
  fit_host_memory(context, request.measurements);
  fit_host_path(context, request.measurements);
  fit_processes(context, request.measurements);
  inherit_messages(context);
  inherit_libraries(context, request);
  fit_network(context, request);
  fit_launches(context, request.launches, request.nearest_hosts);
  fit_recording(context, request.launches);
  derive_half_bandwidth(context);
  require_found(context);

  FitResult result;
  Calibration& c = result.calibration;
  c.name = request.name;
  c.topology = request.topology->name;
  c.default_library = request.default_library;
  c.parameters = context.found;
  c.valid_from_B = std::numeric_limits<double>::infinity();
  for (const Sample& s : context.samples.empty() ? context.messages : context.samples) {
    c.valid_from_B = std::min(c.valid_from_B, s.size_B);
    c.valid_to_B = std::max(c.valid_to_B, s.size_B);
  }
  for (const Measurement& m : request.measurements) c.from.push_back({request.relative(m.path), m.sha256});
  for (const LaunchRecord& launch : request.launches) c.from.push_back({request.relative(launch.path), launch.sha256});
  for (const auto* lenders : {&request.inherited, &request.library_lenders, &request.nearest_hosts})
    for (const Calibration& lender : *lenders)
      if (std::none_of(c.from.begin(), c.from.end(),
                       [&](const SourceFile& file) { return file.sha256 == lender.sha256; }))
        c.from.push_back({request.relative(lender.path), lender.sha256});
  result.undetermined = context.undetermined;
  result.bootstrap = bootstrap;
  for (const auto& [name, parts] : context.errors)
    if (!context.found.at(name).inherited()) result.covariance[name] = parts.fitted;
  result.classes = find_pair_classes(context);
  result.samples = std::move(context.samples);
  result.samples.insert(result.samples.end(), context.messages.begin(), context.messages.end());
  result.suspicious = find_suspicious(result.samples);
  return result;
}

}  // namespace linkcast::fit
