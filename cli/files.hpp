#pragma once
#include <CLI/CLI.hpp>
#include <fstream>
#include <map>
#include <string>
#include <vector>

#include "sim/base/object_reader.hpp"
#include "sim/base/progress.hpp"
#include "sim/machine/trace_source.hpp"

namespace linkcast::cli {

// "-" for standard input, and pipes, wherever a file is read.

/// What becomes of a named pipe and of <(command): kept in memory as standard input is, or left to who reads it, once
/// and piece by piece.
enum class Pipes { kKept, kStreamed };

/// Lets the option, or each of its values, be "-". What stands on standard input is kept in memory under a path that
/// can be read as often as needed.
void reads_stdin(CLI::Option* option, Pipes pipes = Pipes::kKept);
/// The same of --platform of every command that has it.
void platforms_read_stdin(CLI::App& app);

/// With such paths written as the command line does, for whoever reads it.
std::string naming_stdin(std::string text);

/// A file that is written piece by piece and takes its name only when it is whole; else nothing stays behind, a kill
/// included where the file system can.
class DraftFile {
 public:
  /// @param option  names it in errors. @param path  empty or "-": standard output
  /// @throws InputError  it cannot be written
  DraftFile(std::string option, std::string path);
  DraftFile(const DraftFile&) = delete;
  DraftFile& operator=(const DraftFile&) = delete;
  ~DraftFile();

  [[nodiscard]] bool is_standard_output() const { return path_.empty(); }
  [[nodiscard]] std::ostream& out();
  /// @throws InputError  disk full
  void check();
  void close();

 private:
  /// @throws InputError  it cannot have its name
  void give_name();

  std::string option_, path_, draft_;
  int nameless_ = -1;  ///< where the file system has files without a name: a kill leaves none behind
  std::ofstream file_;
  bool done_ = false;
};

/// A file that a command writes, and the option that names it. An empty path: it is not written.
struct Output {
  std::string option, path;
};

/// For each command that writes files, before its work. Paths that lead to one file are the same file, written yet or
/// not.
/// @throws InputError  two outputs are one file, or one is a file that is read
void check_outputs(const std::vector<Output>& outputs, const std::vector<std::string>& inputs = {});

/// Writes a trace event by event: to standard output, or to a file that takes its name only when it is whole.
class TraceOut final : public TraceSink {
 public:
  /// @param path  empty or "-": standard output. @throws InputError  it cannot be written
  TraceOut(std::string path, log::Progress& progress);
  void header(const TraceHeader& header) override;
  void event(const TraceEvent& event) override;
  /// @throws InputError  disk full
  void close() { file_.close(); }

 private:
  void write(const std::string& line);

  DraftFile file_;
  log::Work work_;
  std::int64_t events_ = 0;
};

/// A record of a cluster (node-groups/1, or any object with a fabric), or what importers make of Slurm's file and of
/// the output of ibnetdiscover or iblinkinfo. @throws InputError
Json cluster_in(const std::string& path);

/// "key=value" texts of --option. @param command  whose help names the keys. @throws InputError  no "=", or a key twice
std::map<std::string, std::string> key_values(const std::vector<std::string>& texts, const std::string& command);

}  // namespace linkcast::cli
