#pragma once
#include <map>
#include <string>
#include <vector>

#include "cli/draft_file.hpp"
#include "sim/base/progress.hpp"
#include "sim/machine/trace_source.hpp"

namespace linkcast::cli {

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

/// "key=value" texts of --option. @param command  whose help names the keys. @throws InputError  no "=", or a key twice
std::map<std::string, std::string> key_values(const std::vector<std::string>& texts, const std::string& command);

}  // namespace linkcast::cli
