#pragma once
#include <cstddef>
#include <string>

#include "cli/command.hpp"

namespace linkcast::cli {

/// Lines of a file, of a pipe or of standard input. Ctrl-C ends the wait for the next one.
class Lines {
 public:
  /// @param option  that names the file, for errors. @param path  "-": standard input
  /// @throws InputError  it cannot be read
  Lines(std::string option, std::string path);
  Lines(const Lines&) = delete;
  Lines& operator=(const Lines&) = delete;
  ~Lines();

  /// Whoever writes a line may wait for its answer: no file that lies on a disk.
  [[nodiscard]] bool live() const { return live_; }
  /// The next one is there without waiting.
  [[nodiscard]] bool has_next() const { return text_.find('\n', begin_) != std::string::npos; }
  /// @returns  false at the end. @throws work::Stopped  InputError  it cannot be read any more
  bool next(std::string& line);

 private:
  void wait() const;
  bool read_more();

  std::string option_, path_;
  int file_ = -1;
  bool live_ = false, ended_ = false;
  std::string text_{};  ///< read and not handed out, from begin_ on
  std::size_t begin_ = 0;
};

/// One line in, one line out, same order; a bad line gives an error object and the batch goes on.
/// @param path  of JSON queries, one a line; "-": standard input. @param rows  what goes into a table's row alone
/// @param jobs  threads, each with memories of its own
/// @throws InputError  the file cannot be read. @throws work::Stopped  after it was told how to go on
void run_batch(Context& context, const std::string& path, bool rows, int jobs);

}  // namespace linkcast::cli
