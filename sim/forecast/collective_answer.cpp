#include "sim/forecast/collective_answer.hpp"

#include <fmt/format.h>

#include "sim/base/text.hpp"
#include "sim/forecast/alternatives.hpp"
#include "sim/forecast/call_sizes.hpp"
#include "sim/forecast/collective_launch.hpp"
#include "sim/forecast/collective_load.hpp"
#include "sim/forecast/collective_ranks.hpp"
#include "sim/forecast/host_path.hpp"
#include "sim/forecast/other_communicators.hpp"
#include "sim/forecast/schedule_forecast.hpp"
#include "sim/forecast/terms.hpp"
#include "sim/plan/cluster_message.hpp"
#include "sim/plan/jobs_beside.hpp"
#include "sim/plan/request.hpp"
#include "sim/query/key.hpp"

namespace linkcast::collective {
namespace {

constexpr double kLeastOfMessages_B = 8 * 131072;  // source: NCCL_P2P_NET_CHUNKSIZE 128 KiB, 8 steps (src/init.cc)
constexpr int kMostChannels = 64;  // source: NCCL's MAXCHANNELS since 2.25 (models/libraries/SOURCES.md)

/// What the machine's switches may do for a collective, and which algorithm is forced.
struct SwitchKeys {
  std::string algorithm{};
  bool nvls = true, collnet = false;

  SwitchKeys(const CollectiveRanks& ranks, ObjectReader& r) {
    Needs needs;
    if (r.has("algorithm")) {
      algorithm = r.choice("algorithm", algorithms().names_of(Routes::kChannels));
      needs = algorithms().get(algorithm).needs(ranks.nodes);
    }
    nvls = r.optional<bool>("nvls").value_or(true);
    if (needs.multicast && !nvls) r.fail("nvls", "leaves out the algorithm " + algorithm + " that is asked for");
    const bool given = r.optional<bool>("collnet").value_or(false);
    collnet = given || needs.reducing_fabric;
    const std::string refusal = algorithm.empty() ? "" : algorithms().get(algorithm).refusal(ranks.nodes, collnet);
    if (!refusal.empty()) r.fail("algorithm", refusal);
    if (collnet) check_fabric(ranks, given ? "collnet" : "algorithm", r);
  }

 private:
  static void check_fabric(const CollectiveRanks& ranks, const char* key, const ObjectReader& r) {
    const Topology& topology = ranks.machine.node().topology();
    if (ranks.one_node()) r.fail(key, "CollNet is of the switches between nodes, and all ranks are in one");
    if (!topology.fabric.contains("sharp"))
      r.fail(key, "the fabric of " + topology.name + " has no switches that reduce: its key sharp says where they do");
  }
};

int read_calls(ObjectReader& r) {
  const int calls = r.optional<int>("calls").value_or(kUsualCalls);
  if (calls < 1) r.fail("calls", "must be at least 1");
  return calls;
}

/// Keys of the network that all ranks are on; of one node nothing crosses it.
congestion::NetworkLoad read_load(const CollectiveRanks& ranks, ObjectReader& r, log::Progress& progress) {
  return congestion::read_network_load(r, ranks.machine.node().calibration(), progress,
                                       ranks.one_node() ? congestion::Crosses::kNothing : congestion::Crosses::kFabric);
}

/// What runs beside a collective, and where all of it is.
struct Surroundings {
  congestion::NetworkLoad load{};
  std::vector<PlacedJob> others{};
  const Cluster* shared = nullptr;    ///< with others
  std::unique_ptr<Cluster> placed{};  ///< where the nodes are not the first ones

