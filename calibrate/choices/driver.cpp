// libcuda.so of a machine without GPUs, for the versions of NCCL that open it themselves.
#include "calibrate/choices/shared.hpp"

extern "C" {
int cuInit(unsigned /*flags*/) { return 0; }
int cuDriverGetVersion(int* version) {
  *version = linkcast_driver_version();
  return 0;
}
int cuGetProcAddress(const char* name, void** function, int /*version*/, unsigned long long /*flags*/) {
  *function = linkcast_driver_function(name);
  return 0;
}
}
