#pragma once
// A placement as other programs read it.
#include <string>

#include "sim/base/object_reader.hpp"
#include "sim/machine/platform.hpp"

namespace linkcast::cli {

/// "CUDA_VISIBLE_DEVICES=0,3,1,2": the device of local rank i is number i.
std::string cuda_line(const Json& gpus);
/// Open MPI's rankfile: each rank on the cores of the socket that its GPU hangs on.
/// @source  Open MPI 4.1, mpirun(1), Rankfiles: rank N=HOST slot=SOCKET:CORES
std::string rankfile(const Json& gpus, const Platform& platform, const std::string& host);

}  // namespace linkcast::cli