  void read_others(const catalogue::Machine& machine, const PlacedCollective& first, const CollectiveRanks& ranks,
                   ObjectReader& r) {
    others = collective::read_others(machine, first, ranks.nodes, r);
    if (!others.empty()) shared = &shared_machine(machine, ranks.nodes, others);
  }
  void refuse_alternatives(const ObjectReader& r) const {
    if (!others.empty()) r.fail("alternatives", "are forecast alone, not with other communicators");
    if (load.any()) r.fail("alternatives", "are forecast alone, not in noise or beside other jobs");
  }
  /// All nodes are alike to a job on one of them alone.
  void place(const catalogue::Machine& machine, const CollectiveRanks& ranks) {
    if (ranks.one_node() && load.beside.empty()) return;
    placed = congestion::place_jobs(ranks.one_node() ? machine.cluster() : ranks.machine, ranks.nodes, load);
  }
  [[nodiscard]] const Cluster& machine(const CollectiveRanks& ranks) const { return placed ? *placed : ranks.machine; }
  /// @returns  nothing where the job is alone
  [[nodiscard]] std::optional<CollectiveForecast> forecast(const CollectiveJob& job, Solver& solver) const {
    if (load.any()) return forecast_in_load(job, load, solver);
    if (others.empty()) return std::nullopt;
    std::vector<CollectiveJob> jobs{job};
    for (const PlacedJob& other : others) jobs.push_back(other.job);
    return forecast_together(jobs, run_together(jobs, *shared, solver));
  }
};

/// Key launch: who issues the calls of all communicators.
class Launcher {
 public:
  Launcher(catalogue::Catalogue& catalogue, const catalogue::Machine& machine, const RingLibrary& library,
           ObjectReader& r) {
    const bool said = r.has("launch");
    kind_ = launch::kind_named(said ? r.choice("launch", launch_kinds()) : library.usual_launch());
    const auto scale = launch::read_host_scale(r, kind_);
    if (!launch::by_host(kind_)) return;
    costs_.emplace(catalogue, machine, scale);
    if (!costs_->known() && !said) kind_ = launch::Kind::kGraph;
  }
  /// Calls of a library that sends messages by itself are in its own times.
  [[nodiscard]] launch::Launching of(const CollectiveJob& job) const {
    if (job.of_rounds()) return {};
    return launch::by_host(kind_) ? launching_of(job, *costs_, kind_) : launch::Launching{.kind = kind_};
  }

 private:
  launch::Kind kind_ = launch::Kind::kProcess;
  std::optional<launch::HostCosts> costs_{};
};

/// Of rings, trees and messages of a library: forecast alone, in the load of a network, or with others.
class Asked {
 public:
  Asked(catalogue::Catalogue& catalogue, const catalogue::Machine& machine, ObjectReader& r)
      : op_name_(r.required<std::string>("op")),
        ranks_(read_ranks(machine, r)),
        size_(op_name_, ranks_.nodes * static_cast<int>(ranks_.gpus.size()), r),
        library_(read_library(ranks_, r)),
        calls_(read_calls(r)),
        switches_(ranks_, r),
        protocol_(r.optional<std::string>("protocol").value_or("")),
        channels_(read_channels(r, "channels")),
        least_channels_(read_channels(r, "least_channels")),
        most_channels_(read_channels(r, "most_channels")),
        without_(read_without(r)),
        buffers_(read_buffers(r)) {
    query::refuse_keys(r, {"transport"},
                       "is of libraries that send messages (mpi-...), and " + library_ + " builds rings");
    if (ranks_.one_node()) query::refuse_keys(r, {"engine"}, "is of messages between nodes, and all ranks are in one");
    read_exits(library_, ranks_, r);
    ranks_.exits.peer_channels = read_channels(r, "peer_channels");
    plugin_tuner_ = r.optional<bool>("plugin_tuner").value_or(true);
    shm_ = r.optional<bool>("shm").value_or(true);
    if (r.has("protocol") && protocol_.empty()) r.fail("protocol", "names none");
    if (most_channels_ > 0 && least_channels_ > most_channels_) r.fail("least_channels", "is above most_channels");
    if (r.has("algorithm_file")) read_own(r);
    alternatives_ = r.optional<bool>("alternatives").value_or(false);
    utilisation_ = r.optional<bool>("utilisation").value_or(false);
    if (r.has("engine")) engine_ = r.choice("engine", {"direct", "reduced"});
    around_.load = read_load(ranks_, r, catalogue.progress());
    around_.read_others(machine, {library_, op_name_, size_.size_B(), calls_, switches_.nvls}, ranks_, r);
    if (alternatives_) around_.refuse_alternatives(r);
    const Launcher launcher(catalogue, machine, ring_library(library_), r);
    r.finish();
    around_.place(machine, ranks_);
    communicator_ = communicator_of(machine, library_, ranks_);
    refuse_settings(r);
    launching_ = launcher.of(job());
    for (PlacedJob& other : around_.others) other.job.launching = launcher.of(other.job);
  }

  [[nodiscard]] CollectiveForecast forecast(Solver& solver) const {
    CollectiveForecast forecast = forecast_without_file(solver);
    forecast.warnings.insert(forecast.warnings.begin(), file_warnings_.begin(), file_warnings_.end());
    if ((channels_ > 0 || least_channels_ > 0 || most_channels_ > 0) && forecast.algorithm.starts_with("nvls"))
      forecast.warnings.emplace_back(
          "NVLS has its own number of thread blocks, which no setting of channels changes here");
    if (utilisation_) forecast.links = link_loads(job(), forecast.device_s, solver);
    return forecast;
  }

