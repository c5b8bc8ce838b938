#pragma once
// Fitted parameters of one machine. Written by `linkcast calibrate fit`, never by hand.
#include <map>
#include <optional>
#include <string>
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
};

/// Scatter of measured over modelled time of one transport, or kind of forecast, in one size range.
struct Scatter {
  std::string transport;
  double from_B = 0, to_B = 0;
  double sigma_log = 0;  ///< standard deviation of ln(measured / modelled), robust
  int samples = 0;
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

/// One row of "scatter". @throws InputError
Scatter read_scatter(ObjectReader& row);

/// Reads schema "calibration/1". @throws InputError
Calibration read_calibration(const std::string& path);

}  // namespace linkcast
