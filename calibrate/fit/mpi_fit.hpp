#pragma once
// What processes of an MPI library pay for messages and copies, where a measurement shows it directly.
#include <vector>

#include "calibrate/fit/fit_context.hpp"

namespace linkcast::fit {

/// Of points of several messages or copies (MeasuredPoint::pairs, in_a_row):
/// mpi.host@LIB.post_s, mpi.gpu@LIB.post_s  one process sends n messages one after the other
/// mpi.host@LIB.nics                        many pairs of processes of one socket against one
/// mpi.staging.copy_s                       all GPUs of a node copy to or from host memory at once
/// and of any measurement of an MPI library that names its version, mpi.library@LIB.version.
/// @source  Gropp, Olson, Samfass: Modeling MPI Communication Performance on SMP Nodes, EuroMPI 2016
void fit_processes(FitContext& context, const std::vector<Measurement>& measurements);

}  // namespace linkcast::fit
