#pragma once
// Other tools' files to records and traces: `linkcast import`, and linkcast.import_() of Python.
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "calibrate/import/importer.hpp"
#include "sim/machine/catalogue.hpp"

namespace linkcast::pipelines {

/// One line on how files were read: assumptions, counts, parts left out.
struct Note {
  std::string text;
  bool warning = false;
};

/// Formats of records, then those of traces.
std::vector<std::string> import_formats();
/// Whether a format gives a trace, not a record.
bool gives_trace(const std::string& format);

struct ImportedRecord {
  Json record;  ///< schema measurement/1, topology/1 or node-groups/1
  std::vector<Note> notes;
};

/// @param request  its topology may also be a topology file, or a calibration file that has one
/// @throws InputError  a format of no record, files that cannot be read, GPUs that the topology does not have
ImportedRecord import_measured(catalogue::Catalogue& catalogue, const std::string& format, ImportRequest request);

/// Imports a recording as a trace, piece by piece. Options that a fitted parameter stands in for come from the machine
/// that option `machine` names, else from the one whose hosts were measured. Where the recording says what a step takes
/// without recording, host_scale of the header is fitted on that machine, with option `edits`, so that a step takes
/// that: the trace then is kept in memory until it is fitted.
/// @param request  neither machine nor topology: a trace is of no machine
/// @param write  gets whole lines of the trace, in order
/// @throws InputError  files that cannot be read, options that the format does not take, a host that cannot be fitted
std::vector<Note> import_trace(catalogue::Catalogue& catalogue, const std::string& format, const ImportRequest& request,
                               const std::function<void(std::string_view)>& write);

/// Writes a trace again with a host_scale at which a step without any exchange takes what was measured.
/// @param trace  file with step markers, or a shipped one by its name. @param step_s  > 0, without recording
/// @returns  host_scale. @throws InputError  as replay::fit_host_scale()
double fit_recorded_host(catalogue::Catalogue& catalogue, const std::string& trace, const std::string& platform,
                         double step_s, const std::function<void(std::string_view)>& write);

}  // namespace linkcast::pipelines
