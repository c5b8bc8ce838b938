#pragma once
#include <memory>
#include <string>
#include <vector>

#include "sim/records/trace.hpp"

namespace linkcast::replay {

/// Reads a trace file rank by rank, where the events of a rank lie together: a replay wants those of all ranks at once,
/// and would have to keep most of such a file.
class RankReaders {
 public:
  /// @param path   a trace whose header was read
  /// @param before  how many events of each rank that are left out: its first ones
  /// @returns  null where the file cannot be read so, or ranks take turns in it, which makes it no use
  static std::unique_ptr<RankReaders> open(const std::string& path, const std::vector<long>& before);

  /// @param event  whatever it was. @returns  false after the rank's last
  /// @throws InputError  the first thing that is wrong with the file, as whoever reads it from its beginning finds it
  bool next(int rank, TraceEvent& event);

 private:
  explicit RankReaders(std::string path) : path_(std::move(path)) {}
  [[noreturn]] void fail() const;

  std::string path_;
  std::vector<std::unique_ptr<TraceReader>> readers_{};  ///< by rank
};

}  // namespace linkcast::replay
