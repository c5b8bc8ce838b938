#include "sim/replay/query/traffic.hpp"

#include "sim/records/object_reader.hpp"

namespace linkcast::replay {
namespace {

std::string kind_of(const TraceEvent& event) { return event.op.empty() ? to_text(event.kind) : event.op; }

}  // namespace

void Traffic::meets(int rank, const TraceEvent& event, double now_s) { since_s_[{rank, event.stream}] = now_s; }

void Traffic::ends(int rank, const TraceEvent& event, double now_s) {
  if (event.kind == TraceKind::kCompute) {
    compute_s_ += event.time_s;
    return;
  }
  Kind& kind = kinds_[kind_of(event)];
  ++kind.calls;
  kind.size_B += event.size_B;
  const auto since = since_s_.find({rank, event.stream});
  if (since == since_s_.end()) return;  // a message that had come before its receive
  kind.time_s += now_s - since->second;
  since_s_.erase(since);
}

Json Traffic::json() const {
  Json kinds = Json::array();
  double total_s = 0, total_B = 0;
  for (const auto& [name, kind] : kinds_) {
    kinds.push_back({{"name", name}, {"calls", kind.calls}, {"size_B", kind.size_B}, {"time_s", kind.time_s}});
    total_s += kind.time_s;
    total_B += kind.size_B;
  }
  return {{"compute_s", compute_s_}, {"total_s", total_s}, {"total_B", total_B}, {"kinds", kinds}};
}

}  // namespace linkcast::replay
