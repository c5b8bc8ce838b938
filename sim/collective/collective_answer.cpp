#include "sim/collective/collective_answer.hpp"

#include "sim/activities/cluster_message.hpp"
#include "sim/activities/request.hpp"
#include "sim/collective/alternatives.hpp"
#include "sim/collective/call_sizes.hpp"
#include "sim/collective/collective_load.hpp"
#include "sim/collective/collective_ranks.hpp"
#include "sim/collective/other_communicators.hpp"
#include "sim/collective/schedule_forecast.hpp"
#include "sim/congestion/jobs_beside.hpp"

namespace linkcast::collective {
namespace {

constexpr const char* kNvlsBetween =
    "nvls between nodes reduces in the switches of the fabric (CollNet, SHARP), which no platform describes: take "
    "nvls_tree";

int read_calls(ObjectReader& r) {
  const int calls = r.optional<int>("calls").value_or(kUsualCalls);
  if (calls < 1) r.fail("calls", "must be at least 1");
  return calls;
}

/// Of rings, trees and messages of a library: forecast alone, in the load of a network, or with others.
class Asked {
 public:
  Asked(catalogue::Catalogue& catalogue, const std::string& platform_id, ObjectReader& r)
      : op_name_(r.required<std::string>("op")),
        ranks_(read_ranks(catalogue, platform_id, r)),
        size_(op_name_, ranks_.nodes * static_cast<int>(ranks_.gpus.size()), r),
        library_(read_library(ranks_, r)),
        calls_(read_calls(r)),
        protocol_(r.optional<std::string>("protocol").value_or("")) {
    if (r.has("protocol") && protocol_.empty()) r.fail("protocol", "names none");
    if (r.has("algorithm")) algorithm_ = r.choice("algorithm", {"ring", "tree", "nvls", "nvls_tree"});
    nvls_ = r.optional<bool>("nvls").value_or(false) || algorithm_ == "nvls" || algorithm_ == "nvls_tree";
    if (algorithm_ == "nvls" && !ranks_.one_node()) r.fail("algorithm", kNvlsBetween);
    if (algorithm_ == "nvls_tree" && ranks_.one_node()) r.fail("algorithm", "nvls_tree is between nodes; in one: nvls");
    alternatives_ = r.optional<bool>("alternatives").value_or(false);
    if (!ranks_.one_node()) read_between(r, catalogue.progress());
    others_ = read_others(catalogue, platform_id, {library_, op_name_, size_.size_B(), calls_, nvls_}, ranks_.nodes, r);
    if (alternatives_ && !others_.empty()) r.fail("alternatives", "are forecast alone, not with other communicators");
    r.finish();
    if (!others_.empty()) shared_ = &shared_machine(catalogue, platform_id, ranks_.nodes, others_);
    placed_ = ranks_.one_node() ? nullptr : congestion::place_jobs(ranks_.machine, ranks_.nodes, load_);
    communicator_ = &communicator_of(catalogue, platform_id, library_, ranks_);
  }

  [[nodiscard]] CollectiveForecast forecast(Solver& solver) const {
    const CollectiveJob job = this->job();
    if (!job.engine.empty() && !job.of_messages())
      throw InputError("engine: " + op_name_ + " is no operation of messages");
    if (!others_.empty()) {
      std::vector<CollectiveJob> jobs{job};
      for (const PlacedJob& other : others_) jobs.push_back(other.job);
      return forecast_together(jobs, run_together(jobs, *shared_, solver));
    }
    if (load_.noise || !load_.beside.empty()) return forecast_in_load(job, load_, solver);
    CollectiveForecast forecast = forecast_of(job, run_alone(job, solver));
    if (alternatives_ && !job.of_messages()) forecast.alternatives = alternatives_to(job, forecast, solver);
    return forecast;
  }

