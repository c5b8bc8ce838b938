#pragma once
// Parameters of a machine. A row declares one: what it is of, unit, range, meaning, prior. A key names one parameter of
// one machine, as calibrations write it: "<head>.<subject>.<what>". The rows are in sim/records/parameter_rows.hpp;
// plug-ins add rows of their own with join_parameters().
#include <array>
#include <limits>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "sim/base/input_error.hpp"

namespace linkcast {

/// What there is one value of. A parameter of cables may be given for a kind ("cable.pcie3.") and, stronger, for one
/// cable ("cable.pcie3@gpu0-plx0."); one of links for one direction of a cable ("link.gpu0->plx0.") above both.
enum class ParameterOf {
  kCable,
  kLink,
  kRange,      ///< one range of sizes of a transport: "transport.peer.r0."
  kTransport,  ///< "transport.peer."
  kEngine,     ///< the copy engines: "copy_engine."
  kLibrary,    ///< a communication library, all versions ("nccl.ring.LL.") or one ("nccl.ring.LL@2.8.")
  kNoise,
  kLaunch,  ///< who issues work: "launch.process."
  kRecording,
  kHostMemory
};

struct ParameterRow;

/// Name of one parameter, made by its row.
struct ParameterKey {
  std::string name;
  const ParameterRow* row = nullptr;
};

/// A parameter's value and spread before data of this machine.
struct Prior {
  double value = 0;   ///< in the parameter's unit
  double spread = 0;  ///< standard deviation of its logarithm
};

/// A row of the table of parameters. Its texts live as long as the program.
struct ParameterRow {
  ParameterOf of = ParameterOf::kCable;  ///< set by RowOf
  std::string_view what = "";            ///< last part of the name: "bandwidth_Bps"
  std::string_view unit = "";            ///< s, B, B/s or 1
  std::string_view meaning = "";         ///< one line, with the state where it was not measured
  std::string_view subject =
      "";  ///< transports, issuers or costs of a library that have it, blanks between; empty: any
  std::optional<Prior> prior = {};  ///< where it is the same for every machine; else the reader states it
  bool addable = false;             ///< an edit may set it where no calibration has it
  double below =
      std::numeric_limits<double>::infinity();  ///< values must be below; rates above 0, all others 0 or more

  /// Whether links that differ in it are not alike (sim/machine/symmetry.hpp).
  [[nodiscard]] constexpr bool breaks_symmetry() const { return of == ParameterOf::kCable || of == ParameterOf::kLink; }
  /// Key of a row that is of no library. @param subject  as it stands in the name; empty: a machine has one
  [[nodiscard]] ParameterKey key(std::string_view subject_of_name) const;
  /// What is wrong with a value of this parameter; empty: nothing.
  [[nodiscard]] std::string refusal(double value) const;
};

/// How the names of parameters begin: "transport.staged" of transport "staged". @param subject  empty: all of a sort
std::string parameter_subject(ParameterOf of, std::string_view subject);
/// "nvlink2@gpu0-gpu1": subject of parameters of one cable alone.
std::string one_cable(std::string_view kind, std::string_view cable);
/// "nccl" of library "nccl-2.8": how its parameters begin.
std::string library_family(std::string_view library);
/// "2.8" of library "nccl-2.8", "openmpi" of "mpi-openmpi"; empty where the name has none.
std::string library_version_name(std::string_view library);

/// A row and how keys are made from it.
template <ParameterOf Of>
struct RowOf : ParameterRow {
  static constexpr bool kAlone = Of == ParameterOf::kEngine || Of == ParameterOf::kNoise ||
                                 Of == ParameterOf::kRecording || Of == ParameterOf::kHostMemory;

  constexpr explicit RowOf(ParameterRow row) : ParameterRow(row) { of = Of; }

