#pragma once
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "sim/base/lru_map.hpp"
#include "sim/base/progress.hpp"
#include "sim/engine/problem.hpp"
#include "sim/machine/edited.hpp"
#include "sim/machine/machine.hpp"
#include "sim/machine/machine_files.hpp"

namespace linkcast::catalogue {

/// The machines of a data folder (topologies/, models/params/), each loaded when first asked for, and the edited ones
/// of these, as far as they were asked for lately. For one thread; the machines that it gives are for any.
class Catalogue {
 public:
  /// @throws InputError  no data folder
  explicit Catalogue(std::string data_dir);
  Catalogue(const Catalogue&) = delete;
  Catalogue& operator=(const Catalogue&) = delete;

  [[nodiscard]] const std::string& data_dir() const { return data_dir_; }
  /// Where long computations say how far they are; shows nothing at first.
  [[nodiscard]] log::Progress& progress() { return *progress_; }
  /// @param progress  outlives the catalogue, or is replaced
  void show_progress(log::Progress& progress) { progress_ = &progress; }
  /// Ids of the shipped machines, sorted.
  [[nodiscard]] std::vector<std::string> platforms() const;
  /// Whether an id is one of these; a platform that was loaded is not looked for again.
  [[nodiscard]] bool has_platform(const std::string& id) const;
  /// @param id  shipped platform, or the file of one: calibration/1, topology/1 (inherits its parameters from the
  ///            nearest machines) or variant/1 (its base is a platform, or a file beside it)
  /// @throws InputError  unknown id (lists the known ones), or a wrong file
  MachinePtr machine(const std::string& id);
  /// Puts a machine that is not in the data folder, or replaces one that is.
  MachinePtr adopt(const std::string& id, Topology topology, Calibration calibration);
  /// A machine with what-if edits (sim/machine/edit.hpp); the same one for the same edits while it is kept.
  /// @throws InputError  an edit that cannot be read, or that the machine does not allow
  MachinePtr edited(const MachinePtr& machine, const std::vector<std::string>& edits);
  /// A machine whose communication libraries see another topology (NCCL_TOPO_FILE, NCCL_P2P_LEVEL). On one node alone.
  /// @param xml        NCCL's topology file; empty: the machine as it is
  /// @param p2p_level  LOC, NVL, NVB, C2C, PIX, PXB, PHB or SYS; empty: the library's own choice
  /// @throws InputError  as of TopologyReader::read()
  MachinePtr with_library_topology(const MachinePtr& machine, const std::string& xml, const std::string& p2p_level);
  /// @throws InputError  unknown solver
  Solver& solver(const std::string& name);

 private:
  /// A machine that follows from another one, which lives as long: no later machine takes its place in a key.
  struct Derived {
    MachinePtr base, machine;
  };

  MachinePtr load(const std::string& id, const MachineFile& file);
  Platform variant_of(const MachineFile& file);
  /// Platform of a topology alone: parameters from the machines that it names, else from the nearest machines.
  Platform unmeasured(const MachineFile& file);
  MachinePtr build_edited(const Machine& base, const std::vector<Edit>& edits);
  template <class Make>
  MachinePtr derived(const MachinePtr& base, const std::string& how, const Make& make);
  [[nodiscard]] std::optional<KindOffer> shipped_kind(const std::string& kind);

  std::string data_dir_;
  MachineFiles files_;
  log::NoProgress none_;
  log::Progress* progress_ = &none_;
  std::map<std::string, MachinePtr> machines_;
  LruMap<std::pair<const Machine*, std::string>, Derived> derived_;
  std::map<std::string, std::unique_ptr<Solver>> solvers_;
};

}  // namespace linkcast::catalogue
