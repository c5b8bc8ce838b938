#pragma once
// What a generator writes, kept whole.
#include <map>

#include "sim/machine/trace_source.hpp"

namespace linkcast::test {

struct GeneratedTrace final : TraceSink {
  TraceHeader head;
  std::vector<TraceEvent> events;

  explicit GeneratedTrace(const std::string& application, const std::map<std::string, std::string>& options = {}) {
    const TraceGenerator& generator = trace_generators().get(application);
    const TraceOptions values(options);
    values.refuse_others(application, generator.options());
    generator.run(values, *this);
  }
  void header(const TraceHeader& header) override { head = header; }
  void event(const TraceEvent& event) override { events.push_back(event); }

  [[nodiscard]] std::vector<TraceEvent> of(int rank, TraceKind kind) const {
    std::vector<TraceEvent> found;
    for (const TraceEvent& event : events)
      if (event.rank == rank && event.kind == kind) found.push_back(event);
    return found;
  }
  [[nodiscard]] std::vector<TraceEvent> of(TraceKind kind) const {
    std::vector<TraceEvent> found;
    for (const TraceEvent& event : events)
      if (event.kind == kind) found.push_back(event);
    return found;
  }
};

inline double bytes(const std::vector<TraceEvent>& events) {
  double sum = 0;
  for (const TraceEvent& event : events) sum += event.size_B;
  return sum;
}

inline double seconds(const std::vector<TraceEvent>& events) {
  double sum = 0;
  for (const TraceEvent& event : events) sum += event.time_s;
  return sum;
}

}  // namespace linkcast::test
