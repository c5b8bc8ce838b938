#include "sim/collective/collective_run.hpp"

#include <algorithm>
#include <cmath>

#include "sim/activities/request.hpp"
#include "sim/collective/alternatives.hpp"
#include "sim/collective/cluster_collective.hpp"
#include "sim/collective/collective_job.hpp"
#include "sim/collective/collective_result.hpp"
#include "sim/collective/library_view.hpp"

namespace linkcast::collective {
namespace {

std::string library_name(const Platform& platform, ObjectReader& r) {
  return r.optional<std::string>("library").value_or(platform.calibration().default_library);
}

void forecast_alternatives(const Job& job, Solver& solver, const Run& run, Json& out) {
  const auto rows = job.library.tuner(job.platform, job.communicator, {job.op_name, {job.size_B}, "", "", job.nvls});
  const auto forecast_s = [&](const TunerEntry& entry) {
    Job other = job;
    other.algorithm = entry.algorithm;
    other.protocol = entry.protocol;
    return run_alone(other, solver).time_s();
  };
  add_alternatives(rows, run.taken.algorithm, run.taken.protocol, run.time_s(), forecast_s, out);
}

/// `with`: collectives of other communicators that start at the same moment.
std::vector<Job> read_others(catalogue::Catalogue& catalogue, const std::string& platform_id,
                             const std::string& library_id, bool nvls, ObjectReader& r) {
  std::vector<Job> others;
  if (!r.has("with")) return others;
  const Json& list = r.raw("with");
  if (!list.is_array()) r.fail("with", "must be an array of {\"op\", \"size_B\", \"gpus\"}");
  const Platform& platform = catalogue.platform(platform_id);
  for (std::size_t i = 0; i < list.size(); ++i) {
    ObjectReader one(list[i], r.file(), r.pointer("with") + "/" + std::to_string(i));
    const auto op_name = one.required<std::string>("op");
    const auto gpus = activities::read_gpus(one, platform, 2);
    const double size_B = activities::read_size(one, "size_B");
    const std::string library = one.optional<std::string>("library").value_or(library_id);
    one.finish();
    others.push_back({platform, libraries().get(library), catalogue.communicator(platform_id, library, gpus),
                      collectives().get(op_name), op_name, size_B, "", "", nvls});
  }
  return others;
}

}  // namespace

Json collective_answer(catalogue::Catalogue& catalogue, const std::string& platform_id, Solver& solver,
                       ObjectReader& r) {
  const Platform& platform = catalogue.platform(platform_id);
  const auto op_name = r.required<std::string>("op");
  const auto gpus = activities::read_gpus(r, platform, 2);
  const double size_B = activities::read_size(r, "size_B");
  const std::string library_id = library_name(platform, r);
  const auto protocol = r.optional<std::string>("protocol").value_or("");
  const std::string algorithm = r.has("algorithm") ? r.choice("algorithm", {"ring", "tree", "nvls"}) : "";
  const bool nvls = r.optional<bool>("nvls").value_or(false) || algorithm == "nvls";
  const int calls = r.optional<int>("calls").value_or(kUsualCalls);
  if (calls < 1) r.fail("calls", "must be at least 1");
  const bool alternatives = r.optional<bool>("alternatives").value_or(false);
  const std::vector<Job> others = read_others(catalogue, platform_id, library_id, nvls, r);
  if (alternatives && !others.empty()) r.fail("alternatives", "are forecast alone, not with other communicators");
  r.finish();
  const Job job{platform,
                libraries().get(library_id),
                catalogue.communicator(platform_id, library_id, gpus),
                collectives().get(op_name),
                op_name,
                size_B,
                algorithm,
                protocol,
                nvls,
                calls};
  if (!others.empty()) {
    std::vector<Job> jobs{job};
    for (const Job& other : others) jobs.push_back(other);
    return contended_json(jobs, run_together(jobs, solver));
  }
  const Run run = run_alone(job, solver);
  Json out = result_json(job, run);
  if (alternatives && run.taken.algorithm != "messages") forecast_alternatives(job, solver, run, out);
  return out;
}

Json rings_answer(catalogue::Catalogue& catalogue, const std::string& platform_id, ObjectReader& r) {
  const bool across = r.has("nodes");
  const Platform& platform = across ? catalogue.cluster(platform_id).node() : catalogue.platform(platform_id);
  const AcrossNodes several = across ? read_nodes(catalogue.cluster(platform_id), r) : AcrossNodes{};
  const std::vector<int> gpus = across ? std::vector<int>{} : activities::read_gpus(r, platform, 2);
  const std::string library_id = across ? library_across(platform.calibration(), r) : library_name(platform, r);
  const auto op = r.optional<std::string>("op");
  const double size_B = op ? activities::read_size(r, "size_B") : 0;
  if (op && !collectives().get(*op).messages({size_B}, 2).empty())  // two ranks tell
    r.fail("op", *op + " is made of messages, which take no rings");
  const bool nvls = r.optional<bool>("nvls").value_or(false);
  r.finish();
  const Communicator& communicator =
      across ? catalogue.communicator_across(platform_id, library_id, several.nodes, several.gpus_per_node)
             : catalogue.communicator(platform_id, library_id, gpus);
  Json out = communicator_json(communicator);
  out["library"] = library_id;
  if (across) {
    out["nodes"] = communicator.nodes;
    out["gpus_per_node"] = several.gpus_per_node;
    out["leaves_at_entry"] = communicator.leaves_at_entry;
    out["library_network_channel_bandwidth_Bps"] = communicator.network_channel_bandwidth.si;
  }
  if (op) out.update(tuner_json(libraries().get(library_id), platform, communicator, {*op, {size_B}, "", "", nvls}));
  std::vector<std::vector<Hop>> hops;  // only a fallback's limit is known without a size: its hops through host memory
  if (communicator.fallback)
    for (const Channel& channel : communicator.channels) hops.push_back(channel.hops);
  out["bottleneck"] = bottleneck_json(platform, hops, std::vector<int>(hops.size(), kOwnCap));
  out["warnings"] = Json::array();
  return out;
}

}  // namespace linkcast::collective
