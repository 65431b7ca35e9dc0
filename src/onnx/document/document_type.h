// Declared types of the values of a document (TypeProto).
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
    missing,    // unknown
    value,      // a number; some exporters write -1 or another negative number for an unknown size
    parameter,  // a name; placeholders such as "?" are names in the file and carry no information
  };
  Kind kind = Kind::missing;
  std::int64_t value = 0;
  std::string_view parameter;

  std::string text() const;  // "3", "batch", "?"
};

// A TypeProto. Only the outermost level is decoded. `element` is the nested TypeProto of a sequence, map or
// optional.
struct DeclaredType {
  enum class Kind : std::uint8_t { missing, tensor, sparse_tensor, sequence, map, optional };
  Kind kind = Kind::missing;
  ir::DataType data_type = ir::DataType::undefined;  // type of a tensor's elements or of a map's keys
  // As in the file, also for numbers that xflow does not know.
  std::int32_t data_type_number = 0;
  bool ranked = false;  // whether a shape is declared, perhaps of rank 0
  std::vector<Dimension> dims;
  std::string_view element;  // payload of the nested TypeProto

  // Returns "float32[-1,3,?,batch]", "float32[...]" without a shape, "sequence(int64[?])", "map(string,
  // float32[])", or "?" if nothing is declared.
  std::string text() const;
};

// Reads a TypeProto into `type`. A call for a further piece of the same message merges it as protobuf does.
// Errors: unreadable, with the reason.
Result<void> parse_type(std::string_view payload, DeclaredType& type);

}  // namespace xflow::onnx_io
