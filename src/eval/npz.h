// Reader and writer of NumPy files: .npy (one tensor) and .npz (a zip archive of tensors, stored or
// deflated).
//
// Formats: numpy.lib.format versions 1 to 3; ZIP APPNOTE 6.3.9 with the central directory, zip64 included.
#pragma once

#include <xflow/error.h>

#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "src/eval/tensor.h"

namespace xflow::eval {

// Tensors by name (without ".npy"). Errors: io if the file cannot be read; unreadable if it is truncated or
// not in the format; unsupported for big-endian, structured or object arrays and for other compression
// methods.
Result<std::map<std::string, Tensor>> read_npz(const std::string& path);
Result<std::map<std::string, Tensor>> parse_npz(std::string_view bytes);
Result<Tensor> parse_npy(std::string_view bytes);

// An array to write. `bytes`: its elements, row-major and little-endian.
struct NpzArray {
  std::string name;
  ir::DataType data_type = ir::DataType::undefined;
  std::vector<std::int64_t> dims;
  std::string_view bytes;
};

// A .npz file with these arrays in their order, stored; equal arrays give equal bytes. Errors: unsupported
// for a type that NumPy does not have and for 2 GiB and more.
Result<std::string> write_npz(std::span<const NpzArray> arrays);

}  // namespace xflow::eval
