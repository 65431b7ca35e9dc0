// Names that xflow chooses for files of external data, and the models that refer to them.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace xflow::onnx_io {

// Returns "MODEL.0123456789abcdef.data", where `model` is the file name of the model.
std::string data_name(std::string_view model, std::uint64_t hash);
bool is_data_name(std::string_view name, std::string_view model);

// Returns those of `names` that occur in the file `path`. Empty if the file is not a regular file or does
// not read as an ONNX model.
std::vector<std::string> named_in(const std::string& path, std::span<const std::string> names);

}  // namespace xflow::onnx_io
