#pragma once
// Matrices of devices as text: a line of column numbers, then one line a row that starts with its number.
#include <string>
#include <vector>

#include "calibrate/import/text_file.hpp"

namespace linkcast {

struct MatrixTable {
  int columns = 0;
  std::vector<std::vector<std::string>> cells;  ///< as printed, one list a row
  std::vector<int> lines;                       ///< where each row stands

  [[nodiscard]] int rows() const { return static_cast<int>(cells.size()); }
};

/// Reads the matrix that starts at the current line and leaves the file behind it. Rows and columns count from 0.
/// @param corner  the word before the column numbers, e.g. D\D; empty if there is none
/// @param name  what the matrix is, for errors
/// @throws InputError  ragged, out of order, or nothing
MatrixTable read_matrix(TextFile& file, const std::string& corner, const std::string& name);

/// A cell above 0, times 10^exponent. @throws InputError  with the line
double positive_cell(const TextFile& file, const MatrixTable& table, int row, int column, int exponent);

}  // namespace linkcast
