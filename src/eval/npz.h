// Reader for NumPy files: .npy (one tensor) and .npz (a zip archive of tensors, stored or deflated).
//
// Formats: numpy.lib.format versions 1 to 3; ZIP APPNOTE 6.3.9 with the central directory, zip64 included.
#pragma once

#include <xflow/error.h>

#include <map>
#include <string>
#include <string_view>

#include "src/eval/tensor.h"

namespace xflow::eval {

// Tensors by name (without ".npy"). Errors: io if the file cannot be read; unreadable if it is truncated or
// not in the format; unsupported for big-endian, structured or object arrays and for other compression
// methods.
Result<std::map<std::string, Tensor>> read_npz(const std::string& path);
Result<std::map<std::string, Tensor>> parse_npz(std::string_view bytes);
Result<Tensor> parse_npy(std::string_view bytes);

}  // namespace xflow::eval
