#pragma once
// Fitted parameters of one machine, written by `linkcast calibrate fit`, never by hand; what a forecast takes for a
// parameter of a library (fitted, or its prior); what forecasts were off by where data were left out of the fit.
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "sim/base/object_reader.hpp"
#include "sim/records/parameters.hpp"

namespace linkcast {

/// One fitted number. What it may be called, its unit and its meaning: sim/records/parameters.hpp.
struct Parameter {
  double value = 0;
  double stderr_ = 0;      ///< standard error, same unit
  std::string unit;        ///< s, B, B/s or 1
  std::string provenance;  ///< fitted | inherited:<calibration> | derived | believed

  [[nodiscard]] bool inherited() const { return provenance.starts_with("inherited"); }
};

/// Scatter of measured over modelled time of one transport, or kind of forecast, in one size range.
struct Scatter {
  std::string transport;
  double from_B = 0, to_B = 0;
  double sigma_log = 0;  ///< standard deviation of ln(measured / modelled), robust
  int samples = 0;
  int nodes = 0;                          ///< of collectives between nodes: the most that were measured; 0: not said
  std::vector<std::string> operations{};  ///< of collectives between nodes: those that were measured, sorted
};

/// How the errors of parameters that were fitted together hang together: of the logarithms, given the data.
struct Correlation {
  std::vector<std::string> names;          ///< sorted
  std::vector<std::vector<double>> lower;  ///< row i: with names 0 to i - 1

  /// Place of a parameter, -1 for one that is independent of all others.
  [[nodiscard]] int place(const std::string& name) const;
  /// @param a, b  places; -1 is independent of whatever else
  [[nodiscard]] double between(int a, int b) const;
};

struct SourceFile {
  std::string path, sha256;
};

struct Calibration {
  std::string path;
  std::string sha256;
  std::string name;  ///< equals the platform's id
  std::string topology;
  std::string default_library;  ///< communication library of that machine's time
  std::map<std::string, Parameter> parameters;
  double valid_from_B = 0, valid_to_B = 0;
  std::vector<Scatter> scatter;
  Correlation correlation{};
  std::vector<SourceFile> from;
  /// What every forecast has to say of it, e.g. that all of it is lent, and what to measure next.
  std::vector<std::string> notes{};
  Json wiring{};  ///< topology/1 of the machine where that is none of the shipped ones; null: a file of its own

  /// nullptr if there is none.
  [[nodiscard]] const Parameter* find(const ParameterKey& key) const { return find(key.name); }
  /// By a name that a file or a person wrote.
  [[nodiscard]] const Parameter* find(const std::string& name) const;
};

/// Rows of "scatter" of copies in both directions at once are named after the transport and this, after h2d for d2h.
inline constexpr const char* kBidirectionalRow = ".bidirectional";
/// One row of "scatter". @throws InputError
Scatter read_scatter(ObjectReader& row);

/// Reads schema "calibration/1". @throws InputError
Calibration read_calibration(const std::string& path);
/// From the JSON of the file at `path`, whose bytes give the hash. @throws InputError
Calibration read_calibration(const Json& json, const std::string& path);

/// Value of a parameter in a forecast.
struct Learned {
  double value = 0;
  double spread = 0;              ///< standard deviation of its logarithm
  bool measured = false;          ///< from a calibration, not the prior
  int correlated = -1;            ///< place in Calibration::correlation
  std::string_view provenance{};  ///< Parameter::provenance, as long as that lives; empty: the prior
};

/// A part of the error of ln(time), or of a time: standard deviation, and with which parameter it goes. Signed: parts
/// of one parameter add up, parts of parameters that pull against each other cancel.
struct ErrorPart {
  double sigma = 0;
  int correlated = -1;
  ErrorPart() = default;
  explicit ErrorPart(double independent) : sigma(independent) {}
  explicit ErrorPart(const Learned& taken) : sigma(taken.spread), correlated(taken.correlated) {}
  [[nodiscard]] ErrorPart times(double factor) const;
};

/// Variance of the sum of all parts.
double variance_of(const Calibration& calibration, const std::vector<ErrorPart>& parts);

/// Library and host parameters that forecasts used, by name with the version: data can teach these.
using ParametersUsed = std::map<std::string, Learned>;

/// Parameters of communication libraries as one forecast looks them up: a view of a calibration, which records each
/// look-up where somebody wants to know.
class LibraryParameters {
 public:
  /// @param calibration, used  outlive the view; used may be null: nobody records
  explicit LibraryParameters(const Calibration& calibration, ParametersUsed* used = nullptr)
      : calibration_(&calibration), used_(used) {}

  [[nodiscard]] const Calibration& calibration() const { return *calibration_; }
  [[nodiscard]] bool records() const { return used_ != nullptr; }
  /// Does nothing where nobody records, or the parameter was recorded before.
  void record(const std::string& name, const Learned& value) const {
    if (used_ != nullptr) used_->try_emplace(name, value);
  }

 private:
  const Calibration* calibration_;
  ParametersUsed* used_;
};

/// Error at best of a parameter from another machine of this GPU's generation: standard deviation of its
/// logarithm. source: assumed; bases and block rates of V100, A100 and GH200, each fitted by itself, differ by 1.2
/// to 2.5 (docs/accuracy.md)
inline constexpr double kOtherMachine = 0.4;  // source: above
/// The same where the GPUs have the same compute capability. source: what a pair of H100 takes for nine operations,
/// over what a pair of H200 takes: 0.99 to 1.07 for 90 % of 144 calls, 0.97 to 1.11 for all (docs/collectives.md)
inline constexpr double kSameCapability = 0.1;  // source: above, and some more for other boxes

/// Value and spread of a library's parameter in a forecast: the first that the calibration has of this version, of all
/// versions, of the nearest version that was measured (with a wider spread); else the prior. Records the
/// look-up. @param library  "nccl-2.8"
Learned learned(const LibraryParameters& parameters, const std::string& library, const LibraryRow& row,
                const Prior& prior);
/// With the prior of the row. @throws InvariantError  it has none
Learned learned(const LibraryParameters& parameters, const std::string& library, const LibraryRow& row);

/// Scatter that comes on top of the parameters' errors and of the fit's own scatter.
struct LeftOut {
  std::string learned_from;  ///< collectives, or bench: linkcast-bench's own runs of each protocol
  Scatter scatter;  ///< transport: left_out.nccl, left_out.nccl_network, left_out.mpi, ..., left_out.mpi_nodes_doubled
};

/// Reads schema "left-out/1". @throws InputError
std::vector<LeftOut> read_left_out(const std::string& path);
/// Those of a machine. @param bench  linkcast-bench ran collectives on it
std::vector<Scatter> scatter_left_out(const std::vector<LeftOut>& rows, bool bench);

}  // namespace linkcast
