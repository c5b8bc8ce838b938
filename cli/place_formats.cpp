#include "cli/place_formats.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace linkcast::cli {
namespace {

/// Among the CPUs, in their order.
long socket_number(const Platform& platform, int gpu) {
  const auto& devices = platform.topology().devices;
  const auto socket = devices.begin() + platform.socket_of(platform.gpu(gpu));
  return std::count_if(devices.begin(), socket, [](const Device& device) { return device.kind == DeviceKind::kCpu; });
}

}  // namespace

std::string cuda_line(const Json& gpus) {
  std::string text;
  for (const Json& gpu : gpus) text += (text.empty() ? "" : ",") + gpu.dump();
  return "CUDA_VISIBLE_DEVICES=" + text;
}

std::string rankfile(const Json& gpus, const Platform& platform, const std::string& host) {
  std::string text = "# GPUs are not bound by a rankfile: set " + cuda_line(gpus) +
                     ", each rank takes device OMPI_COMM_WORLD_LOCAL_RANK\n";
  int rank = 0;
  for (const Json& gpu : gpus)
    text += fmt::format("rank {}={} slot={}:*\n", rank++, host, socket_number(platform, gpu.get<int>()));
  return text;
}

}  // namespace linkcast::cli
