#pragma once
// Files against forecasts: measurements, and what a benchmark printed.
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "sim/machine/platform.hpp"
#include "sim/records/measurement.hpp"
#include "validate/compare.hpp"
#include "validate/diagnosis/diagnose.hpp"
#include "validate/diagnosis/log.hpp"

namespace linkcast::diagnosis {

// Measurement files against forecasts: `linkcast validate --against`, and linkcast.validate(against=) of Python.

struct CompareRequest {
  std::vector<std::string> files;    ///< of schema measurement/1
  std::string platform{};            ///< empty: of the topology of each measurement
  std::vector<std::string> edits{};  ///< of the platform
  validate::CompareLimits limits{};
};

/// @param each  gets every comparison as soon as it is known; may be empty
/// @throws InputError  a file that cannot be read, and what makes a measurement of it where a benchmark printed it; no
/// point of any file can be forecast
std::vector<validate::Comparison> compare_files(catalogue::Catalogue& catalogue, const CompareRequest& request,
                                                const std::function<void(const validate::Comparison&)>& each = {});

struct LogRequest {
  std::vector<std::string> files;
  std::string platform{};            ///< id without edits that the logs should be like; empty: found by what a log says
  std::vector<std::string> edits{};  ///< of the machine that is expected
  std::vector<std::string> baseline{};  ///< logs of other machines of the kind, or one of before
  LogFormat format{};
  bool force = false;  ///< compare though a file names other GPUs than the platform has
};

/// One log beside the forecasts of the platform.
struct DiagnosedFile {
  std::string path;
  Json facts;  ///< of facts_of()
  Bench bench;
  Diagnosis found;
  std::string bus, library;  ///< of bus_text() and library_text()
  std::string platform{};    ///< id without edits
  std::string chosen{};      ///< why this platform, where the log itself decided
  std::string network{};     ///< between nodes, which the log does not show
};
/// @throws InputError  no such platform, library or format; a file that cannot be read, of other GPUs, or without a
/// point that can be forecast
/// @throws UndecidedPlatform  no platform is given, and none or several of those shipped fit
DiagnosedFile diagnose_file(catalogue::Catalogue& catalogue, const LogRequest& request, const std::string& path);

/// to_json(Diagnosis) with keys file and log.
Json to_json(const DiagnosedFile& file);

// Diagnoses as people read them.

/// Verdict, causes, the points; each line with its end.
std::string text_of(const DiagnosedFile& file);
/// Table of causes, and what the log leaves open; nothing of none.
std::string causes_text(const std::vector<RankedKind>& kinds, bool of_collectives);

}  // namespace linkcast::diagnosis
