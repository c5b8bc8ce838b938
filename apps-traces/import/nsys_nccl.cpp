#include "apps-traces/import/nsys_nccl.hpp"

#include <algorithm>

#include "sim/base/object_reader.hpp"
#include "sim/base/regex.hpp"
#include "sim/records/trace.hpp"

namespace linkcast::nsys {
namespace {

constexpr double kMost_B = 9007199254740992.0;  // source: 2^53, above it doubles are no longer exact

/// The first member of an object, at any depth, whose key begins with a text.
const Json* member(const Json& json, const std::string& key, int depth = 0) {
  constexpr int kDeepest = 8;
  if (depth > kDeepest || !json.is_structured()) return nullptr;
  for (const auto& [name, value] : json.items()) {
    if (json.is_object() && name.starts_with(key)) return &value;
    if (const Json* below = member(value, key, depth + 1)) return below;
  }
  return nullptr;
}

double number(const Json* value, double most) {
  if (!value) return 0;
  double number = 0;
  if (value->is_number()) number = value->get<double>();
  if (value->is_string()) {
    const Json read = parse_foreign_json(value->get<std::string>(), "payload of NCCL's range");
    if (read.is_number()) number = read.get<double>();
  }
  return number > 0 && number <= most ? number : 0;
}

}  // namespace

std::string operation_of_kernel(const std::string& name) {
  // source: NCCL src/device/generate.py; ncclKernel_ before 2.19, ncclSymk of symmetric memory
  static const Regex kernel(
      R"(nccl\w*?Kernel_(AllReduce|AllGather|ReduceScatter|Reduce|Broadcast|SendRecv|AlltoAll).*)");
  const Match match = kernel.whole(name);
  return match ? match[1] : "";
}

/// source: as kineto_file.cpp: a name that starts with nccl is communication in any case
bool is_nccl_kernel(const std::string& name) { return name.starts_with("nccl"); }

void NcclRanges::add(std::int64_t thread, std::int64_t start_ns, const std::string& text, const std::string& payload) {
  // source: NCCL src/collectives.cc and src/init.cc, NVTX3_FUNC_WITH_PARAMS: names of the functions, "Message size
  // [bytes]", "No. of ranks", "NCCL communicator ID"; recalled
  static const Regex call(R"(nccl(AllReduce|AllGather|ReduceScatter|Reduce|Broadcast|Bcast|AlltoAll|CommInitRank\w*))");
  const Match match = call.whole(text);
  if (!match) return;
  const Json said = payload.empty() ? Json() : parse_foreign_json(payload, "payload of NCCL's range");
  if (match[1].starts_with("CommInitRank")) {
    job_ranks_ = std::max(job_ranks_, static_cast<int>(number(member(said, "No. of ranks"), kMostRanks)));
    return;
  }
  NcclCall made{match[1] == "Bcast" ? "Broadcast" : match[1], number(member(said, "Message size"), kMost_B), ""};
  if (const Json* id = member(said, "NCCL communicator"))
    made.communicator = id->is_string() ? id->get<std::string>() : id->dump();
  made_[thread].push_back({start_ns, std::move(made)});
}

std::vector<NcclCall> NcclRanges::take(std::int64_t thread, std::int64_t until_ns, const std::string& op,
                                       std::size_t most) {
  std::vector<NcclCall> taken;
  const auto found = made_.find(thread);
  if (found == made_.end()) return taken;
  std::deque<Made>& made = found->second;
  std::size_t kept = 0, i = 0;
  for (; i < made.size() && made[i].start_ns <= until_ns && taken.size() < most; ++i) {
    if (op.empty() ? taken.empty() || taken.front().op == made[i].call.op : made[i].call.op == op)
      taken.push_back(made[i].call);
    else
      made[kept++] = made[i];
  }
  made.erase(made.begin() + static_cast<std::ptrdiff_t>(kept), made.begin() + static_cast<std::ptrdiff_t>(i));
  return taken;
}

}  // namespace linkcast::nsys
