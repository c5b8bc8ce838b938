#pragma once
// Output of p2pBandwidthLatencyTest, text tables.
#include <string>
#include <vector>

#include "calibrate/import/matrix_table.hpp"

namespace linkcast {

/// One matrix of figures.
struct P2pMatrix {
  bool latency = false, bidirectional = false, peer_on = false;
  std::string way;  ///< Writes or Reads, as the title says; empty: it does not say
  MatrixTable table;
};

/// One run of the program.
struct P2pRun {
  std::vector<std::string> gpus;          ///< names, by printed number; empty: not printed
  int devices = 0;                        ///< where no name is printed: as many as the first matrix has
  std::vector<std::vector<bool>> access;  ///< [row][column]: the program may enable peer access; empty: not printed
  std::vector<P2pMatrix> matrices;
  std::vector<std::string> missing{};  ///< kinds of matrices that the program prints and the file lacks
  [[nodiscard]] int size() const { return gpus.empty() ? devices : static_cast<int>(gpus.size()); }
  bool cpu_times = false;               ///< CPU matrices were there and are not kept
  [[nodiscard]] bool says_way() const;  ///< a program that offers writes and reads, since about CUDA 10
};

/// The runs in a file; what stands around them is passed over.
/// @throws InputError  no matrix, or one that is not whole
std::vector<P2pRun> read_p2p_runs(TextFile& file);

}  // namespace linkcast
