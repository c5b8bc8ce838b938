#pragma once
// Training as paper 003 describes it (section 3): the images of a batch are divided among the GPUs, and at the end of
// each iteration an all_reduce makes the parameters equal. What Caffe does besides: the next batch is copied to the
// GPUs meanwhile, and the CPU launches layer by layer.
#include "apps-traces/generators/cnn_networks.hpp"
#include "sim/machine/trace_source.hpp"

namespace linkcast {

std::vector<TraceOption> cnn_options(int batch);
/// @param batch  images of an iteration, all GPUs together, where no option says. @throws InputError
void write_cnn(const Cnn& net, int batch, const TraceOptions& options, TraceSink& sink);

}  // namespace linkcast
