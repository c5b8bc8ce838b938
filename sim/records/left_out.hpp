#pragma once
// What forecasts of collectives were off by where the data were left out of the fit. Written by
// calibrate/data/left_out.py.
#include <string>
#include <vector>

#include "sim/records/calibration.hpp"

namespace linkcast {

/// Scatter that comes on top of the parameters' errors and of the fit's own scatter.
struct LeftOut {
  std::string learned_from;  ///< collectives, or bench: linkcast-bench's own runs of each protocol
  Scatter scatter;  ///< transport: left_out.nccl, left_out.nccl_network, left_out.mpi, ..., left_out.nodes_doubled
};

/// Reads schema "left-out/1". @throws InputError
std::vector<LeftOut> read_left_out(const std::string& path);
/// Those of a machine. @param bench  linkcast-bench ran collectives on it
std::vector<Scatter> scatter_left_out(const std::vector<LeftOut>& rows, bool bench);

}  // namespace linkcast
