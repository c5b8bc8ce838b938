#pragma once
// The convolutional networks of paper 003 (N. A. Gawande et al., On-Node GPU Interconnects for Deep Learning, 2017),
// layer by layer.
#include <string>
#include <vector>

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
/// @param blocks  x of ResNet/x
Cnn resnet_x(int blocks);

}  // namespace linkcast
