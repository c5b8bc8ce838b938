#pragma once
// A benchmark's output, and what it says of the machine.
#include <map>
#include <set>
#include <string>
#include <vector>

#include "sim/machine/platform.hpp"
#include "sim/records/measurement.hpp"

namespace linkcast::diagnosis {

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
  std::set<std::string> hosts;       ///< nodes as printed; empty: not printed
  std::string left_out;              ///< what is not compared, and why; empty: nothing
  std::map<int, std::string> buses;  ///< of the first node: number of the device -> its PCI bus as printed, 0x3b
};

/// Format of a file by words that each program prints and the others do not: a format of import, or measurement; empty:
/// none is known.
std::string log_format(const std::string& path);

/// A measurement goes through the strict reader, whatever it was imported from.
/// @param topology  whose GPUs the file's are
DiagnosedLog read_log(const LogFormat& format, const std::string& topology, const std::string& path);

/// A file, or its runs on some nodes where it holds runs on several sets of them.
struct LogPart {
  std::string path, name;  ///< name: "pairs.log (node1 node2)"
  LogFormat format;
};
std::vector<LogPart> parts_of_log(const LogFormat& format, const std::string& path);

/// @throws InputError  the log is of other GPUs than the platform's
void check_gpus(const DiagnosedLog& log, const Platform& platform, const std::string& name);

/// Facts that the log states of who ran what: keys gpus, library, library_version, launch, nodes, nvls, left_out, each
/// where it is said.
Json facts_of(const DiagnosedLog& log);
/// The same in one line; empty where it says nothing.
std::string facts_text(const Json& facts);
/// "gpu3 is device [0x3b] of the log", and which GPU the platform has there if it knows; empty: no bus is printed.
std::string bus_text(const DiagnosedLog& log, const Platform& platform, const std::string& part);
/// Which library's times are expected, and why; empty where nothing names one.
std::string library_text(const LogFormat& format, const DiagnosedLog& log);

}  // namespace linkcast::diagnosis
