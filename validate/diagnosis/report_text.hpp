#pragma once
// Diagnoses as people read them.
#include <string>

#include "validate/diagnosis/diagnose_files.hpp"

namespace linkcast::diagnosis {

/// Verdict, causes, points that tell most; each line with its end.
std::string text_of(const DiagnosedFile& file);
std::string text_of(const DiagnosedFleet& fleet);

}  // namespace linkcast::diagnosis
