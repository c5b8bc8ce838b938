#pragma once
// What the fits of the single transports share: the samples, where they ran, and what was found so far.
#include <map>
#include <string>
#include <tuple>
#include <vector>

#include "calibrate/fit/least_squares.hpp"
#include "sim/machine/platform.hpp"
#include "sim/records/calibration.hpp"
#include "sim/records/measurement.hpp"
#include "sim/records/parameters.hpp"

namespace linkcast::fit {

// Time against size as a few straight pieces; the number of pieces is chosen by the data.

/// One median time of all pairs at one size.
struct SizePoint {
  double size_B = 0;
  double time_s = 0;
};

struct Piece {
  double to_B = 0;    ///< last size it covers
  bool flat = false;  ///< time = startup; else time = startup + size / rate
  double startup_s = 0, startup_stderr_s = 0;
  double rate_Bps = 0, rate_stderr_Bps = 0;  ///< 0 if flat
};

/// What a piece may be: kProportional adds time = size / rate, for ranges in which the time grows faster than the size.
enum class PieceForms { kFlatAndLine, kProportional };

/// Pieces of at least two sizes each (three if not flat), times never falling from one piece to the next.
/// The last proportional piece may be a single size.
/// The number of pieces minimises BIC with a noise floor of 1 % of the time, so that pieces are not spent on
/// differences that do not matter.
/// @param points  sizes rising
/// @param most  largest number of pieces
std::vector<Piece> fit_pieces(const std::vector<SizePoint>& points, int most,
                              PieceForms forms = PieceForms::kFlatAndLine);

// Sizes whose bytes cost under 3 % of a copy's start-up. source: P100-DGX-1 sweep, flat up to 4 KiB
inline constexpr double kSmall_B = 4096;
// Sizes at which a link's rate shows even if the start-up is only roughly known. source: the same sweep, within 10 % of
// the asymptote from 4 MiB
inline constexpr double kSteady_B = 4194304;
// Rates that differ by less, or by fewer standard errors, are one. source: pairs of one class of the P100-DGX-1 matrix
// lie within 1.5 % of each other
inline constexpr double kDistinct = 0.02;
inline constexpr double kDistinctSigmas = 3;

// Another machine's number is at least so uncertain, relatively. source: start-ups and PCIe rates of the calibrated
// DGX-1 and ABCI nodes differ by 5-20 %
inline constexpr double kOtherCopies = 0.1;

// The family of libraries that linkcast-bench measures (calibrate/bench/nccl_base.cpp).
inline constexpr std::string_view kBenchFamily = "nccl";
// The family of libraries that send messages by a schedule (models/libraries/mpi_*.cpp).
inline constexpr std::string_view kMessageFamily = "mpi";

/// One repetition of one copy.
struct Sample {
  std::string transport;                 ///< as in the calibration's names, see sim/machine/transport.hpp
  int source = 0, target = 0, via = -1;  ///< device indices
  double size_B = 0;
  double time_s = 0;
  bool read = false;     ///< pulled by the target
  bool single = false;   ///< from rest, not out of a queue of copies
  bool both = false;     ///< both ways at once: copies over the host only
  double precision = 0;  ///< of the file it is from: relative standard error beyond its repetitions
  int point = -1;        ///< repetitions of one measured point share it
};

/// Two neighbours in a list of samples that are repetitions of one measured point.
inline bool same_point(const Sample& a, const Sample& b) {
  return a.point == b.point && a.transport == b.transport && a.size_B == b.size_B;
}

/// What a machine that lends has in common with the one that is fitted.
struct Kin {
  bool same_host = false;  ///< CPUs and PCIe switches of the same models
  double l2_B = 0;         ///< of its GPUs' level 2 caches; 0: not known
};

/// What the standard error of a fitted parameter is made of.
struct ErrorParts {
  double fitted = 0;   ///< from the scatter of the data, by the covariance of the fit
  double between = 0;  ///< between occasions, and of the data's precision
};

struct FitContext {
  const Platform* wires = nullptr;              ///< the topology, not calibrated: for routes
  std::vector<const Calibration*> inherited;    ///< for what these data cannot determine, best first
  std::map<const Calibration*, Kin> kin;        ///< of those; none: nothing is known of its machine
  double l2_B = 0;                              ///< of its GPUs' level 2 caches; 0: not known
  std::vector<Sample> samples;                  ///< one direction at a time, GPU to GPU
  std::vector<Sample> messages;                 ///< between processes: transport names the class of message_fit.hpp
  std::map<std::string, SizePoint> eager_ends;  ///< of these classes ping-pongs show eager messages only
  std::map<std::string, Parameter> found;
  std::map<std::string, ErrorParts> errors;  ///< of those that were set here
  std::vector<std::string> undetermined;     ///< parameter: what measurement would determine it

