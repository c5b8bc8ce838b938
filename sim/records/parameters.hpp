#pragma once
// Every parameter that a calibration may have. A new one is a row of parameters.cpp: which names and units are read,
// what `show` says and which links may stand for each other follow from it.
#include <limits>
#include <string>
#include <vector>

namespace linkcast {

/// What there is one value of. A parameter of cables may be given for a kind ("cable.pcie3.") and, stronger, for one
/// cable ("cable.pcie3@gpu0-plx0."); one of links for one direction of a cable ("link.gpu0->plx0.") above both.
enum class ParameterOf {
  kCable,
  kLink,
  kRegime,
  kTransport,
  kEngine,
  kLibrary,
  kNoise,
  kLaunch,
  kRecording,
  kHostMemory
};

struct ParameterKind {
  ParameterOf of;
  std::string what;                                        ///< last part of the name: "bandwidth_Bps"
  std::string unit;                                        ///< s, B, B/s or 1
  std::string meaning;                                     ///< one line, with the state where it was not measured
  std::string subject = "";                                ///< the one transport that has it; empty: any
  bool addable = false;                                    ///< an edit may set it where no calibration has it
  double below = std::numeric_limits<double>::infinity();  ///< values must be below
};

const std::vector<ParameterKind>& parameter_kinds();

/// "cable.nvlink2@gpu0-gpu1.bandwidth_Bps" is head "cable", subject "nvlink2@gpu0-gpu1", what "bandwidth_Bps".
struct ParameterName {
  std::string head, subject, what;
  explicit ParameterName(const std::string& name);
};

/// @returns nullptr  no parameter may be called so, whatever the machine
const ParameterKind* find_parameter_kind(const std::string& name);
/// Whether some parameter's name begins so: "cable", "nccl", ...
bool is_parameter_head(const std::string& head);
/// @throws InputError  the head of the name is known, but not what follows. @param file  of the calibration
void check_parameter_name(const std::string& file, const std::string& name);

}  // namespace linkcast
