#include "sim/cli/shipped_traces.hpp"

#include <algorithm>
#include <filesystem>

#include "sim/plugin/trace_source.hpp"

namespace linkcast::cli {

std::vector<ShippedTrace> shipped_traces(const std::string& data_dir) {
  const std::filesystem::path folder = std::filesystem::path(data_dir) / "apps-traces" / "samples";
  std::vector<ShippedTrace> traces;
  if (!std::filesystem::is_directory(folder)) return traces;
  for (const auto& entry : std::filesystem::directory_iterator(folder))
    if (entry.path().extension() == ".jsonl") traces.push_back({entry.path().stem().string(), entry.path().string()});
  std::sort(traces.begin(), traces.end(), [](const auto& a, const auto& b) { return a.name < b.name; });
  return traces;
}

std::string trace_path(const std::string& data_dir, const std::string& trace) {
  if (std::filesystem::exists(trace)) return trace;
  std::string names;
  for (const ShippedTrace& shipped : shipped_traces(data_dir)) {
    if (shipped.name == trace) return shipped.path;
    names += (names.empty() ? "" : ", ") + shipped.name;
  }
  for (const PluginInfo& application : trace_generators().list())
    if (application.name == trace)
      throw InputError("trace: '" + trace + "' is an application, whose trace 'linkcast trace " + trace + "' writes");
  throw InputError("trace: '" + trace + "' is no file and no shipped trace" +
                   (names.empty() ? ", of which there is none" : ": one of " + names));
}

}  // namespace linkcast::cli
