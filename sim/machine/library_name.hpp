#pragma once
// Names of communication libraries as people have them: "nccl", "nccl-2.28.9", "2.21.5", "22809", "RCCL 2.22.3+hip6.4".
#include <string>
#include <string_view>

namespace linkcast {

/// The registered library that a name stands for: the version of NCCL, or of RCCL where the name says so, that is
/// nearest to a number, the newest one for "nccl" alone. A number far beyond the newest version is none.
/// @returns  empty: it stands for none, or is a registered name itself
std::string library_meant(std::string_view name);

/// The name itself where it is registered, else what it stands for. @returns  the name where it stands for none
std::string registered_library(const std::string& name);

/// Registered library of the version that NCCL prints, "2.28.9". @returns  empty where it prints none
std::string registered_nccl(const std::string& version);

/// "library: nccl-2.28.9 is forecast as nccl-2.27, ..."
std::string library_meant_text(const std::string& key, std::string_view name, const std::string& meant);

}  // namespace linkcast
