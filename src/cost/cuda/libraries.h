// The CUDA driver and libraries, found by name while the program runs.
#pragma once

#include <cublasLt.h>
#include <cuda.h>
#include <cudnn.h>
#include <nvrtc.h>
#include <xflow/result.h>

#include <string>
#include <vector>

namespace xflow::cost::cuda {

// Of <cuda.h>, the driver API of CUDA 13.
struct Driver {
  decltype(&cuInit) init = nullptr;
  decltype(&cuDriverGetVersion) version = nullptr;
  decltype(&cuGetErrorString) error_string = nullptr;
  decltype(&cuDeviceGetCount) device_count = nullptr;
  decltype(&cuDeviceGet) device = nullptr;
  decltype(&cuDeviceGetName) device_name = nullptr;
  decltype(&cuDeviceGetAttribute) device_attribute = nullptr;
  decltype(&cuDeviceTotalMem) device_memory = nullptr;

  // Initialises it. Errors: unsupported, one line for each way in which it cannot be used: "there is no CUDA driver: libcuda.so.1 was not
  // found", "the CUDA driver is too old: it is for CUDA 12.2, CUDA 13.0 is needed", "the CUDA driver sees no device", "the CUDA driver
  // cannot be used: ...".
  static Result<Driver> load();
};

// The versions of what computes: "cuDNN 9.13.0, cuBLAS 13.0.2, NVRTC 13.0". Errors: unsupported: "libcudnn.so.9 was not found: install it,
// or name its folder in XFLOW_CUDA_FOLDERS".
Result<std::string> library_versions();

// Of <nvrtc.h>, the compiler.
struct Compiler {
  decltype(&nvrtcVersion) version = nullptr;
  decltype(&nvrtcCreateProgram) create = nullptr;
  decltype(&nvrtcDestroyProgram) destroy = nullptr;
  decltype(&nvrtcCompileProgram) compile = nullptr;
  decltype(&nvrtcGetProgramLogSize) log_size = nullptr;
  decltype(&nvrtcGetProgramLog) log = nullptr;
  decltype(&nvrtcGetCUBINSize) binary_size = nullptr;
  decltype(&nvrtcGetCUBIN) binary = nullptr;
  decltype(&nvrtcGetErrorString) error_string = nullptr;

  // Errors: as library_versions.
  static Result<Compiler> load();
  // See DevicePlugin::compile.
  Result<std::string> run(const std::string& text, int kind) const;
};

// Where a library may be, in this order: in the folders of XFLOW_CUDA_FOLDERS (with ":" between them), where the system looks, and in the
// folders of the toolkit (CUDA_HOME, CUDA_PATH, /usr/local/cuda) and of the Python packages nvidia-* in VIRTUAL_ENV, in CONDA_PREFIX and
// where this library itself lies.
std::vector<std::string> places_of(const std::string& name);

}  // namespace xflow::cost::cuda
