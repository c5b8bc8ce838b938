#include "calibrate/bench/nccl_sizes.hpp"

namespace linkcast::bench {

const std::vector<std::string>& nccl_operations() {
  static const std::vector<std::string> all = {"all_reduce", "all_gather", "reduce_scatter", "broadcast", "reduce",
                                               "alltoall",   "sendrecv",   "gather",         "scatter"};
  return all;
}

std::vector<int> counts_of(int gpus, std::initializer_list<int> some, bool quick) {
  std::vector<int> counts;
  for (const int count : some)
    if (!quick && count < gpus) counts.push_back(count);
  counts.push_back(gpus);
  return counts;
}

std::size_t rounded_size(const std::string& op, std::size_t bytes, int gpus) {
  const bool splits =
      op == "all_gather" || op == "reduce_scatter" || op == "alltoall" || op == "gather" || op == "scatter";
  const std::size_t unit = sizeof(float) * (splits ? static_cast<std::size_t>(gpus) : 1);
  return bytes / unit * unit;
}

}  // namespace linkcast::bench
