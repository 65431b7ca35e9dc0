// External data: tensors whose elements lie in files beside the model.
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

// Opens the files of external data of one model, each once.
class ExternalFiles {
 public:
  // Both must outlive it.
  ExternalFiles(const DocumentOrigin& origin, std::vector<ExternalFile>& files) : origin_(origin), files_(files) {}

  // Fills in file, range and bytes of a tensor with external data; others are left as they are. Errors: unreadable, naming the tensor.
  Result<void> resolve(TensorView& tensor);

 private:
  const DocumentOrigin& origin_;
  std::vector<ExternalFile>& files_;
  std::optional<ModelFolder> folder_;
  std::unordered_map<std::string_view, FileId> ids_;  // keys are views of the model
};

// The same for files that are open: what Document uses after it was made. Errors: internal if the file is not among them.
Result<void> resolve_open(TensorView& tensor, const std::vector<ExternalFile>& files);

}  // namespace xflow::onnx_io
