#pragma once
// The machine that a trace was recorded on: it lends an import what its calibration knows, and the host is fitted on
// it.
#include <map>
#include <string>
#include <vector>

#include "cli/command.hpp"
#include "sim/plugin/trace_source.hpp"

namespace linkcast::cli {

/// Adds the options that a fitted parameter stands in for and that are not given: of the machine that option `machine`
/// names, else, and where it has none, of the machine whose hosts were measured. `lender` says whose they
/// are. Nothing for importers without such options.
/// @throws InputError  no such platform
void lend_parameters(Context& context, const std::vector<TraceOption>& known,
                     std::map<std::string, std::string>& options);

/// Imports a recording. If its header says what a step takes without recording, host_scale is fitted on the machine
/// with its edits so that a step takes that, and a note says so.
/// @param options  with what the machine lends. @throws InputError  the host cannot be fitted, or the trace not written
void import_recorded(Context& context, const TraceImporter& importer, const std::vector<std::string>& files,
                     const std::map<std::string, std::string>& options, const std::string& out);

}  // namespace linkcast::cli
