#pragma once
// Standard error: lines of the log, and on a terminal one line below them that says how far the work is.
#include <spdlog/sinks/base_sink.h>

#include <memory>
#include <mutex>
#include <string>

namespace linkcast::cli {

/// Where every logger writes. The status line is taken away for each line of the log and put back below it.
class Console final : public spdlog::sinks::base_sink<std::mutex> {
 public:
  Console();
  [[nodiscard]] bool terminal() const { return terminal_; }
  /// @param text  one line; empty: none
  void status(const std::string& text);
  /// The same from another thread, where nobody else shows one.
  void beat(const std::string& text);

 private:
  void sink_it_(const spdlog::details::log_msg& message) override;
  void flush_() override {}
  void put(const std::string& text) const;

  bool terminal_;
  std::string status_;
  bool beating_ = false;  ///< the status is that of beat()
};

/// Sets up spdlog: all rooms write to the console that it gives back.
/// Without -v or --quiet: notes as they are, "warning: ..."; no time stamps. With -v also "[0.012 s] room: ...".
/// The environment's LINKCAST_LOG says levels as spdlog does: "debug", "off,replay=trace".
/// @param verbose  how many -v. @throws InputError  LINKCAST_LOG has no such level
std::shared_ptr<Console> set_up_log(int verbose, bool quiet);

}  // namespace linkcast::cli
