#pragma once
// Writes Chrome traces as torch.profiler exports them, for tests.
#include <string>
#include <utility>

#include "tests/unit/trace_import.hpp"

namespace linkcast::test {

/// Times in microseconds.
class Timeline {
 public:
  void add(const char* category, const std::string& name, int thread, double from, double to, Json args = {}) {
    if (args.is_null()) args = Json::object();
    events_.push_back({{"ph", "X"},
                       {"cat", category},
                       {"name", name},
                       {"tid", thread},
                       {"ts", from},
                       {"dur", to - from},
                       {"args", std::move(args)}});
  }
  void span(const std::string& name, double from, double to) { add("user_annotation", name, 1, from, to); }
  void op(double at, const std::string& name = "aten::add") { add("cpu_op", name, 1, at, at); }
  void call(const std::string& name, double from, double to, int thread = 1) {
    add("cuda_runtime", name, thread, from, to, {{"correlation", ++last_}});
  }
  /// A launch on the CPU, and what it starts.
  void kernel(const std::string& name, double from, double to, double start, double end, Json args = {}) {
    call("cudaLaunchKernel", from, to);
    if (args.is_null()) args = Json::object();
    args.update({{"correlation", last_}, {"stream", name.rfind("nccl", 0) == 0 ? 20 : 7}});
    add("kernel", name, 7, start, end, std::move(args));
  }
  /// A stream waits for an event. @param id  External id; null: none
  void wait_event(double from, double to, const Json& id) {
    call("cudaStreamWaitEvent", from, to);
    if (id.is_number()) events_.back()["args"]["External id"] = id;
  }
  /// What describes a collective of two ranks.
  static Json all_reduce(double elements) {
    return {{"Collective name", "allreduce"}, {"In msg nelems", elements},
            {"Out msg nelems", elements},     {"dtype", "Float"},
            {"Process Group Name", "0"},      {"Group size", 2},
            {"Process Group Ranks", "[0, 1]"}};
  }
  [[nodiscard]] Json json(int rank = 0, int ranks = 1) const {
    return {{"distributedInfo", {{"rank", rank}, {"world_size", ranks}}}, {"traceEvents", events_}};
  }
  [[nodiscard]] std::string text(int rank = 0, int ranks = 1) const { return json(rank, ranks).dump(); }

 private:
  Json events_ = Json::array();
  int last_ = 0;
};

}  // namespace linkcast::test
