#pragma once
// What Slurm says of its nodes, in a file that somebody writes again and again.
#include <filesystem>
#include <memory>
#include <mutex>
#include <string>

#include "sim/place/slurm.hpp"

namespace linkcast::serve {

/// Several threads may use it at once.
class SlurmFile {
 public:
  /// @param file  empty: there is none, and no nodes. @throws InputError  as nodes()
  explicit SlurmFile(std::string file);
  /// As the file says now: read again when it has changed. @throws InputError  it cannot be read, or no longer
  std::shared_ptr<const placement::SlurmNodes> nodes();

 private:
  std::string file_;
  std::mutex mutex_;
  std::filesystem::file_time_type written_{};
  std::uintmax_t size_B_ = 0;
  std::shared_ptr<const placement::SlurmNodes> nodes_;
};

}  // namespace linkcast::serve