  /// Those out of a queue of copies; where there are none, those from rest.
  [[nodiscard]] std::vector<Sample> of(const std::string& transport) const;
  /// Copies both ways at once.
  [[nodiscard]] std::vector<Sample> both_ways(const std::string& transport) const;
  /// Times in or out of a queue by source, target and size.
  using Key = std::tuple<int, int, double>;
  [[nodiscard]] std::map<Key, std::vector<double>> times(const std::string& transport, bool single) const;
  /// The standard error gets two parts added: the difference between occasions, and the precision of the data.
  void set(const ParameterKey& key, double value, double stderr_, const std::string& provenance = "fitted");
  /// True if an inherited calibration fitted this parameter itself.
  [[nodiscard]] bool lends(const ParameterKey& key) const;
  /// The same of any parameter of a transport.
  [[nodiscard]] bool lends_any(const std::string& transport) const;
  /// Those that may lend a parameter, best first: what belongs to the host comes from the same host, if one lends.
  [[nodiscard]] std::vector<const Calibration*> lenders_of(const ParameterKey& key) const;
  /// True if a machine with the same host lends this parameter.
  [[nodiscard]] bool host_lends(const ParameterKey& key) const;
  /// Takes a parameter from the nearest machine that fitted it itself. @returns false if none did
  bool inherit(const ParameterKey& key, const std::string& missing);
  /// The same for every inherited parameter of a transport.
  bool inherit_all(const std::string& transport, const std::string& missing);
  /// Value of a parameter found so far. @throws InputError  if it is missing: says which measurement is needed
  [[nodiscard]] double value(const ParameterKey& key) const;
  [[nodiscard]] bool has(const ParameterKey& key) const { return found.contains(key.name); }
  /// True if any parameter of a transport was found.
  [[nodiscard]] bool has_any(const std::string& transport) const;
  /// Largest precision of the samples that a parameter rests on: those of its transport; a cable's rests on all copies.
  [[nodiscard]] double precision_of(const ParameterKey& key) const;
};

/// Key of a parameter that some calibration has.
inline ParameterKey key_named(const std::string& name) { return {name, find_parameter_row(name)}; }

/// Median over pairs and repetitions at each size, sizes rising.
std::vector<SizePoint> medians_by_size(const std::vector<Sample>& samples);
/// True if the sizes span at least two orders of magnitude, so that start-up and rate can be told apart.
bool spans_sizes(const std::vector<Sample>& samples);

/// Every parameter that the samples determine, then what is inherited. Needs wires, inherited, samples and messages.
void fit_all(FitContext& context);

void fit_local(FitContext& context);
/// Local copies in the level 2 cache, where only large ones were measured here.
void borrow_cache(FitContext& context);
/// Copies over accelerator links, pushed and pulled, by copy engines and by kernels. The rate of a link is that of
/// copy engines; start-ups differ.
void fit_peer(FitContext& context);
void fit_relay(FitContext& context);
/// Between host memory and GPUs.
void fit_host(FitContext& context);
void fit_staged(FitContext& context);
/// PCIe cables that copies between GPUs cross: both directions at once, at the share that a lender measured. Needs the
/// rates of peer copies.
void inherit_peer_duplex(FitContext& context);
/// What the memory of a CPU takes from several GPUs at once. Needs the rates of host copies.
void fit_host_memory(FitContext& context, const std::vector<Measurement>& measurements);
/// What a library's kernels pay for hops through host memory, from collectives of two GPUs without peer access. Needs
/// the rates of host copies by kernels and the library's base costs.
void fit_host_path(FitContext& context, const std::vector<Measurement>& measurements);
/// Copies that start from rest: their cost beyond those out of a queue.
void fit_single(FitContext& context);

}  // namespace linkcast::fit
