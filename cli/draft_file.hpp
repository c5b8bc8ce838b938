#pragma once
#include <fstream>
#include <string>

namespace linkcast::cli {

/// A file that is written piece by piece and takes its name only when it is whole; else nothing stays behind.
class DraftFile {
 public:
  /// @param option  names it in errors. @param path  empty or "-": standard output
  /// @throws InputError  it cannot be written
  DraftFile(std::string option, std::string path);
  DraftFile(const DraftFile&) = delete;
  DraftFile& operator=(const DraftFile&) = delete;
  ~DraftFile();

  [[nodiscard]] std::ostream& out();
  /// @throws InputError  disk full
  void check();
  void close();

 private:
  std::string option_, path_, draft_;
  std::ofstream file_;
  bool done_ = false;
};

/// @throws InputError  what is to be written is the file that is read
void refuse_same_file(const std::string& option, const std::string& out, const std::string& input);

}  // namespace linkcast::cli
