#pragma once
#include <map>
#include <memory>
#include <string>

#include "sim/records/trace.hpp"

namespace linkcast {

/// Is this the name of an application that a generator describes?
bool is_application(const std::string& name);

/// The trace of an application, generated into memory, or a file.
/// @param name     of an application, else of a file
/// @param options  of the application, by key
/// @throws InputError  options that the application does not take, or options of a file
std::unique_ptr<TraceReader> open_trace(const std::string& name, const std::map<std::string, std::string>& options);

}  // namespace linkcast
