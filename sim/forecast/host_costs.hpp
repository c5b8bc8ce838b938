#pragma once
// What a host pays to issue work to GPUs: parameters launch.* of a calibration, and the cost of one call.
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "sim/forecast/terms.hpp"
#include "sim/machine/catalogue.hpp"
#include "sim/records/launch_record.hpp"
#include "sim/records/parameters.hpp"

namespace linkcast::launch {

/// Platform whose hosts stand for those that nobody measured. source: the only ones measured so far
const std::string& measured_host();

/// Source of what a host costs (uncertainty::Term). @param lender  HostCosts::lender()
std::string_view source_of_host(const std::string& lender);

/// Who issues the calls of a collective, or copies.
enum class Kind {
  kGraph,          ///< nobody while they run: the time of the devices alone
  kProcess,        ///< a process or a thread a GPU; of copies one CPU thread
  kSingleProcess,  ///< one thread for all GPUs of a node, in one group
  kPytorch,        ///< torch.distributed, a process a GPU
  kQueue           ///< nobody while they run, as kGraph: calls that were queued on streams before the first one began
};
/// Whether a host issues calls while the devices run.
constexpr bool by_host(Kind kind) { return kind != Kind::kGraph && kind != Kind::kQueue; }
/// As `launch` of a query: launch_kinds() is in the order of Kind.
const std::string& name_of(Kind kind);
/// @throws InvariantError  not one of launch_kinds()
Kind kind_named(const std::string& name);

/// One call as its host sees it. A send counts with the receive of the same message: half of it is at either end.
struct Call {
  int gpus = 1;                 ///< that one thread issues for, if it issues for several
  double busiest_sends = 1;     ///< in one group of the GPU with most; 1 of anything that is no messages
  double all_sends = 1;         ///< of all `gpus` together; as many as they of anything that is no messages
  int grouped = 1;              ///< collectives that the library makes of it, in one group
  bool point_to_point = false;  ///< sends and receives that the program itself asks for
  bool collected = true;        ///< in a group, if one thread issues for several; else each launches as it is called
};

using uncertainty::HostTime;

/// Costs of one machine, or of the one whose launches were measured, each kind by itself. The interval is wider where
/// the user's host is not the one that was measured: on machines that linkcast ships, and on inherited costs.
class HostCosts {
 public:
  /// @param machine  outlives the costs
  /// @param scale  of all costs: a host that somebody knows, so that none is guessed after another machine's
  HostCosts(catalogue::Catalogue& catalogue, const catalogue::Machine& machine, std::optional<double> scale = {});

  /// False where neither has any.
  [[nodiscard]] bool known() const;
  /// @returns 0 of graphs. @throws InputError  nothing was measured
  [[nodiscard]] HostTime of(Kind kind, const Call& call) const;
  /// To issue one copy. @param by_kernel  else by copy engine
  [[nodiscard]] HostTime of_copy(bool by_kernel) const;
  /// From the end of the work to the return of the call that waits for it.
  [[nodiscard]] HostTime synchronise() const;
  /// Machine that they were measured on; empty if it is this one. @param subject  name of a kind, copy, kernel
  [[nodiscard]] std::string lender(const std::string& subject) const;

 private:
  /// The calibration that has what calls of a subject cost, this machine's first; null: neither.
  [[nodiscard]] const Calibration* find(const std::string& subject) const;
  /// @throws InputError  nothing was measured
  [[nodiscard]] const Calibration& of_subject(const std::string& subject) const;
  [[nodiscard]] double value(const std::string& subject, const LaunchRow& row) const;
  /// @param subject  whose spread it has
  [[nodiscard]] HostTime spread(const std::string& subject, double s) const;

  LibraryParameters parameters_;
  const Calibration* own_;
  catalogue::MachinePtr measured_;  ///< the machine whose launches were measured; null: not needed, or not there
  const Calibration* inherited_ = nullptr;                                   ///< of measured_
  mutable std::vector<std::pair<std::string, const Calibration*>> found_{};  ///< by subject: what find() said before
  std::optional<double> scale_{};
  bool shipped_ = false;  ///< its hosts are those that linkcast measured, not the user's
};

}  // namespace linkcast::launch
