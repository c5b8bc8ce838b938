#pragma once
// Benchmark logs to diagnoses: `linkcast diagnose`, and linkcast.diagnose() of Python.
#include <functional>
#include <map>
#include <string>
#include <vector>

#include "validate/compare.hpp"
#include "validate/diagnosis/benchmark_log.hpp"
#include "validate/diagnosis/fleet.hpp"

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
  std::string platform{};               ///< id without edits that the logs should be like; empty: `baseline` alone
  std::vector<std::string> edits{};     ///< of the machine that is expected
  std::vector<std::string> baseline{};  ///< logs of other machines of the kind; empty: files are judged by forecasts
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
};
/// @throws InputError  no such platform, library or format; a file that cannot be read, of other GPUs, or without a
/// point that can be forecast
DiagnosedFile diagnose_file(catalogue::Catalogue& catalogue, const LogRequest& request, const std::string& path);

/// All logs, baseline included, beside each other.
struct DiagnosedFleet {
  std::vector<FleetMember> members;
  std::map<std::string, Ranking> causes;  ///< by log, of those that are slow, where a platform is named
  [[nodiscard]] bool normal() const;
};
/// @throws InputError  as diagnose_file(); fewer than three logs, or nothing that three have in common
DiagnosedFleet diagnose_fleet(catalogue::Catalogue& catalogue, const LogRequest& request);

/// to_json(Diagnosis) with keys file and log.
Json to_json(const DiagnosedFile& file);
/// A row a log; causes where they are known.
Json to_json(const DiagnosedFleet& fleet);

// Diagnoses as people read them.

/// Verdict, causes, points that tell most; each line with its end.
std::string text_of(const DiagnosedFile& file);
std::string text_of(const DiagnosedFleet& fleet);

}  // namespace linkcast::diagnosis
