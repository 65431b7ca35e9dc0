#include "src/onnx/document/external.h"

#include "src/support/printable.h"

namespace xflow::onnx_io {

namespace {

std::string external_place(const TensorView& tensor) { return "tensor " + in_quotes(tensor.name); }

// Sets range and bytes of the tensor to its data in the file.
Result<void> locate(TensorView& tensor, std::string_view content) {
  const std::uint64_t size = content.size();
  const std::uint64_t offset = tensor.range.offset;
  std::uint64_t length = tensor.range.length;
  if (length == 0 && tensor.data_type != ir::DataType::undefined) {
    XFLOW_TRY(const std::uint64_t count, tensor.elements());
    length = ir::storage_bytes(tensor.data_type, count);
  }
  if (offset > size || length > size - offset) {
    return fail(ErrorCode::unreadable, external_place(tensor) + " needs " + std::to_string(length) + " bytes from byte " +
                                           std::to_string(offset) + " of " + in_quotes(tensor.location) + ", which has " +
                                           std::to_string(size) + " bytes");
  }
  tensor.range.length = length;
  tensor.bytes = content.substr(offset, length);
  return {};
}

}  // namespace

Result<void> ExternalFiles::resolve(TensorView& tensor) {
  if (tensor.storage != TensorStorage::external) return {};
  auto known = ids_.find(tensor.location);
  if (known == ids_.end()) {
    if (!folder_) {
      XFLOW_TRY(ModelFolder folder, ModelFolder::open(origin_.folder, origin_.allow_external));
      folder_ = std::move(folder);
    }
    if (folder_->path().empty()) {
      if (const auto checked = check_location(tensor.location); !checked)
        return fail(ErrorCode::unreadable, external_place(tensor) + ": " + checked.error().message);
      return fail(ErrorCode::unreadable, external_place(tensor) + " lies in the file " + in_quotes(tensor.location) +
                                             ", and no folder was given with the model's bytes");
    }
    auto found = folder_->file(tensor.location);
    if (!found) {
      const Error& error = found.error();
      const std::string where = error.where.empty() ? std::string() : " lies in the file " + in_quotes(error.where);
      return fail(ErrorCode::unreadable, external_place(tensor) + where + ": " + error.message);
    }
    files_.push_back({std::string(tensor.location), std::move(found->path), std::move(found->content)});
    known = ids_.emplace(tensor.location, FileId{static_cast<std::uint32_t>(files_.size())}).first;
  }
  tensor.file = known->second;
  return locate(tensor, files_[index(tensor.file) - 1].content->bytes());
}

Result<void> resolve_open(TensorView& tensor, const std::vector<ExternalFile>& files) {
  for (std::size_t i = 0; i < files.size(); ++i) {
    if (files[i].location != tensor.location) continue;
    tensor.file = FileId{static_cast<std::uint32_t>(i + 1)};
    return locate(tensor, files[i].content->bytes());
  }
  return fail(ErrorCode::internal, external_place(tensor) + " lies in the file " + in_quotes(tensor.location) + ", which is not open");
}

}  // namespace xflow::onnx_io
