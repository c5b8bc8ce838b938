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

/// The lists of a file, each from GPU 0 on; none where no line is of them.
/// @param strict  other commands' lines of GPUs and links are refused, else passed over
/// @throws InputError  on any line that begins as theirs and that neither command prints
std::vector<SmiList> read_smi_lists(const std::string& path, bool strict = true);
/// The same. @throws InputError  also if there is none
std::vector<SmiList> some_smi_lists(const std::string& path);

}  // namespace linkcast::topology_import
