#include "sim/machine/machine.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <tuple>
#include <utility>

#include "sim/base/log.hpp"
#include "sim/base/lru_map.hpp"
#include "sim/machine/fabric.hpp"
#include "sim/machine/library.hpp"

namespace linkcast::catalogue {
namespace {

constexpr std::size_t kMostCommunicators = 50000;  // source: ours, about 2 kB each

/// Refuses NVLinks that have no link back in the library topology.
void check_one_way(const LibraryTopology& seen, const std::vector<int>& gpus) {
  const auto takes = [&](int gpu) { return std::find(gpus.begin(), gpus.end(), gpu) != gpus.end(); };
  for (const auto& [from, to] : seen.one_way)
    if (takes(from) && takes(to))
      throw InputError(fmt::format(
          "library_topology: the file lacks gpu{0}, whose NVLinks to gpu{1} have no way back in it: NCCL stops. "
          "Add gpu{0}",
          from, to));
}

/// NCCL and RCCL run on the GPUs of one maker each. @param usual  library of these GPUs
void check_maker(const Topology& topology, const std::string& library, const std::string& usual) {
  const std::string maker = ring_library(usual).maker();
  if (ring_library(library).maker() == maker) return;
  const bool amd = maker == "amd";
  throw InputError(fmt::format("library: {} runs on {} GPUs, and those of {} are {}: take {}, or mpi-*", library,
                               amd ? "NVIDIA's" : "AMD's", topology.name, amd ? "AMD's" : "NVIDIA's", usual));
}

Communicator build_inside(const Platform& platform, const std::string& library, const std::vector<int>& gpus) {
  const RingLibrary& rings = ring_library(library);
  if (platform.library_topology().overrides() && !rings.takes_topology_files())
    throw InputError("library_topology, p2p_level: " + library + " looks at the machine itself: take one of " +
                     nccl_range([](const RingLibrary& other) { return other.takes_topology_files(); }));
  check_one_way(platform.library_topology(), gpus);
  return rings.build(platform, gpus);
}

}  // namespace

/// Communicators and clusters, built of the wiring and the rates of links: machines share them that differ in
/// parameters of libraries alone.
class Machine::Built {
 public:
  explicit Built(std::shared_ptr<const Platform> platform) : platform_(std::move(platform)) {}
  Built(const Built&) = delete;
  Built& operator=(const Built&) = delete;
  ~Built() {
    if (asked_ > 0)
      log::Log("catalogue").trace("communicators: asked for {} times, {} of them were there", asked_, there_);
  }

  std::shared_ptr<const Cluster> cluster() {
    const std::lock_guard lock(mutex_);
    if (!cluster_) {
      const Topology& wiring = platform_->wiring();
      BuiltFabric built = build_fabric(wiring);
      std::vector<std::string> nics;
      for (const int nic : built.nics) nics.push_back(wiring.devices[static_cast<std::size_t>(nic)].id);
      cluster_ = std::make_shared<const Cluster>(*platform_, std::move(built.fabric),
                                                 parse_fabric_routing(built.routing), nics, built.flows);
    }
    return cluster_;
  }

  std::shared_ptr<const Communicator> communicator(const Machine& machine, const std::string& library,
                                                   const std::vector<int>& gpus, int nodes, const ExitSettings& exits) {
    if (nodes > 1 && machine.platform().library_topology().overrides())
      throw InputError("library_topology, p2p_level: what a library is told is modelled for one node");
    check_maker(machine.platform().topology(), library, usual());
    const Cluster* cluster = nodes > 1 ? &machine.cluster() : nullptr;
    const std::lock_guard lock(mutex_);
    const Key key(library, nodes, gpus, exits);
    ++asked_;
    if (const auto* known = communicators_.find(key)) {
      ++there_;
      return *known;
    }
    if (nodes > 1)
      log::Log("catalogue").debug("{} builds a communicator of {} nodes with {} GPUs", library, nodes, gpus.size());
    else
      log::Log("catalogue").debug("{} builds a communicator of {} GPUs", library, gpus.size());
    return communicators_.put(
        key, std::make_shared<const Communicator>(
                 cluster == nullptr ? build_inside(machine.platform(), library, gpus)
                                    : ring_library(library).build_across(*cluster, gpus, nodes, exits)));
  }

 private:
  using Key = std::tuple<std::string, int, std::vector<int>, ExitSettings>;

  const std::string& usual() {
    const std::lock_guard lock(mutex_);
    if (usual_.empty()) usual_ = usual_library(platform_->topology());
    return usual_;
  }

  std::mutex mutex_;
  std::string usual_{};  ///< library; empty: not looked for yet
  std::shared_ptr<const Platform> platform_;
  std::shared_ptr<const Cluster> cluster_;  ///< null: not asked for yet
  LruMap<Key, std::shared_ptr<const Communicator>> communicators_{kMostCommunicators};
  long asked_ = 0, there_ = 0;
};

Machine::Machine(std::string name, Platform platform, std::vector<std::string> edits,
                 std::vector<std::string> edit_notes)
    : name_(std::move(name)),
      edits_(std::move(edits)),
      edit_notes_(std::move(edit_notes)),
      platform_(std::make_shared<const Platform>(std::move(platform))),
      built_(std::make_shared<Built>(platform_)),
      lone_node_(*platform_) {}

Machine::Machine(const Machine& other, Platform platform)
    : name_(other.name_),
      edits_(other.edits_),
      edit_notes_(other.edit_notes_),
      platform_(std::make_shared<const Platform>(std::move(platform))),
      built_(other.built_),
      lone_node_(*platform_) {}

Machine::~Machine() = default;

const Cluster& Machine::cluster() const {
  const std::lock_guard lock(mutex_);
  if (!cluster_) {
    cluster_ = built_->cluster();
    if (&cluster_->node() != platform_.get())
      cluster_ = std::make_shared<const Cluster>(cluster_->with_node(*platform_));
  }
  return *cluster_;
}

std::shared_ptr<const Communicator> Machine::communicator(const std::string& library, const std::vector<int>& gpus,
                                                          int nodes, const ExitSettings& exits) const {
  return built_->communicator(*this, library, gpus, nodes, exits);
}

MachinePtr Machine::with_library_topology(LibraryTopology seen) const {
  return std::make_shared<const Machine>(name_, platform_->with_library_topology(std::move(seen)), edits_, edit_notes_);
}

MachinePtr Machine::with_library_parameters(const std::map<std::string, Parameter>& changed) const {
  return MachinePtr(new Machine(*this, platform_->with_library_parameters(changed)));
}

MachinePtr Machine::recording(std::shared_ptr<ParametersUsed> used) const {
  return MachinePtr(new Machine(*this, platform_->recording(std::move(used))));
}

}  // namespace linkcast::catalogue
