#pragma once
// One machine that questions are asked of.
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "sim/machine/cluster.hpp"
#include "sim/machine/library.hpp"

namespace linkcast::catalogue {

class Machine;
using MachinePtr = std::shared_ptr<const Machine>;

/// A platform and what is built on it once: clusters of its nodes, and the communicators of its libraries. Immutable:
/// what-if edits, a library topology and other library parameters make another machine. References that it gives away
/// are valid as long as the machine; who keeps them keeps its MachinePtr. May be used by several threads.
class Machine {
 public:
  /// @param name   as requests name it: id of a shipped platform, or a file
  /// @param edits  what-if edits in the platform, in the order in which they took effect
  /// @param edit_notes  assumptions of these edits
  Machine(std::string name, Platform platform, std::vector<std::string> edits = {},
          std::vector<std::string> edit_notes = {});
  Machine(const Machine&) = delete;
  Machine& operator=(const Machine&) = delete;
  ~Machine();

  [[nodiscard]] const std::string& name() const { return name_; }
  [[nodiscard]] const std::vector<std::string>& edits() const { return edits_; }
  [[nodiscard]] const std::vector<std::string>& edit_notes() const { return edit_notes_; }
  /// Name in answers: as requested, or that of the edited topology.
  [[nodiscard]] const std::string& title() const { return edits_.empty() ? name_ : platform_->topology().name; }

  [[nodiscard]] const Platform& platform() const { return *platform_; }
  /// One node of it, whether its topology names a fabric or not.
  [[nodiscard]] const Cluster& lone_node() const { return lone_node_; }
  /// Many nodes of it on the fabric that its topology names. @throws InputError  it names none, or an impossible one
  [[nodiscard]] const Cluster& cluster() const;
  /// The communicator that `library` builds for these GPUs of each of `nodes` nodes; kept until others were asked for
  /// more recently.
  /// @param exits  as of RingLibrary::build_across(); of no meaning for one node
  /// @throws InputError  the library refuses them
  [[nodiscard]] std::shared_ptr<const Communicator> communicator(const std::string& library,
                                                                 const std::vector<int>& gpus, int nodes = 1,
                                                                 const ExitSettings& exits = {}) const;

  /// This machine as libraries see it with another topology.
  [[nodiscard]] MachinePtr with_library_topology(LibraryTopology seen) const;
  /// This machine with other parameters of libraries or hosts, of which nothing here is built: it shares all of that.
  [[nodiscard]] MachinePtr with_library_parameters(const std::map<std::string, Parameter>& changed) const;
  /// This machine, whose forecasts record the library parameters that they use. @param used  filled while it is asked
  [[nodiscard]] MachinePtr recording(std::shared_ptr<ParametersUsed> used) const;

 private:
  class Built;
  Machine(const Machine& other, Platform platform);

  std::string name_;
  std::vector<std::string> edits_, edit_notes_;
  std::shared_ptr<const Platform> platform_;
  std::shared_ptr<Built> built_;
  Cluster lone_node_;
  mutable std::mutex mutex_;
  mutable std::shared_ptr<const Cluster> cluster_;  ///< null: not asked for yet
};

}  // namespace linkcast::catalogue