 private:
  [[nodiscard]] CollectiveForecast forecast_without_file(Solver& solver) const {
    const CollectiveJob job = this->job();
    if (!job.engine.empty() && !job.of_messages())
      throw InputError("engine: " + op_name_ + " is no operation of messages");
    if (auto forecast = around_.forecast(job, solver)) return std::move(*forecast);
    CollectiveForecast forecast = forecast_of(job, run_alone(job, solver));
    if (alternatives_ && !job.of_messages()) forecast.alternatives = alternatives_to(job, forecast, solver);
    return forecast;
  }

  /// Settings that nothing reads here, or whose consequences are not known.
  void refuse_settings(const ObjectReader& r) const {
    static constexpr const char* kAll[] = {"least_channels", "most_channels", "without",        "plugin_tuner", "shm",
                                           "buffer_B",       "ll_buffer_B",   "ll128_buffer_B", "peer_channels"};
    if (std::none_of(std::begin(kAll), std::end(kAll), [&](const char* key) { return r.has(key); })) return;
    const CollectiveJob job = this->job();
    if (!shm_ && (through_host(*communicator_) || trees_through_host(*communicator_)))
      r.fail("shm", "GPUs of one node exchange through host memory here; what NCCL does instead is not modelled");
    if (!communicator_->caller.empty()) {
      refuse_settings(r, "is of NCCL, which " + library_ + " calls for some sizes alone");
      query::refuse_keys(r, {"buffer_B", "peer_channels"},
                         "is of NCCL, which " + library_ + " calls for some sizes alone");
    } else if (job.of_messages()) {
      refuse_settings(r, "is of rings and trees, and " + op_name_ + " has messages: channels sets theirs");
      if (!ranks_.one_node() && buffers_.simple_B > 0 && buffers_.simple_B < kLeastOfMessages_B)
        r.fail("buffer_B", "of messages between nodes is modelled from 1 MiB on, eight of their chunks of 128 KiB");
    } else {
      query::refuse_keys(r, {"peer_channels"}, "is of messages, and " + op_name_ + " has rings and trees");
      if (job.own != nullptr || !job.rings().tuner(job.node(), job.communicator, job.tuner_request()).empty()) return;
      refuse_settings(r, "is of NCCL from 2.7 on, and " + library_ + " has no cost model");
    }
  }
  static void refuse_settings(const ObjectReader& r, const std::string& why) {
    query::refuse_keys(
        r, {"least_channels", "most_channels", "without", "plugin_tuner", "ll_buffer_B", "ll128_buffer_B"}, why);
  }
  static int read_channels(ObjectReader& r, const char* key) {
    const int channels = r.optional<int>(key).value_or(0);
    if (r.has(key) && (channels < 1 || channels > kMostChannels)) r.fail(key, fmt::format("is 1 to {}", kMostChannels));
    return channels;
  }
  static ChannelBuffers read_buffers(ObjectReader& r) {
    const auto read = [&](const char* key) {
      if (!r.has(key)) return 0.0;
      const double size_B = activities::read_size(r, key);
      if (size_B < kLeastBuffer_B) r.fail(key, fmt::format("must be at least {:.0f}", kLeastBuffer_B));
      return size_B;
    };
    return {read("ll_buffer_B"), read("ll128_buffer_B"), read("buffer_B")};
  }
  static std::vector<std::string> read_without(ObjectReader& r) {
    if (!r.has("without")) return {};
    auto without = r.required<std::vector<std::string>>("without");
    if (without.empty()) r.fail("without", "names none");
    std::vector<std::string> known = algorithms().names_of(Routes::kChannels);
    for (const char* protocol : {"LL", "LL128", "Simple"}) known.emplace_back(protocol);
    for (const std::string& one : without)
      if (std::find(known.begin(), known.end(), one) == known.end())
        r.fail("without", unknown_name("algorithm or protocol", one, known).what());
    return without;
  }
  void read_own(ObjectReader& r) {
    if (!switches_.algorithm.empty()) r.fail("algorithm_file", "is taken instead of algorithm: give one of both");
    own_ = read_algorithm(r.required<std::string>("algorithm_file"), [&](const OnlyCall& call) {
      return call.refusal(op_name_, ranks_.nodes * static_cast<int>(ranks_.gpus.size()));
    });
    const OnlyCall call = own_->only_call().value();
    if (call.takes(size_.size_B())) return;
    file_warnings_.push_back(call.left_to_library(size_.size_B()));
    own_.reset();
  }
  [[nodiscard]] CollectiveJob job() const {
    return {around_.machine(ranks_),
            libraries().get(library_),
            *communicator_,
            size_.op(),
            op_name_,
            size_.size_B(),
            switches_.algorithm,
            protocol_,
            channels_,
            switches_.nvls,
            switches_.collnet,
            calls_,
            engine_,
            "",
            {},
            launching_,
            own_.get(),
            least_channels_,
            most_channels_,
            without_,
            plugin_tuner_,
            buffers_};
  }

