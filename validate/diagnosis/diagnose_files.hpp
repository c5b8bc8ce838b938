#pragma once
// Benchmark logs to diagnoses: `linkcast diagnose`, and linkcast.diagnose() of Python.
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "sim/machine/platform.hpp"
#include "sim/records/measurement.hpp"
#include "validate/compare.hpp"
#include "validate/diagnosis/fleet.hpp"

namespace linkcast::diagnosis {

// A benchmark's output, and what it says of the machine.

/// How files are read.
struct LogFormat {
  std::string format{};                          ///< as of import, or measurement; empty: by what a file contains
  std::map<std::string, std::string> options{};  ///< of the format: what the files do not print
  std::string library{};  ///< of the collectives; empty: the nearest known to what the file names, else the platform's
};

struct DiagnosedLog {
  Measurement measurement;
  std::vector<std::string> gpus;     ///< models as printed, each once; empty: not printed
  std::string version;               ///< of the library, as printed: 2.18; empty: not printed
  std::map<int, std::string> buses;  ///< of the first node: number of the device -> its PCI bus as printed, 0x3b
};

/// Format of a file by words that each program prints and the others do not: a format of import, or measurement; empty:
/// none is known.
std::string log_format(const std::string& path);

/// A measurement goes through the strict reader, whatever it was imported from.
/// @param topology  whose GPUs the file's are
DiagnosedLog read_log(const LogFormat& format, const std::string& topology, const std::string& path);

/// @throws InputError  the log is of other GPUs than the platform's
void check_gpus(const DiagnosedLog& log, const Platform& platform, const std::string& name);

/// What the log says of who ran what: keys gpus, library, library_version, launch, nodes, nvls, each where it is said.
Json facts_of(const DiagnosedLog& log);
/// The same in one line; empty where it says nothing.
std::string facts_text(const Json& facts);
/// "gpu3 is device [0x3b] of the log", and which GPU the platform has there if it knows; empty: no bus is printed.
std::string bus_text(const DiagnosedLog& log, const Platform& platform, const std::string& part);
/// Which library's times are expected, and why; empty where nothing names one.
std::string library_text(const LogFormat& format, const DiagnosedLog& log);

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
