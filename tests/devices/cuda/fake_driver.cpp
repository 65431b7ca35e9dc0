// A CUDA driver of which the test says what it answers: XFLOW_FAKE_CUDA is "VERSION INIT COUNT MAJOR", what cuDriverGetVersion gives, what
// cuInit returns, how many devices there are, and the major number of their compute capability.
#include <cuda.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>

namespace {

struct Answers {
  int version = 13'000;
  int init = 0;
  int count = 1;
  int major = 9;
};

Answers answers() {
  Answers found;
  if (const char* const text = std::getenv("XFLOW_FAKE_CUDA"))
    std::sscanf(text, "%d %d %d %d", &found.version, &found.init, &found.count, &found.major);
  return found;
}

}  // namespace

extern "C" {
__attribute__((visibility("default"))) CUresult cuInit(unsigned) { return static_cast<CUresult>(answers().init); }
__attribute__((visibility("default"))) CUresult cuDriverGetVersion(int* version) {
  *version = answers().version;
  return CUDA_SUCCESS;
}
__attribute__((visibility("default"))) CUresult cuGetErrorString(CUresult error, const char** text) {
  *text = error == CUDA_ERROR_SYSTEM_NOT_READY ? "system not yet initialized" : nullptr;
  return CUDA_SUCCESS;
}
__attribute__((visibility("default"))) CUresult cuDeviceGetCount(int* count) {
  *count = answers().count;
  return CUDA_SUCCESS;
}
__attribute__((visibility("default"))) CUresult cuDeviceGet(CUdevice* device, int number) {
  *device = number;
  return CUDA_SUCCESS;
}
__attribute__((visibility("default"))) CUresult cuDeviceGetName(char* name, int length, CUdevice device) {
  std::snprintf(name, static_cast<std::size_t>(length), "Fake GPU %d", device);
  return CUDA_SUCCESS;
}
__attribute__((visibility("default"))) CUresult cuDeviceGetAttribute(int* value, CUdevice_attribute attribute, CUdevice) {
  *value = attribute == CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR ? answers().major : 0;
  return CUDA_SUCCESS;
}
__attribute__((visibility("default"))) CUresult cuDeviceTotalMem_v2(std::size_t* bytes, CUdevice) {
  *bytes = std::size_t{80} << 30U;
  return CUDA_SUCCESS;
}
}
