#pragma once
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "sim/records/trace.hpp"

namespace linkcast::catalogue {

/// A trace that comes with linkcast.
struct ShippedTrace {
  std::string name;  ///< of the file, without .jsonl
  std::string path;
};

/// Sorted by name. @param data_dir  of the catalogue
std::vector<ShippedTrace> shipped_traces(const std::string& data_dir);

/// The file, or the shipped one of that name. @throws InputError  neither
std::string trace_path(const std::string& data_dir, const std::string& name);

/// A trace by name: a file, one that is shipped, or that of an application, generated into memory.
/// @param options  of the application, by key
/// @throws InputError  none of these; options that the application does not take, or of what is no application
std::unique_ptr<TraceReader> open_trace(const std::string& data_dir, const std::string& name,
                                        const std::map<std::string, std::string>& options);

/// A trace that is in memory. @param name  stands for a file in errors
std::unique_ptr<TraceReader> open_text(const std::string& text, const std::string& name);

}  // namespace linkcast::catalogue
