// External data: tensors whose elements are in files beside the model.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "src/onnx/document/document.h"
#include "src/onnx/document/model_folder.h"

namespace xflow::onnx_io {

// Opens the files of external data of one model, each file once.
class ExternalFiles {
 public:
  // Both arguments must outlive this object.
  ExternalFiles(const DocumentOrigin& origin, std::vector<ExternalFile>& files) : origin_(origin), files_(files) {}

  // Fills in file, range and bytes of a tensor with external data. Leaves other tensors unchanged. Errors:
  // unreadable, with the name of the tensor.
  Result<void> resolve(TensorView& tensor);

 private:
  const DocumentOrigin& origin_;
  std::vector<ExternalFile>& files_;
  std::optional<ModelFolder> folder_;
  std::unordered_map<std::string_view, FileId> ids_;  // keys are views of the model
};

// The same with files that are open already; Document uses it after loading. Errors: internal if the file is
// not among them.
Result<void> resolve_open(TensorView& tensor, const std::vector<ExternalFile>& files);

}  // namespace xflow::onnx_io
