#pragma once
// Where the files of machines are. What a file is, is said by its schema; its name and its folder decide nothing.
#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "sim/machine/inherit.hpp"
#include "sim/machine/topology.hpp"
#include "sim/records/calibration.hpp"

namespace linkcast::catalogue {

/// Schemas of files that are machines.
enum class MachineSchema { kTopology, kCalibration, kVariant };
/// "topology/1"
const char* to_text(MachineSchema schema);

/// The file of a machine, read once.
struct MachineFile {
  std::string path;
  MachineSchema schema;
  Json json;

  /// Whether it is a variant of a machine that nobody built.
  [[nodiscard]] bool is_what_if() const { return schema == MachineSchema::kVariant && !json.contains("inherits"); }
};

class MachineFiles {
 public:
  using Measured = lending::Lender;
  using Machines = std::vector<Measured>;
  explicit MachineFiles(std::string data_dir) : data_dir_(std::move(data_dir)) {}

  /// Whether a name can only be that of a file: it has a folder or ends in .json, or such a file is there.
  static bool is_file(const std::string& name);
  /// @throws InputError  a folder, broken JSON, or a schema that no machine has
  static MachineFile read(const std::string& path);

  /// Ids of shipped machines with parameters of their own, sorted.
  [[nodiscard]] std::vector<std::string> calibrated() const;
  /// Ids of all shipped machines, sorted: these, variants, and topologies that name the machines they inherit from.
  [[nodiscard]] std::vector<std::string> platforms() const;
  /// The file that a shipped machine is read from: its calibration, else its variant or topology, the one that goes by
  /// this name too included; nothing: none is called so.
  [[nodiscard]] std::optional<MachineFile> shipped(const std::string& id) const;
  /// Leaves variants out where other machines are among the ids: who names a GPU means the machine that has it first.
  void drop_variants(std::vector<std::string>& ids) const;
  /// Whether shipped() finds one.
  [[nodiscard]] bool is_shipped(const std::string& id) const;
  /// Paths of a shipped machine's files, whether they are there or not.
  [[nodiscard]] std::string shipped_calibration(const std::string& id) const;
  [[nodiscard]] std::string shipped_topology(const std::string& id) const;
  /// Path of an id or of a file. @throws InputError  neither, with the known ids
  [[nodiscard]] std::string topology(const std::string& id) const;
  [[nodiscard]] std::string calibration(const std::string& id) const;
  /// File of the machine that a calibration is of: beside it, else shipped. @returns nothing where there is none
  [[nodiscard]] std::optional<std::string> topology_of(const Calibration& calibration) const;
  [[noreturn]] void refuse_topology(const Calibration& calibration) const;
  /// Schema topology/1 of a topology's file, or of a variant that is a machine of its own. @throws InputError
  [[nodiscard]] Json wiring_of(const MachineFile& file) const;
  /// The machine that a calibration is of: that in the file itself, else of topology_of(). @throws InputError
  [[nodiscard]] Topology read_topology_of(const Calibration& calibration) const;
  /// Wiring of an id, the file of a topology, a calibration or a variant that is a machine of its own.
  /// @throws InputError
  [[nodiscard]] Topology read_wiring(const std::string& id) const;
  [[nodiscard]] Topology read_wiring(const MachineFile& file) const;
  /// Whether the bytes of a topology are those of a shipped one.
  [[nodiscard]] bool is_shipped(const Topology& topology) const;
  /// The machines that a topology inherits from. @throws InputError  it names one without parameters of its own
  [[nodiscard]] Machines inherited_by(const Topology& topology) const;
  /// Every shipped machine that has parameters. Each is read once.
  [[nodiscard]] Machines lenders() const;

 private:
  [[nodiscard]] Machines read_machines(const std::vector<std::string>& ids) const;
  [[nodiscard]] std::optional<MachineFile> shipped_by_other_name(const std::string& name) const;
  [[nodiscard]] Json wiring_of(const MachineFile& file, int depth) const;
  std::string data_dir_;
  mutable std::map<std::string, Measured> measured_;  ///< by id, as read_machines() has read them
};

}  // namespace linkcast::catalogue
