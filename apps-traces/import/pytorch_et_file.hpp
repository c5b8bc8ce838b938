#pragma once
// Files that PyTorch writes of one rank: its execution trace, and Kineto's timeline as far as it tells how long the
// operators of the former take.
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

namespace linkcast::pytorch {

/// Collective or message as record_param_comms describes it.
struct TorchComm {
  std::string name;  ///< e.g. "allreduce"
  std::string dtype;
  double in_elements = 0, out_elements = 0;
  std::string process_group;            ///< empty: the file names none
  std::int64_t backend = 0;             ///< number by which process_group:init names the group; 0: another name does
  int size = 1, start = 0, stride = 1;  ///< of the group, where it lists no ranks; size 0: not said; start -1: not said
  int rank = 0;                         ///< of this process, the root or the peer
};

/// An operator.
struct TorchNode {
  std::int64_t id = 0;     ///< in the order of calls
  std::int64_t rf_id = 0;  ///< by which Kineto knows it
  std::string name;
  std::vector<std::int64_t> storages;  ///< of the GPU, that its tensors are views of
  std::optional<TorchComm> comm{};
  std::int64_t parent = 0;
  bool leaf = true;  ///< calls no other, and is no part of a collective
};

struct TorchTrace {
  std::string file;
  std::int64_t pid = 0;
  std::vector<TorchNode> nodes;                    ///< in the order of calls
  std::map<std::string, std::vector<int>> groups;  ///< process groups that list their ranks
};

/// GPU work of an operator.
struct GpuWork {
  double began = 0;  ///< us
  double time_s = 0;
  std::string stream;
  std::string copy{};  ///< h2d or d2h
  double size_B = 0;   ///< copy
};

struct TorchTimes {
  std::string file;
  std::int64_t pid = 0;
  int rank = 0;
  std::string device{};                               ///< GPU
  std::map<std::int64_t, std::vector<GpuWork>> work;  ///< by rf_id, in order
};

/// One of both.
struct TorchFile {
  std::optional<TorchTrace> trace{};
  std::optional<TorchTimes> times{};
};

/// @throws InputError  neither, or what is wrong with it
TorchFile read_torch_file(const std::string& path);

}  // namespace linkcast::pytorch
