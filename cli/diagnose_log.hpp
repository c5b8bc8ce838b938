#pragma once
// A benchmark's output, and what it says of the machine.
#include <optional>
#include <string>
#include <vector>

#include "cli/command.hpp"
#include "sim/records/measurement.hpp"

namespace linkcast::cli {

struct DiagnoseOptions {
  std::vector<std::string> files, options, baseline;
  std::string platform, format, library;
  bool force = false;
};

struct DiagnosedLog {
  Measurement measurement;
  std::vector<std::string> gpus;  ///< models as printed, each once; empty: not printed
};

/// A measurement goes through the strict reader, whatever it was imported from.
/// @param topology  whose GPUs the file's are
DiagnosedLog read_log(const DiagnoseOptions& options, const std::string& topology, const std::string& path);

/// @throws InputError  the log is of other GPUs than the platform's
void check_gpus(const DiagnosedLog& log, const Platform& platform, const std::string& name);

/// What the log says of who ran what: keys gpus, library, library_version, launch, nodes, nvls, each where it is said.
Json facts_of(const DiagnosedLog& log);
/// The same in one line; empty where it says nothing.
std::string facts_text(const Json& facts);
/// Which library's times are expected, and why; empty where nothing names one.
std::string library_text(const DiagnoseOptions& options, const DiagnosedLog& log);

}  // namespace linkcast::cli
