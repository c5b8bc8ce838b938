#pragma once
// Comma-separated values as in RFC 4180.
#include <string>
#include <vector>

#include "calibrate/import/text_file.hpp"

namespace linkcast {

struct CsvRow {
  int line = 0;  ///< where it starts
  std::vector<std::string> cells;
};

/// All rows; every row has as many cells as the first; lines without a character are dropped, so are blanks around
/// cells that have no quotes.
/// @throws InputError  with the line: ragged, a quote that does not end, or text behind a closing quote
std::vector<CsvRow> read_csv(const TextFile& file);

}  // namespace linkcast
