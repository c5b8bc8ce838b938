#pragma once
// Recordings of ranks, whatever tool made them, written as a trace.
#include <string>
#include <vector>

#include "apps-traces/import/kineto_file.hpp"
#include "sim/machine/trace_source.hpp"

namespace linkcast::kineto {

/// Recording program.
struct RecordingTool {
  std::string name, source;          ///< of the trace, unless options say them
  std::vector<std::string> notes{};  ///< what the tool did not say
};

/// Options of any recording. @param name  of the trace where nobody says it
std::vector<TraceOption> recording_options(const std::string& name);
/// One rank of many, the others taken alike: its groups are all ranks of a replay; messages, whose other end is not
/// there, are left out.
void take_alone(RankRecording& recording);
/// @param ranks  in order, each once. @throws InputError  an option
void write_recordings(const RecordingTool& tool, std::vector<RankRecording> ranks, const TraceOptions& given,
                      TraceSink& sink);

}  // namespace linkcast::kineto