 private:
  void read_between(ObjectReader& r, log::Progress& progress) {
    if (r.has("engine")) engine_ = r.choice("engine", {"direct", "reduced"});
    load_ = congestion::read_network_load(r, ranks_.machine.node().calibration(), progress);
  }
  [[nodiscard]] CollectiveJob job() const {
    return {placed_ ? *placed_ : ranks_.machine,
            libraries().get(library_),
            *communicator_,
            size_.op(),
            op_name_,
            size_.size_B(),
            algorithm_,
            protocol_,
            nvls_,
            calls_,
            engine_};
  }

  std::string op_name_;
  CollectiveRanks ranks_;
  SizedCall size_;
  std::string library_;
  int calls_;
  std::string protocol_, algorithm_{}, engine_{};
  bool nvls_ = false, alternatives_ = false;
  congestion::NetworkLoad load_{};
  std::vector<PlacedJob> others_{};
  const Cluster* shared_ = nullptr;  ///< with others
  std::unique_ptr<Cluster> placed_;  ///< where the nodes are not the first ones
  const Communicator* communicator_ = nullptr;
};

/// A schedule's messages go through one node of a cluster too.
CollectiveRanks read_schedule_ranks(catalogue::Catalogue& catalogue, const std::string& platform_id, ObjectReader& r) {
  if (!r.has("nodes")) return read_ranks(catalogue, platform_id, r);
  const Cluster& machine = catalogue.cluster(platform_id);
  const int nodes = r.required<int>("nodes");
  if (nodes < 1 || nodes > machine.nodes())
    r.fail("nodes", "must be 1 to " + std::to_string(machine.nodes()) + ", as many as the fabric joins");
  return {machine, nodes, read_gpus_of_each(r, machine.node(), nodes > 1 ? 1 : 2)};
}

void read_transport(CollectiveJob& job, ObjectReader& r) {
  if (!r.has("transport")) return;
  job.transport = r.choice("transport", Transports::message_names());
  const std::string why = transport_refusal(job);
  if (!why.empty()) r.fail("transport", why);
}

CollectiveForecast schedule_answer(catalogue::Catalogue& catalogue, const std::string& platform_id, Solver& solver,
                                   ObjectReader& r) {
  const auto library_id = r.required<std::string>("library");
  const auto op_name = r.required<std::string>("op");
  const CollectiveRanks ranks = read_schedule_ranks(catalogue, platform_id, r);
  const Communicator members = schedule_ranks(library_id, ranks.nodes, ranks.gpus);
  const SizedCall size(op_name, members.ranks(), r);
  congestion::NetworkLoad load;
  if (!ranks.one_node())
    load = congestion::read_network_load(r, ranks.machine.node().calibration(), catalogue.progress());
  const std::unique_ptr<Cluster> placed =
      ranks.one_node() ? nullptr : congestion::place_jobs(ranks.machine, ranks.nodes, load);
  CollectiveJob job{
      placed ? *placed : ranks.machine, libraries().get(library_id), members, size.op(), op_name, size.size_B()};
  read_transport(job, r);
  if (r.has("algorithm")) job.algorithm = r.choice("algorithm", algorithms_for(op_name));
  const bool alternatives = r.optional<bool>("alternatives").value_or(false);
  r.finish();
  if (load.noise) return schedule_in_noise(job, load, solver);
  return schedule_forecast(job, alternatives, solver);
}

bool has_schedules(const Json& library) {
  return library.is_string() && libraries().get(library.get<std::string>()).schedules() != nullptr;
}

}  // namespace

bool is_scheduled(const Json& query) { return query.contains("library") && has_schedules(query["library"]); }

Json collective_answer(catalogue::Catalogue& catalogue, const std::string& platform_id, Solver& solver,
                       ObjectReader& r) {
  const bool scheduled = r.has("library") && has_schedules(r.raw("library"));
  return to_json(scheduled ? schedule_answer(catalogue, platform_id, solver, r)
                           : Asked(catalogue, platform_id, r).forecast(solver));
}

}  // namespace linkcast::collective
