#pragma once
// Text of `nvidia-smi -L` and `nvidia-smi nvlink -s`.
#include <string>
#include <vector>

namespace linkcast::topology_import {

struct SmiGpu {
  std::string model;
  std::string uuid;               ///< empty: not of the form GPU-...
  std::vector<double> link_GBps;  ///< active links, as printed
};

struct SmiList {
  std::string file;
  std::string command;       ///< nvidia-smi -L or nvidia-smi nvlink -s
  bool has_links = false;    ///< nvlink -s: what it does not list is not there
  std::vector<SmiGpu> gpus;  ///< in number order
};

/// @throws InputError  on any line that neither command prints
SmiList read_smi_list(const std::string& path);

}  // namespace linkcast::topology_import
