#include "src/api/output_folder.h"

#include <filesystem>
#include <system_error>

#include "src/support/file.h"

namespace xflow::api {

Result<void> prepare_folder(const std::string& folder) {
  std::error_code error;
  std::filesystem::create_directories(folder, error);
  if (error) return fail(ErrorCode::io, "cannot make the folder: " + onnx_io::system_reason(error.value()), folder);
  const bool is_empty = std::filesystem::is_empty(folder, error);
  if (error) return fail(ErrorCode::io, "cannot read the folder: " + onnx_io::system_reason(error.value()), folder);
  if (!is_empty) return fail(ErrorCode::io, "the folder is not empty; choose another one or remove its files", folder);
  return {};
}

}  // namespace xflow::api
