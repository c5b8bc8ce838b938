#pragma once
// A dump of torch.distributed's flight recorder: the last collectives and messages of one rank.
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "sim/records/trace.hpp"

namespace linkcast::flight {

inline constexpr std::string_view kCompleted = "completed";

/// A call of one rank.
struct Entry {
  std::string place;          ///< file and pointer
  std::string op;             ///< as `linkcast list collectives`; send or recv; empty: the end of a group of calls
  std::string group;          ///< name of the process group
  std::int64_t sequence = 0;  ///< of collectives, or of messages: one number for calls that were coalesced
  TraceKind kind = TraceKind::kCollective;
  [[nodiscard]] bool message() const { return kind != TraceKind::kCollective; }
  int peer = -1;  ///< message: in the group
  double in_B = 0, out_B = 0;
  std::int64_t created_ns = 0;
  std::optional<double> duration_s{};  ///< on the GPU, where it was timed
  std::string state;                   ///< scheduled, started or completed
  [[nodiscard]] bool completed() const { return state == kCompleted; }
};

struct Dump {
  std::string file, version;
  std::map<std::string, std::vector<int>> groups;  ///< process groups that list their ranks, by name
  std::vector<Entry> entries;                      ///< in the order of calls
  int markers = 0;                                 ///< entries that only end a group of calls, not among them
};

/// Pickle or JSON, packed by gzip or not. @throws InputError  file and pointer, or byte
Dump read_dump(const std::string& path);

}  // namespace linkcast::flight
