#pragma once
// Pages of help on what importers and generators of traces take.
#include <string>
#include <vector>

namespace linkcast::cli {

/// Of one format of `import`; empty: there is none of that name.
std::string format_page(const std::string& name);
/// Of one application of `trace`; empty: there is none of that name.
std::string application_page(const std::string& name);
/// All of them.
std::string formats_page();
std::string applications_page();
/// Names, as a help lists them: "Formats: csv, ..."
std::string format_names();
std::string application_names();

}  // namespace linkcast::cli
