#pragma once
// The convolutional networks of paper 003 (N. A. Gawande et al., On-Node GPU Interconnects for Deep Learning, 2017) and
// of Tartan's ConvNet2, layer by layer.
#include <string>
#include <vector>

#include "sim/machine/trace_source.hpp"

namespace linkcast {
/// Figures of one image.
struct CnnLayer {
  std::string name;
  double multiply_adds = 0;  ///< of the forward pass
  double parameters = 0;
  double activations = 0;  ///< values of all its blobs
};

struct Cnn {
  std::string name;
  std::vector<CnnLayer> layers;
  double input_values = 0;         ///< values of one image as the network gets it
  double printed_parameters = 0;   ///< what is reduced; 0: those of the layers
  double multiply_adds_per_s = 0;  ///< that a P100 at 1227 MHz attains, forward and backward

  [[nodiscard]] double parameters() const;
  [[nodiscard]] double activations() const;  ///< with the input and the loss
  [[nodiscard]] double multiply_adds() const;
};

Cnn alexnet();
Cnn googlenet();
/// CIFAR-10 with locally connected layers, "11 %", images cut to 24 x 24.
Cnn cifar_local();
/// @param blocks  x of ResNet/x
Cnn resnet_x(int blocks);

// Training as paper 003 describes it (section 3): the images of a batch are divided among the GPUs, and at the end of
// each iteration an all_reduce makes the parameters equal. What Caffe does besides: the next batch is copied to the
// GPUs meanwhile, and the CPU launches layer by layer.

std::vector<TraceOption> cnn_options(int batch);
/// @param batch  images of an iteration, all GPUs together, where no option says. @throws InputError
void write_cnn(const Cnn& net, int batch, const TraceOptions& options, TraceSink& sink);

}  // namespace linkcast
