#pragma once
// What an import took, left out or assumed, told on standard error.
#include <array>
#include <cstdint>
#include <optional>
#include <string>

#include "sim/platform/topology.hpp"
#include "sim/plugin/trace_source.hpp"
#include "sim/records/object_reader.hpp"

namespace linkcast::cli {

/// Notes of a record, and what the sources of its cables say was assumed: each once, with how often.
void tell_record(const Json& record);

/// @param topology  that a record of schema measurement/1 names; none: not known
/// @throws InputError  a measurement that names GPUs which its topology does not have
void check_gpus(const Json& record, const std::optional<Topology>& topology);

/// Passes a trace on and counts what it holds.
class ToldTrace final : public TraceSink {
 public:
  explicit ToldTrace(TraceSink& sink) : sink_(sink) {}
  void header(const TraceHeader& header) override;
  void event(const TraceEvent& event) override;
  /// After the last event: the numbers; a warning where ranks exchange nothing.
  void tell() const;

 private:
  [[nodiscard]] std::int64_t of(TraceKind kind) const { return count_[static_cast<std::size_t>(kind)]; }
  TraceSink& sink_;
  int ranks_ = 0;
  std::array<std::int64_t, 7> count_{};  ///< by kind
};

}  // namespace linkcast::cli
