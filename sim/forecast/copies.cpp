#include "sim/forecast/copies.hpp"

#include "sim/forecast/message_queue.hpp"
#include "sim/forecast/terms.hpp"

namespace linkcast::copy {
namespace {

Json answered(const Cluster& machine, const CopyForecast& forecast, bool explain) {
  Json out = to_json(forecast);
  if (explain) out["terms"] = uncertainty::explained(machine.node().calibration(), forecast.terms, forecast.time_s);
  return out;
}

}  // namespace

CopyForecast forecast_copies(const Cluster& machine, Solver& solver, const CopyRequest& request) {
  if (is_window_in_node(request)) return forecast_window(machine, solver, request);
  if (request.copies.front().message && request.timing == Timing::kBackToBack)
    return forecast_queue(machine, solver, request);
  return forecast_planned(machine, solver, request);
}

Json p2p_answer(const Cluster& machine, Solver& solver, ObjectReader& r, log::Progress& progress,
                const std::optional<CopyHost>& host, bool explain) {
  return answered(machine, forecast_copies(machine, solver, read_p2p(machine, r, progress, host)), explain);
}

Json flows_answer(const Cluster& machine, Solver& solver, ObjectReader& r, log::Progress& progress,
                  const std::optional<CopyHost>& host, bool explain) {
  return answered(machine, forecast_copies(machine, solver, read_flows(machine, r, progress, host)), explain);
}

}  // namespace linkcast::copy
