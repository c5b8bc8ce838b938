#pragma once
// Names of collectives and types in PyTorch's c10d, in Kineto's timelines and in execution traces.
#include <optional>
#include <string>

#include "sim/records/trace.hpp"

namespace linkcast {

/// As `linkcast list collectives`, or send or recv; nullopt of a name that is none of both files' common ones.
std::optional<std::string> c10d_operation(const std::string& name);
/// Kind of event that a call of this name is in a trace: kSend of "send", kRecv of "recv", else kCollective.
TraceKind kind_of_call(const std::string& op);
/// Bytes of an element; nullopt of a type that is not known.
std::optional<double> c10d_element_B(const std::string& dtype);

}  // namespace linkcast
