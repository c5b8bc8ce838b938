#pragma once
// Slurm's syntax for many names: "n[1-4,07-10]", "rack[0-1]n[0-3]", "a,b".
#include <stdexcept>
#include <string>
#include <vector>

namespace linkcast {

/// What is wrong with a list; who reads it knows file and line.
struct HostlistError : std::runtime_error {
  using std::runtime_error::runtime_error;
};

inline constexpr std::size_t kMostHosts = 100000;  // ours: above any machine, and far below what fills a memory

/// In the order written; of several brackets the last one runs fastest. Zeros in front of the first number of a range
/// are kept. @throws HostlistError
/// @source  Slurm, scontrol(1) show hostnames; slurm.conf(5), NodeName
std::vector<std::string> expand_hostlist(const std::string& text);

}  // namespace linkcast