  /// A machine has one.
  [[nodiscard]] ParameterKey operator()() const requires(kAlone) { return key(""); }
  /// @param subject  kind of cable, or one_cable(); "gpu0->gpu1"; transport; who issues
  [[nodiscard]] ParameterKey operator()(std::string_view subject) const
      requires(!kAlone && Of != ParameterOf::kRange && Of != ParameterOf::kLibrary) {
    return key(subject);
  }
  /// @param range  0, 1, ...: the smallest sizes first
  [[nodiscard]] ParameterKey operator()(std::string_view transport, std::size_t range) const
      requires(Of == ParameterOf::kRange) {
    return key(std::string(transport) + ".r" + std::to_string(range));
  }
  /// Key of this version. @param library  "nccl-2.8"
  [[nodiscard]] ParameterKey operator()(std::string_view library) const requires(Of == ParameterOf::kLibrary) {
    const auto [from, to] = around_version(library_family(library));
    return {from + library_version_name(library) + to, this};
  }
  /// Text before and after the version in the names of a family: "nccl.ring.LL@" and ".base_s".
  [[nodiscard]] std::pair<std::string, std::string> around_version(std::string_view family) const
      requires(Of == ParameterOf::kLibrary) {
    return {std::string(family).append(".").append(subject).append("@"), std::string(".").append(what)};
  }
  /// Key of all versions of a library. @param family  "nccl", as library_family() gives it
  [[nodiscard]] ParameterKey of_all(std::string_view family) const requires(Of == ParameterOf::kLibrary) {
    return {std::string(family).append(".").append(subject).append(".").append(what), this};
  }
};

using CableRow = RowOf<ParameterOf::kCable>;
using LinkRow = RowOf<ParameterOf::kLink>;
using RangeRow = RowOf<ParameterOf::kRange>;
using TransportRow = RowOf<ParameterOf::kTransport>;
using LaunchRow = RowOf<ParameterOf::kLaunch>;
using LibraryRow = RowOf<ParameterOf::kLibrary>;

/// The same cost of a library in each of NCCL's protocols.
class ProtocolRows {
 public:
  /// @param subjects, priors  in the order LL, LL128, Simple
  constexpr ProtocolRows(const std::array<std::string_view, 3>& subjects, const ParameterRow& row,
                         const std::array<std::optional<Prior>, 3>& priors = {})
      : rows_{one(subjects[0], row, priors[0]), one(subjects[1], row, priors[1]), one(subjects[2], row, priors[2])} {}

  /// @throws InvariantError  not one of the three
  [[nodiscard]] const LibraryRow& operator[](std::string_view protocol) const {
    constexpr std::array<std::string_view, 3> kProtocols = {"LL", "LL128", "Simple"};
    for (std::size_t i = 0; i < kProtocols.size(); ++i)
      if (kProtocols[i] == protocol) return rows_[i];
    throw InvariantError("no protocol '" + std::string(protocol) + "'");
  }
  [[nodiscard]] constexpr const std::array<LibraryRow, 3>& all() const { return rows_; }

 private:
  static constexpr LibraryRow one(std::string_view subject, ParameterRow row, const std::optional<Prior>& prior) {
    row.subject = subject;
    if (prior) row.prior = prior;
    return LibraryRow(row);
  }
  std::array<LibraryRow, 3> rows_;
};

/// The table: built-in rows, then those that joined.
const std::vector<const ParameterRow*>& parameter_rows();
/// Adds rows, which live as long as the program, while plug-ins register themselves: before anything is read.
/// @param family  of libraries that has parameters: "rccl"; empty: the rows are of libraries that are known already
bool join_parameters(const std::string& family, const std::vector<const ParameterRow*>& rows);

/// "cable.nvlink2@gpu0-gpu1.bandwidth_Bps" is head "cable", subject "nvlink2@gpu0-gpu1", what "bandwidth_Bps".
struct ParameterName {
  std::string_view head, subject, what;  ///< parts of the text that it was made of
  explicit ParameterName(std::string_view name);
  /// Head, as one of the table; nothing: no parameter's name begins so.
  [[nodiscard]] std::optional<ParameterOf> of() const;
  /// "peer" of "transport.peer.r0.startup_s"; empty: of no transport.
  [[nodiscard]] std::string_view transport() const;
  /// 0 of "transport.peer.r0.startup_s"; nothing: of no range.
  [[nodiscard]] std::optional<std::size_t> range() const;
};

/// @returns nullptr  no parameter may be called so, whatever the machine
const ParameterRow* find_parameter_row(std::string_view name);
/// Whether a name is of a row: with whatever subject.
bool is_of(std::string_view name, const ParameterRow& row);
/// Whether it is a parameter of communication libraries.
bool is_of_library(std::string_view name);
/// @throws InputError  the head of the name is known, but not what follows. @param file  of the calibration
void check_parameter_name(const std::string& file, const std::string& name);

}  // namespace linkcast
