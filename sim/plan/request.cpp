#include "sim/plan/request.hpp"

#include <cmath>
#include <set>

#include "sim/base/text.hpp"
#include "sim/machine/gpu_names.hpp"

namespace linkcast::activities {

namespace {

bool is_usable(const Device& device) { return device.kind == DeviceKind::kGpu || device.kind == DeviceKind::kCpu; }

}  // namespace

std::optional<int> usable_device(const Platform& platform, const std::string& id) {
  const auto device = platform.topology().find(id);
  return device && is_usable(platform.topology().devices[static_cast<std::size_t>(*device)]) ? device : std::nullopt;
}

int device_by_id(const Platform& platform, const std::string& id, const ObjectReader& r, const std::string& key) {
  if (const auto device = usable_device(platform, id)) return *device;
  const Topology& topology = platform.topology();
  std::vector<std::string> known;
  for (const Device& device : topology.devices)
    if (is_usable(device)) known.push_back(device.id);
  r.fail(key, "'" + id + "' is no GPU or CPU of " + topology.name + ": one of " + joined(known));
}

MoveBy read_engine(ObjectReader& r) {
  if (!r.has("engine")) return MoveBy::kDma;
  return r.choice("engine", {"copy_engine", "sm"}) == "sm" ? MoveBy::kSm : MoveBy::kDma;
}

std::optional<bool> read_direction(ObjectReader& r) {
  if (!r.has("direction")) return std::nullopt;
  return r.choice("direction", {"read", "write"}) == "read";
}

bool is_size(double bytes) { return bytes >= 1 && bytes <= kLargest_B && bytes == std::floor(bytes); }

double checked_size(const ObjectReader& r, const std::string& key, double size) {
  if (!is_size(size)) r.fail(key, "must be a whole number of bytes from 1 to 2^53");
  return size;
}

double read_size(ObjectReader& r, const std::string& key) { return checked_size(r, key, r.required<double>(key)); }

std::vector<int> read_gpus(ObjectReader& r, const Platform& platform, int least) {
  const auto gpus = r.required<std::vector<int>>("gpus");
  if (static_cast<int>(gpus.size()) < least) r.fail("gpus", "needs at least " + std::to_string(least) + " GPUs");
  std::set<int> seen;
  for (std::size_t i = 0; i < gpus.size(); ++i) {
    if (gpus[i] < 0 || gpus[i] >= platform.gpu_count())
      throw InputError(r.file(), r.pointer("gpus") + "/" + std::to_string(i),
                       no_gpu(platform.topology(), std::to_string(gpus[i])));
    if (!seen.insert(gpus[i]).second)
      throw InputError(r.file(), r.pointer("gpus") + "/" + std::to_string(i),
                       std::to_string(gpus[i]) + " is given twice");
  }
  return gpus;
}

}  // namespace linkcast::activities
