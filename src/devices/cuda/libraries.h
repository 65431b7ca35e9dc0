// The CUDA driver and libraries, loaded by name at run time.
#pragma once

#include <cublasLt.h>
#include <cuda.h>
#include <cudnn.h>
#include <nvrtc.h>
#include <xflow/error.h>

#include <string>
#include <vector>

namespace xflow::cost::cuda {

// Functions of <cuda.h>, the driver API of CUDA 13, for finding devices.
struct Driver {
  decltype(&cuInit) init = nullptr;
  decltype(&cuDriverGetVersion) version = nullptr;
  decltype(&cuGetErrorString) error_string = nullptr;
  decltype(&cuDeviceGetCount) device_count = nullptr;
  decltype(&cuDeviceGet) device = nullptr;
  decltype(&cuDeviceGetName) device_name = nullptr;
  decltype(&cuDeviceGetAttribute) device_attribute = nullptr;
  decltype(&cuDeviceTotalMem) device_memory = nullptr;

  // Initialises the driver. Errors: unsupported, one line per cause: "there is no CUDA driver: libcuda.so.1
  // was not found", "the CUDA driver is too old: it is for CUDA 12.2, CUDA 13.0 is needed", "the CUDA driver
  // sees no device", "the CUDA driver cannot be used: ...".
  static Result<Driver> load();
};

// Functions of <cuda.h> for running kernels on one device. Its context is current in the thread that opens
// it.
struct Runtime {
  decltype(&cuGetErrorString) error_string = nullptr;
  decltype(&cuDevicePrimaryCtxRetain) retain_context = nullptr;
  decltype(&cuDevicePrimaryCtxRelease) release_context = nullptr;
  decltype(&cuCtxSetCurrent) set_context = nullptr;
  decltype(&cuMemAlloc) allocate = nullptr;
  decltype(&cuMemFree) free = nullptr;
  decltype(&cuMemcpyHtoD) write = nullptr;
  decltype(&cuMemcpyDtoH) read = nullptr;
  decltype(&cuModuleLoadData) load_module = nullptr;
  decltype(&cuModuleUnload) unload_module = nullptr;
  decltype(&cuModuleGetFunction) function = nullptr;
  decltype(&cuLaunchKernel) launch = nullptr;
  decltype(&cuStreamCreate) create_stream = nullptr;
  decltype(&cuStreamDestroy) destroy_stream = nullptr;
  decltype(&cuStreamSynchronize) synchronize = nullptr;
  decltype(&cuStreamBeginCapture) begin_capture = nullptr;
  decltype(&cuStreamEndCapture) end_capture = nullptr;
  decltype(&cuGraphInstantiateWithFlags) instantiate = nullptr;
  decltype(&cuGraphLaunch) launch_graph = nullptr;
  decltype(&cuGraphExecDestroy) destroy_executable = nullptr;
  decltype(&cuGraphDestroy) destroy_graph = nullptr;
  decltype(&cuEventCreate) create_event = nullptr;
  decltype(&cuEventDestroy) destroy_event = nullptr;
  decltype(&cuEventRecord) record_event = nullptr;
  decltype(&cuEventSynchronize) wait_for_event = nullptr;
  decltype(&cuEventElapsedTime) elapsed = nullptr;
  decltype(&cuDeviceGetPCIBusId) bus = nullptr;

  // Errors: unsupported if the driver lacks a function.
  static Result<Runtime> load();
  // Converts a result: limit if memory is exhausted, io if the device is lost, otherwise unsupported: "the
  // GPU cannot WHAT: TEXT (700)".
  Result<void> check(CUresult result, const char* what) const;
};

// Functions of <cublasLt.h>.
struct Blas {
  decltype(&cublasLtCreate) create = nullptr;
  decltype(&cublasLtDestroy) destroy = nullptr;
  decltype(&cublasLtGetStatusString) status_string = nullptr;
  decltype(&cublasLtMatmul) matmul = nullptr;
  decltype(&cublasLtMatmulDescCreate) create_description = nullptr;
  decltype(&cublasLtMatmulDescDestroy) destroy_description = nullptr;
  decltype(&cublasLtMatmulDescSetAttribute) set_description = nullptr;
  decltype(&cublasLtMatrixLayoutCreate) create_layout = nullptr;
  decltype(&cublasLtMatrixLayoutDestroy) destroy_layout = nullptr;
  decltype(&cublasLtMatrixLayoutSetAttribute) set_layout = nullptr;
  decltype(&cublasLtMatmulPreferenceCreate) create_preference = nullptr;
  decltype(&cublasLtMatmulPreferenceDestroy) destroy_preference = nullptr;
  decltype(&cublasLtMatmulPreferenceSetAttribute) set_preference = nullptr;
  decltype(&cublasLtMatmulAlgoGetHeuristic) heuristic = nullptr;

  // Errors: as library_versions.
  static Result<Blas> load();
  // "cuBLASLt cannot WHAT: TEXT".
  Result<void> check(cublasStatus_t status, const char* what) const;
};

// Functions of <cudnn.h> that its frontend does not look up itself.
struct Dnn {
  void* library = nullptr;  // handle returned by dlopen
  decltype(&cudnnDestroy) destroy = nullptr;

  // Errors: as library_versions.
  static Result<Dnn> load();
};

// The versions of the libraries: "cuDNN 9.13.0, cuBLAS 13.0.2, NVRTC 13.0". Errors: unsupported,
// "libcudnn.so.9 was not found: install it, or name its folder in XFLOW_CUDA_FOLDERS".
Result<std::string> library_versions();

// Functions of <nvrtc.h>, the run-time compiler.
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

// The paths to try for a library, in this order: the folders of XFLOW_CUDA_FOLDERS (separated by ":"), the
// system's search path, and the folders of the toolkit (CUDA_HOME, CUDA_PATH, /usr/local/cuda) and of the
// Python packages nvidia-* in VIRTUAL_ENV, in CONDA_PREFIX, in ~/.local, in /usr/local and where this
// library itself is installed.
std::vector<std::string> places_of(const std::string& name);

}  // namespace xflow::cost::cuda