  std::string op_name_;
  CollectiveRanks ranks_;
  SizedCall size_;
  std::string library_;
  int calls_;
  SwitchKeys switches_;
  std::string protocol_, engine_{};
  int channels_ = 0, least_channels_ = 0, most_channels_ = 0;
  std::vector<std::string> without_{};
  ChannelBuffers buffers_{};
  bool plugin_tuner_ = true, shm_ = true;
  std::unique_ptr<Algorithm> own_{};  ///< of a user's file
  std::vector<std::string> file_warnings_{};
  bool alternatives_ = false, utilisation_ = false;
  launch::Launching launching_{};
  Surroundings around_{};
  std::shared_ptr<const Communicator> communicator_{};
};

void read_transport(CollectiveJob& job, ObjectReader& r) {
  if (!r.has("transport")) return;
  job.transport = r.choice("transport", Transports::message_names());
  const std::string why = transport_refusal(job);
  if (!why.empty()) r.fail("transport", why);
}

CollectiveForecast schedule_answer(catalogue::Catalogue& catalogue, const catalogue::Machine& machine, Solver& solver,
                                   ObjectReader& r) {
  const auto library_id = r.required<std::string>("library");
  const auto op_name = r.required<std::string>("op");
  const CollectiveRanks ranks = read_ranks(machine, r);
  const Communicator members = schedule_ranks(library_id, ranks.nodes, ranks.gpus);
  const SizedCall size(op_name, members.ranks(), r);
  Surroundings around;
  around.load = read_load(ranks, r, catalogue.progress());
  around.place(machine, ranks);
  query::refuse_keys(r, {"calls",         "protocol",     "channels",       "least_channels",
                         "most_channels", "without",      "algorithm_file", "nvls",
                         "collnet",       "pxn",          "cross_nic",      "gdr_level",
                         "buffer_B",      "ll_buffer_B",  "ll128_buffer_B", "peer_channels",
                         "shm",           "plugin_tuner", "engine",         "library_topology",
                         "p2p_level",     "host_scale"},
                     "is of libraries that build rings, and " + library_id + " sends messages");
  CollectiveJob job{around.machine(ranks), libraries().get(library_id), members, size.op(), op_name, size.size_B()};
  read_transport(job, r);
  if (r.has("launch") && launch::by_host(launch::kind_named(r.choice("launch", launch_kinds()))))
    r.fail("launch", "is of libraries that run kernels: the times of " + library_id + " hold its calls");
  if (r.has("algorithm")) job.algorithm = r.choice("algorithm", algorithms_for(op_name));
  const bool alternatives = r.optional<bool>("alternatives").value_or(false);
  const bool utilisation = r.optional<bool>("utilisation").value_or(false);
  PlacedCollective first{library_id, op_name, size.size_B()};
  first.transport = job.transport;
  around.read_others(machine, first, ranks, r);
  if (alternatives) around.refuse_alternatives(r);
  r.finish();
  const auto with_links = [&](CollectiveForecast forecast) {
    if (utilisation) forecast.links = link_loads(job, forecast.time_s, solver);
    return forecast;
  };
  if (auto forecast = around.forecast(job, solver)) return with_links(std::move(*forecast));
  const CollectiveRun run = run_alone(job, solver);
  CollectiveForecast forecast = forecast_of(job, run);
  if (alternatives && !run.scheduled->times.steady) forecast.alternatives = other_schedules(job, run, solver);
  return with_links(std::move(forecast));
}

bool has_schedules(const Json& library) {
  return library.is_string() && libraries().get(library.get<std::string>()).schedules() != nullptr;
}

}  // namespace

Json collective_answer(catalogue::Catalogue& catalogue, const catalogue::Machine& machine, Solver& solver,
                       ObjectReader& r, bool explain) {
  const bool schedules = r.has("library") && has_schedules(r.raw("library"));
  const CollectiveForecast forecast =
      schedules ? schedule_answer(catalogue, machine, solver, r) : Asked(catalogue, machine, r).forecast(solver);
  Json out = to_json(forecast);
  if (explain) out["terms"] = uncertainty::explained(machine.platform().calibration(), forecast.terms, forecast.time_s);
  return out;
}

}  // namespace linkcast::collective
