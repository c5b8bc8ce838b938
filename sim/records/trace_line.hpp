#pragma once
#include <memory>
#include <string_view>

#include "sim/records/trace.hpp"

namespace linkcast {

/// Reads lines of a trace in one pass, for speed.
class TraceLine {
 public:
  TraceLine();
  TraceLine(const TraceLine&) = delete;
  TraceLine& operator=(const TraceLine&) = delete;
  ~TraceLine();

  /// @param text  64 more bytes behind it can be read. @param last_ids  per rank, updated. @param event  a new one
  /// @returns  false if anything is wrong with the line, or unusual: whoever reads it strictly says what. event is then
  /// half read, last_ids as before
  bool read(std::string_view text, const TraceHeader& header, std::vector<std::int64_t>& last_ids, TraceEvent& event);

 private:
  struct Parser;
  std::unique_ptr<Parser> parser_;
};

}  // namespace linkcast
