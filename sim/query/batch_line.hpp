#pragma once
#include <string>
#include <vector>

#include "sim/base/object_reader.hpp"
#include "sim/machine/catalogue.hpp"
#include "sim/query/query_kind.hpp"

namespace linkcast::query {

/// Figures of an answer for one row of a table: numbers, texts, flags and, as "key.inner", those of its objects. Of
/// answers that list ways or placements the first, the best, and how many there are. Where it comes from is left out.
Json row_of(const Json& answer);

/// How the lines of a batch are asked.
struct BatchOptions {
  std::vector<std::string> edits{};  ///< on top of those of each query
  bool whatif = false;               ///< every answer without and with the edits
  bool rows = false;                 ///< of every answer its row_of(); errors without `name`
};

struct LineAnswer {
  std::string text;     ///< JSON in one line; {id, error} of a line that cannot be answered
  bool failed = false;  ///< it has an error
  bool broken = false;  ///< the error is ours
};

/// Answers one line of a batch; a wrong one costs no other its answer.
/// @param name  stands for the file and the line in errors
/// @param memories  of all lines; null: nothing is remembered
LineAnswer answer_line(catalogue::Catalogue& catalogue, const std::string& line, const std::string& name,
                       const BatchOptions& options = {}, Memories* memories = nullptr);

/// Whether there is nothing to answer in a line.
[[nodiscard]] inline bool is_blank(const std::string& line) {
  return line.find_first_not_of(" \t\r") == std::string::npos;
}

}  // namespace linkcast::query
