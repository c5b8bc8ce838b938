#pragma once
#include <deque>
#include <map>
#include <memory>
#include <string>
#include <typeindex>
#include <vector>

#include "sim/catalogue/machine_files.hpp"
#include "sim/engine/problem.hpp"
#include "sim/log/progress.hpp"
#include "sim/platform/cluster.hpp"
#include "sim/platform/edited.hpp"
#include "sim/plugin/library.hpp"

namespace linkcast::catalogue {

/// The shipped platforms of a data folder (topologies/, models/params/), each loaded when first asked for, and what
/// many queries share: solvers and the channels of communicators already built.
class Catalogue {
 public:
  explicit Catalogue(std::string data_dir);
  Catalogue(const Catalogue&) = delete;
  Catalogue& operator=(const Catalogue&) = delete;
  ~Catalogue();

  [[nodiscard]] const std::string& data_dir() const { return data_dir_; }
  /// Where long computations say how far they are; shows nothing at first.
  [[nodiscard]] log::Progress& progress() { return *progress_; }
  /// @param progress  outlives the catalogue, or is replaced
  void show_progress(log::Progress& progress) { progress_ = &progress; }
  /// Ids of the shipped machines, sorted.
  [[nodiscard]] std::vector<std::string> platforms() const;
  /// Whether an id is one of these; a platform that was loaded is not looked for again.
  [[nodiscard]] bool has_platform(const std::string& id) const;
  /// @param id  shipped platform, or the file of one: calibration/1, topology/1 (its parameters are lent by the
  /// machines
  ///            that are most like it) or variant/1 (its base is a platform, or a file beside it)
  /// @throws InputError  unknown id (lists the known ones), or a wrong file
  const Platform& platform(const std::string& id);
  /// A platform that is not in the data folder, or in place of one that is: for fits, which try its parameters out.
  Platform& adopt(const std::string& id, Topology topology, Calibration calibration);
  /// Id of a platform with what-if edits (sim/platform/edit.hpp): every function here takes it in place of `id`.
  /// Kept for further queries; references into a platform edited long ago end with a later call.
  /// @throws InputError  an edit that cannot be read, or that the platform does not allow
  std::string edited(const std::string& id, const std::vector<std::string>& edits);
  /// What was edited; empty for a platform as it is. @param id  from edited()
  [[nodiscard]] const EditedPlatform* edits_of(const std::string& id) const;
  /// Id of a platform whose communication libraries are told something else than it is (NCCL_TOPO_FILE,
  /// NCCL_P2P_LEVEL): every function here takes it in place of `id`, but those of several nodes.
  /// @param id  edited or not. @param xml  NCCL's topology file; empty: the machine as it is
  /// @param p2p_level  LOC, NVL, NVB, C2C, PIX, PXB, PHB or SYS; empty: unsaid
  /// @throws InputError  as of TopologyReader::read()
  std::string told(const std::string& id, const std::string& xml, const std::string& p2p_level);
  /// Many nodes of a platform on the fabric that its topology names.
  /// @throws InputError  it names none, or an impossible one
  const Cluster& cluster(const std::string& platform_id);
  /// One node of it, whether it names a fabric or not.
  const Cluster& lone_node(const std::string& platform_id);
  /// @throws InputError  unknown solver
  Solver& solver(const std::string& name);
  /// What `library` builds for these GPUs of the platform; computed once.
  const Communicator& communicator(const std::string& platform_id, const std::string& library,
                                   const std::vector<int>& gpus);
  /// What a room above remembers from one query to the next, one object of each type. Forgotten by adopt().
  template <class Kept>
  Kept& kept() {
    std::shared_ptr<void>& object = kept_[typeid(Kept)];
    if (!object) object = std::make_shared<Kept>();
    return *static_cast<Kept*>(object.get());
  }
  /// For those that run for long: no references to communicators may be held across it.
  void forget_communicators_above(std::size_t most) {
    if (communicators_.size() > most) communicators_.clear();
  }
  /// The same over these GPUs of each of `nodes` nodes. @param pxn  as of RingLibrary::build_across()
  const Communicator& communicator_across(const std::string& platform_id, const std::string& library, int nodes,
                                          const std::vector<int>& gpus, bool pxn = true);

 private:
  const Platform& load(const std::string& id, const std::string& path);
  Platform variant_of(const std::string& path);
  /// Of a topology alone: parameters from the machines that it names, else from the nearest machines.
  Platform unmeasured(const std::string& path);
  EditedPlatform build_edited(const std::string& id, const std::vector<Edit>& edits);
  [[nodiscard]] std::optional<KindOffer> shipped_kind(const std::string& kind);
  void forget_oldest();
  void forget(const std::string& id);

  /// How often a communicator was asked for and how often it was there already.
  struct Use {
    long asked = 0, there = 0;
  };

  std::string data_dir_;
  MachineFiles files_;
  log::NoProgress none_;
  log::Progress* progress_ = &none_;
  Use communicator_use_;
  std::map<std::string, std::unique_ptr<Platform>> platforms_;
  std::map<std::string, EditedPlatform> edited_;
  struct ToldPlatform {
    std::string base;
    std::unique_ptr<Platform> platform;
  };
  std::map<std::string, ToldPlatform> told_;
  std::deque<std::string> edited_order_;  ///< oldest first
  std::map<std::string, std::unique_ptr<Cluster>> clusters_, lone_nodes_;
  std::map<std::string, std::unique_ptr<Solver>> solvers_;
  std::map<std::type_index, std::shared_ptr<void>> kept_;
  std::map<std::tuple<std::string, std::string, std::vector<int>>, Communicator> communicators_;
  std::map<std::tuple<std::string, std::string, int, std::vector<int>, bool>, Communicator> across_;
};

}  // namespace linkcast::catalogue
