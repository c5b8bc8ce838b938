#pragma once
// Tables that the OSU micro-benchmarks print, anywhere in a log.
#include <optional>
#include <string>
#include <vector>

#include "calibrate/import/text_file.hpp"

namespace linkcast {

/// One of the programs.
struct OsuProgram {
  std::string title, name;
  bool latency = false, bidirectional = false, many_pairs = false;
  std::string op = {};    ///< collective: as the schema has it
  bool per_rank = false;  ///< collective: the printed size is that of one rank's part
};

struct OsuRow {
  std::string place;  ///< file and line
  std::string size, value;
};

struct OsuTable {
  const OsuProgram* program = nullptr;
  std::string version;
  std::optional<bool> device_memory;  ///< nothing: not printed
  int pairs = 0, window = 0;          ///< 0: not printed
  std::vector<OsuRow> rows;
};

/// The next table behind the place where the file stands. @returns nothing where no title follows
/// @throws InputError  a program that is not read, a table that is not whole, data that were wrong
std::optional<OsuTable> next_osu_table(TextFile& file);

}  // namespace linkcast
