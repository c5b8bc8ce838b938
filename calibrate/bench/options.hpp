#pragma once
// What a run was asked for. Needs no CUDA: what a study asks for is tested without.
#include <map>
#include <string>
#include <vector>

namespace linkcast::bench {

struct Options {
  std::string out = ".";
  std::string machine;
  std::string topology;
  std::string occasion;
  std::string nccl;                             ///< path of libnccl.so.2; empty: the loader's
  std::map<std::string, std::string> nccl_env;  ///< NCCL_ variables for nccl_ops
  std::string emulated;                         ///< case of a study that NCCL is told; empty: none
  std::vector<int> emulated_gpus;               ///< its GPUs
  bool quick = false;
  bool resume = false;
};

}  // namespace linkcast::bench
