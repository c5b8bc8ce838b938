#pragma once
#include <unistd.h>

#include <filesystem>
#include <string>

namespace linkcast::test {

/// A folder of this process, removed at the end of the scope.
class ScratchFolder {
 public:
  ScratchFolder()
      : path_(std::filesystem::temp_directory_path() /
              ("linkcast-test-" + std::to_string(::getpid()) + "-" + number())) {
    std::filesystem::create_directories(path_);
  }
  ScratchFolder(const ScratchFolder&) = delete;
  ScratchFolder& operator=(const ScratchFolder&) = delete;
  ~ScratchFolder() { std::filesystem::remove_all(path_); }
  [[nodiscard]] std::filesystem::path operator/(const std::string& name) const { return path_ / name; }

 private:
  static std::string number() {
    static int count = 0;
    return std::to_string(count++);
  }
  std::filesystem::path path_;
};

}  // namespace linkcast::test
