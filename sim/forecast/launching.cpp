#include "sim/forecast/launching.hpp"

#include "sim/base/ranges.hpp"

namespace linkcast::launch {
namespace {

constexpr double kMatters = 0.5;  // of the devices' time: source: ours, so that twice the host would be the limit

}  // namespace

double Launching::time_s(double device_s) const {
  return by_host() ? uncertainty::paced_s(host.s, device_s, wait.s, calls) : device_s;
}

void Launching::issue(uncertainty::Terms& terms) const {
  if (!by_host()) return;
  terms.issue({host, wait, calls, false, source_of_host(inherited_from)});
}

std::string Launching::warning(const std::string& machine, double device_s) const {
  if (!by_host() || inherited_from.empty() || host.high_s < kMatters * device_s) return "";
  return "what issuing costs the host (launch '" + name_of(kind) + "') was measured on " + inherited_from +
         ", not on " + machine + ": launch 'graph' is the time of the devices alone";
}

query::Key launch_key(const std::vector<std::string>& kinds, const std::string& unset) {
  return {.name = "launch",
          .help =
              "who issues it: graph (nobody: devices alone), process (a CPU thread a GPU, call after call), "
              "single_process (one thread for all GPUs of a node), pytorch (torch.distributed), queue (nobody: calls "
              "wait on a "
              "stream)",
          .unset = unset,
          .choices = kinds,
          .example = "\"graph\"",
          .cli = {.name = "--launch"}};
}

query::Key host_scale_key() {
  return {.name = "host_scale",
          .type = query::ValueType::kNumber,
          .help = "what issuing costs the CPU is multiplied by it: a host that is known to be slower or faster",
          .unset = "1",
          .least = 1 / kLargestFactor,
          .most = kLargestFactor,
          .example = "1.3",
          .cli = {.name = "--host-scale"}};
}

std::optional<double> read_host_scale(ObjectReader& r, Kind kind) {
  const auto scale = r.optional<double>("host_scale");
  if (scale && !(*scale >= 1 / kLargestFactor && *scale <= kLargestFactor))
    r.fail("host_scale", "must be 0.001 to 1000");
  if (scale && !by_host(kind)) r.fail("host_scale", "is of a CPU that issues calls, and launch is " + name_of(kind));
  return scale;
}

query::KeyTable launch_results() {
  return {{.name = "launch", .help = "who issued it", .choices = launch_kinds()},
          {.name = "host_s", .type = query::ValueType::kNumber, .help = "what issuing one call costs the host"},
          {.name = "device_s", .type = query::ValueType::kNumber, .help = "what one call takes on the devices alone"}};
}

void put_launch(Json& out, const Launching& launching, double device_s) {
  out["launch"] = name_of(launching.kind);
  if (!launching.by_host()) return;
  out["host_s"] = launching.host.s;
  out["device_s"] = device_s;
}

}  // namespace linkcast::launch
