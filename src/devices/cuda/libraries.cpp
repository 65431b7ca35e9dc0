#include "src/devices/cuda/libraries.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <filesystem>
#include <system_error>

#include "src/support/shared_library.h"

namespace xflow::cost::cuda {
namespace {

namespace fs = std::filesystem;

std::string environment(const char* name) {
  const char* const value = std::getenv(name);
  return value == nullptr ? std::string() : value;
}

std::string version_text(int version) { return fmt::format("{}.{}", version / 1000, version % 1000 / 10); }

// Folders in `path` whose names begin with `start`, sorted; empty if `path` does not exist.
std::vector<fs::path> folders_in(const fs::path& path, std::string_view start = {}) {
  std::vector<fs::path> found;
  std::error_code none;
  for (const auto& entry : fs::directory_iterator(path, none))
    if (entry.path().filename().string().starts_with(start)) found.push_back(entry.path());
  std::sort(found.begin(), found.end());
  return found;
}

void add_packages(const fs::path& site, std::vector<std::string>& folders) {
  for (const fs::path& package : folders_in(site / "nvidia")) folders.push_back((package / "lib").string());
}

Result<SharedLibrary> open(const std::string& name) { return SharedLibrary::open(places_of(name)); }

// Opens a library other than the driver; the error says how to install it.
Result<SharedLibrary> open_library(const std::string& name) {
  auto library = open(name);
  if (library) return library;
  return fail(ErrorCode::unsupported, library.error().message + ": install it, or name its folder in XFLOW_CUDA_FOLDERS");
}

// The beginning of a compiler log, on one line.
std::string first_lines(std::string log) {
  constexpr std::size_t kMost = 400;
  if (log.size() > kMost) log.replace(kMost, std::string::npos, "...");
  for (char& c : log)
    if (c == '\n') c = ' ';
  return log;
}

template <typename Function>
Result<void> find(const SharedLibrary& library, const char* name, Function*& function) {
  XFLOW_TRY(function, library.function<Function>(name));
  return {};
}

}  // namespace

std::vector<std::string> places_of(const std::string& name) {
  std::vector<std::string> folders;
  const std::string named = environment("XFLOW_CUDA_FOLDERS");
  for (std::size_t at = 0; at < named.size();) {
    const std::size_t end = std::min(named.find(':', at), named.size());
    if (end > at) folders.push_back(named.substr(at, end - at));
    at = end + 1;
  }
  const std::size_t first = folders.size();
  for (const std::string& toolkit : {environment("CUDA_HOME"), environment("CUDA_PATH"), std::string("/usr/local/cuda")})
    if (!toolkit.empty()) folders.push_back(toolkit + "/lib64");
  const std::string home = environment("HOME");
  for (const std::string& prefix :
       {environment("VIRTUAL_ENV"), environment("CONDA_PREFIX"), home.empty() ? home : home + "/.local", std::string("/usr/local")}) {
    if (prefix.empty()) continue;
    for (const fs::path& python : folders_in(fs::path(prefix) / "lib", "python3"))
      for (const char* site : {"site-packages", "dist-packages"}) add_packages(python / site, folders);
  }
  for (fs::path path = own_folder(); path.has_relative_path(); path = path.parent_path())
    if (path.filename() == "site-packages" || path.filename() == "dist-packages") add_packages(path, folders);
  for (std::string& folder : folders) folder = (fs::path(folder) / name).string();
  folders.insert(folders.begin() + static_cast<std::ptrdiff_t>(first), name);
  return folders;
}

Result<Driver> Driver::load() {
  const auto library = open("libcuda.so.1");
  if (!library) return fail(ErrorCode::unsupported, "there is no CUDA driver: " + library.error().message);
  Driver driver;
  XFLOW_CHECK(find(*library, "cuInit", driver.init));
  XFLOW_CHECK(find(*library, "cuDriverGetVersion", driver.version));
  XFLOW_CHECK(find(*library, "cuGetErrorString", driver.error_string));
  XFLOW_CHECK(find(*library, "cuDeviceGetCount", driver.device_count));
  XFLOW_CHECK(find(*library, "cuDeviceGet", driver.device));
  XFLOW_CHECK(find(*library, "cuDeviceGetName", driver.device_name));
  XFLOW_CHECK(find(*library, "cuDeviceGetAttribute", driver.device_attribute));
  XFLOW_CHECK(find(*library, "cuDeviceTotalMem_v2", driver.device_memory));
  int version = 0;
  if (driver.version(&version) == CUDA_SUCCESS && version < CUDA_VERSION) {
    return fail(ErrorCode::unsupported, fmt::format("the CUDA driver is too old: it is for CUDA {}, CUDA {} is needed",
                                                    version_text(version), version_text(CUDA_VERSION)));
  }
  const CUresult started = driver.init(0);
  if (started == CUDA_ERROR_NO_DEVICE) return fail(ErrorCode::unsupported, "the CUDA driver sees no device");
  if (started != CUDA_SUCCESS) {
    const char* text = nullptr;
    driver.error_string(started, &text);
    return fail(ErrorCode::unsupported, fmt::format("the CUDA driver cannot be used: {} ({})", text == nullptr ? "unknown error" : text,
                                                    static_cast<int>(started)));
  }
  return driver;
}

Result<std::string> library_versions() {
  XFLOW_TRY(const SharedLibrary cudnn, open_library("libcudnn.so.9"));
  XFLOW_TRY(const SharedLibrary cublas, open_library("libcublasLt.so.13"));
  XFLOW_TRY(const Compiler compiler, Compiler::load());
  decltype(&cudnnGetVersion) cudnn_version = nullptr;
  decltype(&cublasLtGetVersion) cublas_version = nullptr;
  XFLOW_CHECK(find(cudnn, "cudnnGetVersion", cudnn_version));
  XFLOW_CHECK(find(cublas, "cublasLtGetVersion", cublas_version));
  const auto text = [](std::size_t version) { return fmt::format("{}.{}.{}", version / 10'000, version / 100 % 100, version % 100); };
  int major = 0;
  int minor = 0;
  compiler.version(&major, &minor);
  return fmt::format("cuDNN {}, cuBLAS {}, NVRTC {}.{}", text(cudnn_version()), text(cublas_version()), major, minor);
}

Result<Compiler> Compiler::load() {
  XFLOW_TRY(const SharedLibrary library, open_library("libnvrtc.so.13"));
  Compiler compiler;
  XFLOW_CHECK(find(library, "nvrtcVersion", compiler.version));
  XFLOW_CHECK(find(library, "nvrtcCreateProgram", compiler.create));
  XFLOW_CHECK(find(library, "nvrtcDestroyProgram", compiler.destroy));
  XFLOW_CHECK(find(library, "nvrtcCompileProgram", compiler.compile));
  XFLOW_CHECK(find(library, "nvrtcGetProgramLogSize", compiler.log_size));
  XFLOW_CHECK(find(library, "nvrtcGetProgramLog", compiler.log));
  XFLOW_CHECK(find(library, "nvrtcGetCUBINSize", compiler.binary_size));
  XFLOW_CHECK(find(library, "nvrtcGetCUBIN", compiler.binary));
  XFLOW_CHECK(find(library, "nvrtcGetErrorString", compiler.error_string));
  return compiler;
}

Result<std::string> Compiler::run(const std::string& text, int kind) const {
  nvrtcProgram program = nullptr;
  nvrtcResult done = create(&program, text.c_str(), "xflow.cu", 0, nullptr, nullptr);
  if (done != NVRTC_SUCCESS) return fail(ErrorCode::internal, fmt::format("NVRTC: {}", error_string(done)));
  const std::string architecture = fmt::format("--gpu-architecture=sm_{}", kind);
  const std::array<const char*, 2> options = {architecture.c_str(), "--std=c++17"};
  done = compile(program, static_cast<int>(options.size()), options.data());
  std::string result;
  std::size_t size = 0;
  if (done == NVRTC_SUCCESS && binary_size(program, &size) == NVRTC_SUCCESS && size > 0) {
    result.resize(size);
    done = binary(program, result.data());
  } else if (log_size(program, &size) == NVRTC_SUCCESS && size > 1) {
    result.resize(size - 1);
    log(program, result.data());
  }
  destroy(&program);
  if (done == NVRTC_ERROR_INVALID_OPTION) return fail(ErrorCode::unsupported, fmt::format("NVRTC does not know {}", architecture));
  if (done != NVRTC_SUCCESS) return fail(ErrorCode::internal, fmt::format("NVRTC: {}: {}", error_string(done), first_lines(result)));
  return result;
}

// The name that a library exports for a function: headers rename some functions to newer versions by macros.
#define XFLOW_TEXT(name) #name
#define XFLOW_NAME(name) XFLOW_TEXT(name)

Result<Runtime> Runtime::load() {
  XFLOW_TRY(const SharedLibrary library, open("libcuda.so.1"));
  Runtime runtime;
  XFLOW_CHECK(find(library, XFLOW_NAME(cuGetErrorString), runtime.error_string));
  XFLOW_CHECK(find(library, XFLOW_NAME(cuDevicePrimaryCtxRetain), runtime.retain_context));
  XFLOW_CHECK(find(library, XFLOW_NAME(cuDevicePrimaryCtxRelease), runtime.release_context));
  XFLOW_CHECK(find(library, XFLOW_NAME(cuCtxSetCurrent), runtime.set_context));
  XFLOW_CHECK(find(library, XFLOW_NAME(cuMemAlloc), runtime.allocate));
  XFLOW_CHECK(find(library, XFLOW_NAME(cuMemFree), runtime.free));
  XFLOW_CHECK(find(library, XFLOW_NAME(cuMemcpyHtoD), runtime.write));
  XFLOW_CHECK(find(library, XFLOW_NAME(cuMemcpyDtoH), runtime.read));
  XFLOW_CHECK(find(library, XFLOW_NAME(cuModuleLoadData), runtime.load_module));
  XFLOW_CHECK(find(library, XFLOW_NAME(cuModuleUnload), runtime.unload_module));
  XFLOW_CHECK(find(library, XFLOW_NAME(cuModuleGetFunction), runtime.function));
  XFLOW_CHECK(find(library, XFLOW_NAME(cuLaunchKernel), runtime.launch));
  XFLOW_CHECK(find(library, XFLOW_NAME(cuStreamCreate), runtime.create_stream));
  XFLOW_CHECK(find(library, XFLOW_NAME(cuStreamDestroy), runtime.destroy_stream));
  XFLOW_CHECK(find(library, XFLOW_NAME(cuStreamSynchronize), runtime.synchronize));
  XFLOW_CHECK(find(library, XFLOW_NAME(cuStreamBeginCapture), runtime.begin_capture));
  XFLOW_CHECK(find(library, XFLOW_NAME(cuStreamEndCapture), runtime.end_capture));
  XFLOW_CHECK(find(library, XFLOW_NAME(cuGraphInstantiateWithFlags), runtime.instantiate));
  XFLOW_CHECK(find(library, XFLOW_NAME(cuGraphLaunch), runtime.launch_graph));
  XFLOW_CHECK(find(library, XFLOW_NAME(cuGraphExecDestroy), runtime.destroy_executable));
  XFLOW_CHECK(find(library, XFLOW_NAME(cuGraphDestroy), runtime.destroy_graph));
  XFLOW_CHECK(find(library, XFLOW_NAME(cuEventCreate), runtime.create_event));
  XFLOW_CHECK(find(library, XFLOW_NAME(cuEventDestroy), runtime.destroy_event));
  XFLOW_CHECK(find(library, XFLOW_NAME(cuEventRecord), runtime.record_event));
  XFLOW_CHECK(find(library, XFLOW_NAME(cuEventSynchronize), runtime.wait_for_event));
  XFLOW_CHECK(find(library, XFLOW_NAME(cuEventElapsedTime), runtime.elapsed));
  XFLOW_CHECK(find(library, XFLOW_NAME(cuDeviceGetPCIBusId), runtime.bus));
  return runtime;
}

Result<void> Runtime::check(CUresult result, const char* what) const {
  if (result == CUDA_SUCCESS) return {};
  const char* text = nullptr;
  error_string(result, &text);
  ErrorCode code = ErrorCode::unsupported;
  switch (result) {
    case CUDA_ERROR_OUT_OF_MEMORY:
      code = ErrorCode::limit;
      break;
    // After these errors every further call of the process fails.
    case CUDA_ERROR_ILLEGAL_ADDRESS:
    case CUDA_ERROR_ILLEGAL_INSTRUCTION:
    case CUDA_ERROR_MISALIGNED_ADDRESS:
    case CUDA_ERROR_LAUNCH_FAILED:
    case CUDA_ERROR_LAUNCH_TIMEOUT:
    case CUDA_ERROR_ECC_UNCORRECTABLE:
    case CUDA_ERROR_HARDWARE_STACK_ERROR:
    case CUDA_ERROR_CONTEXT_IS_DESTROYED:
    case CUDA_ERROR_DEVICE_UNAVAILABLE:
      code = ErrorCode::io;
      break;
    default:
      break;
  }
  return fail(code, fmt::format("the GPU cannot {}: {} ({})", what, text == nullptr ? "unknown error" : text, static_cast<int>(result)));
}

Result<Blas> Blas::load() {
  XFLOW_TRY(const SharedLibrary library, open_library("libcublasLt.so.13"));
  Blas blas;
  XFLOW_CHECK(find(library, XFLOW_NAME(cublasLtCreate), blas.create));
  XFLOW_CHECK(find(library, XFLOW_NAME(cublasLtDestroy), blas.destroy));
  XFLOW_CHECK(find(library, XFLOW_NAME(cublasLtGetStatusString), blas.status_string));
  XFLOW_CHECK(find(library, XFLOW_NAME(cublasLtMatmul), blas.matmul));
  XFLOW_CHECK(find(library, XFLOW_NAME(cublasLtMatmulDescCreate), blas.create_description));
  XFLOW_CHECK(find(library, XFLOW_NAME(cublasLtMatmulDescDestroy), blas.destroy_description));
  XFLOW_CHECK(find(library, XFLOW_NAME(cublasLtMatmulDescSetAttribute), blas.set_description));
  XFLOW_CHECK(find(library, XFLOW_NAME(cublasLtMatrixLayoutCreate), blas.create_layout));
  XFLOW_CHECK(find(library, XFLOW_NAME(cublasLtMatrixLayoutDestroy), blas.destroy_layout));
  XFLOW_CHECK(find(library, XFLOW_NAME(cublasLtMatrixLayoutSetAttribute), blas.set_layout));
  XFLOW_CHECK(find(library, XFLOW_NAME(cublasLtMatmulPreferenceCreate), blas.create_preference));
  XFLOW_CHECK(find(library, XFLOW_NAME(cublasLtMatmulPreferenceDestroy), blas.destroy_preference));
  XFLOW_CHECK(find(library, XFLOW_NAME(cublasLtMatmulPreferenceSetAttribute), blas.set_preference));
  XFLOW_CHECK(find(library, XFLOW_NAME(cublasLtMatmulAlgoGetHeuristic), blas.heuristic));
  return blas;
}

Result<void> Blas::check(cublasStatus_t status, const char* what) const {
  if (status == CUBLAS_STATUS_SUCCESS) return {};
  return fail(status == CUBLAS_STATUS_ALLOC_FAILED ? ErrorCode::limit : ErrorCode::unsupported,
              fmt::format("cuBLASLt cannot {}: {}", what, status_string(status)));
}

Result<Dnn> Dnn::load() {
  XFLOW_TRY(const SharedLibrary library, open_library("libcudnn.so.9"));
  Dnn dnn;
  dnn.library = library.handle();
  XFLOW_CHECK(find(library, XFLOW_NAME(cudnnDestroy), dnn.destroy));
  return dnn;
}

}  // namespace xflow::cost::cuda
