#pragma once
// Measurement files to the calibration of a machine: `linkcast calibrate fit`, and linkcast.fit() of Python.
#include <optional>
#include <string>
#include <vector>

#include "calibrate/fit/fit.hpp"
#include "calibrate/learn/collectives.hpp"
#include "sim/machine/catalogue.hpp"

namespace linkcast::pipelines {

struct MachineFit {
  std::vector<std::string> measurements;  ///< files of schema measurement/1 and launch/1; other records are left out
  std::string topology;                   ///< id, topology file, or calibration file with its topology
  std::string name{};                     ///< id of the platform; empty: the topology's
  std::string library{};                  ///< default communication library; empty: that of the GPU's generation
  bool unmeasured = false;                ///< no copy was measured: `inherit` gives every parameter
  std::vector<std::string> only{};        ///< transports whose copies are fitted; empty: all
  /// Calibrations, ids or files, best first, for what these data leave open; "nearest" alone: the shipped machines that
  /// are nearest, at the share of nominal rates; "none" alone: none. Empty: "none" for a shipped topology, else
  /// "nearest"
  std::vector<std::string> inherit{};
  std::vector<std::string> inherit_library{};  ///< the same for what only collectives show of a library
  std::vector<std::string> hold_out{};         ///< learn::Part texts: forecast, not learned from
  std::vector<std::string> leave_out{};        ///< keys: each part that they tell apart is held out in turn
  int bootstrap = 50;  ///< refits on resampled data; a standard error is then known to a tenth: 1 / sqrt(2 (50 - 1))
  bool residuals = false;  ///< fill FittedMachine::residuals
};

/// Forecasts of a part of the collectives that was not learned from.
struct HeldOutPart {
  learn::HeldOut held;
  std::vector<learn::AccuracyRow> rows;
};

struct FittedMachine {
  fit::FitResult fit;                     ///< with the learned parameters; fit::to_json() is the calibration file
  std::optional<learn::Lesson> lesson{};  ///< where named libraries' collectives were measured, and none left out
  std::vector<HeldOutPart> held_out{};    ///< by hold_out or leave_out
  bool scored = false;                    ///< hold_out or leave_out was given
  Json residuals{};                       ///< measured against modelled, point by point
};

/// Fits copies, launches and messages, then learns from collectives; says what it leaves out on the log. Solver: fluid.
/// @throws InputError  a wrong file, data that cannot determine a needed parameter, parts that hold nothing
FittedMachine fit_machine(catalogue::Catalogue& catalogue, const MachineFit& request);

/// Keys held_out, left_out_rows, points: learned from and left out; left_at_prior (calibrate/learn/prior_check.hpp).
Json to_json(const FittedMachine& fitted);

}  // namespace linkcast::pipelines
