// Names of files of external data that xflow chooses, and who uses them.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace xflow::onnx_io {

// "MODEL.0123456789abcdef.data": `model` is the name of the model's file.
std::string data_name(std::string_view model, std::uint64_t hash);
bool is_data_name(std::string_view name, std::string_view model);

// Those of `names` that the file `path` mentions. None if it is not a regular file that reads as an ONNX model.
std::vector<std::string> named_in(const std::string& path, std::span<const std::string> names);

}  // namespace xflow::onnx_io
