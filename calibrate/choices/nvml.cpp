// libnvidia-ml.so.1 of a machine without GPUs: the GPUs of the topology file, no NVLinks (the file has them), peer
// access wherever it is asked for. Names and numbers are those of NVIDIA's nvml.h.
#include <strings.h>

#include <cstdint>

#include "calibrate/choices/shared.hpp"

namespace {

constexpr int kSuccess = 0, kNotSupported = 3, kNotFound = 6;

int index_of(const void* device) { return static_cast<int>(reinterpret_cast<std::intptr_t>(device)) - 1; }
void* device_at(int index) { return reinterpret_cast<void*>(static_cast<std::intptr_t>(index) + 1); }

int find(const char* bus_id, void** device) {
  for (int i = 0; i < linkcast_gpus(); ++i)
    if (strcasecmp(bus_id, linkcast_gpu_bus(i)) == 0) {
      *device = device_at(i);
      return kSuccess;
    }
  return kNotFound;
}

}  // namespace

extern "C" {
int nvmlInit() { return kSuccess; }
int nvmlInit_v2() { return kSuccess; }
int nvmlShutdown() { return kSuccess; }
const char* nvmlErrorString(int /*code*/) { return "stand-in for NVML"; }
int nvmlDeviceGetCount(unsigned* count) {
  *count = static_cast<unsigned>(linkcast_gpus());
  return kSuccess;
}
int nvmlDeviceGetCount_v2(unsigned* count) { return nvmlDeviceGetCount(count); }
int nvmlDeviceGetHandleByPciBusId(const char* bus_id, void** device) { return find(bus_id, device); }
int nvmlDeviceGetHandleByPciBusId_v2(const char* bus_id, void** device) { return find(bus_id, device); }
int nvmlDeviceGetHandleByIndex(unsigned index, void** device) {
  *device = device_at(static_cast<int>(index));
  return kSuccess;
}
int nvmlDeviceGetHandleByIndex_v2(unsigned index, void** device) { return nvmlDeviceGetHandleByIndex(index, device); }
int nvmlDeviceGetIndex(void* device, unsigned* index) {
  *index = static_cast<unsigned>(index_of(device));
  return kSuccess;
}
int nvmlDeviceGetMinorNumber(void* device, unsigned* number) { return nvmlDeviceGetIndex(device, number); }
int nvmlDeviceGetNvLinkState(void* /*device*/, unsigned /*link*/, int* active) {
  *active = 0;
  return kNotSupported;
}
int nvmlDeviceGetNvLinkRemotePciInfo(void* /*device*/, unsigned /*link*/, void* /*info*/) { return kNotSupported; }
int nvmlDeviceGetNvLinkRemotePciInfo_v2(void* /*device*/, unsigned /*link*/, void* /*info*/) { return kNotSupported; }
int nvmlDeviceGetNvLinkCapability(void* /*device*/, unsigned /*link*/, int /*which*/, unsigned* has) {
  *has = 0;
  return kNotSupported;
}
int nvmlDeviceGetP2PStatus(void* /*a*/, void* /*b*/, int /*which*/, int* status) {
  *status = 0;  // NVML_P2P_STATUS_OK
  return kSuccess;
}
int nvmlDeviceGetCudaComputeCapability(void* device, int* major, int* minor) {
  constexpr int kTen = 10;
  *major = linkcast_gpu_sm(index_of(device)) / kTen;
  *minor = linkcast_gpu_sm(index_of(device)) % kTen;
  return kSuccess;
}
}
