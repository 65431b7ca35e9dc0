// Types of values as a document declares them (TypeProto).
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "src/ir/type.h"
#include "xflow/error.h"

namespace xflow::onnx_io {

// One dimension of a declared shape.
struct Dimension {
  enum class Kind : std::uint8_t {
    missing,    // nothing is known
    value,      // a number; -1 and other negative numbers are written by some exporters and mean nothing
    parameter,  // a name; placeholders such as "?" are names in the file and mean nothing
  };
  Kind kind = Kind::missing;
  std::int64_t value = 0;
  std::string_view parameter;

  std::string text() const;  // "3", "batch", "?"
};

// A TypeProto. Only the outermost level is decoded; of a sequence, map or optional `element` is the nested TypeProto.
struct DeclaredType {
  enum class Kind : std::uint8_t { missing, tensor, sparse_tensor, sequence, map, optional };
  Kind kind = Kind::missing;
  ir::DataType data_type = ir::DataType::undefined;  // of a tensor's elements or a map's keys
  std::int32_t data_type_number = 0;                 // as in the file, where data_type is undefined for numbers that xflow does not know
  bool ranked = false;                               // a shape is declared, perhaps of rank 0
  std::vector<Dimension> dims;
  std::string_view element;  // payload of the nested TypeProto

  // "float32[-1,3,?,batch]", "float32[...]" without a shape, "sequence(int64[?])", "map(string, float32[])", "?" where nothing is declared.
  std::string text() const;
};

// Reads a TypeProto into `type`; called again for further pieces of the same message it merges them as protobuf does.
// Errors: unreadable, saying what is wrong.
Result<void> parse_type(std::string_view payload, DeclaredType& type);

}  // namespace xflow::onnx_io
