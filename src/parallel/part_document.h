// Writes a part of a model as a model of its own.
#pragma once

#include <xflow/error.h>

#include <string>
#include <string_view>

#include "src/ir/graph.h"
#include "src/onnx/document/document.h"
#include "src/onnx/lift/lift.h"
#include "src/parallel/model_parts.h"

namespace xflow::parallel {

// The lifted integers of at most ir::Constant::kSmall elements that nodes compute and that are known before
// a run. Errors: those of computing them.
Result<KnownIntegers> known_integers(const onnx_io::Document& document, const onnx_io::LiftedModel& lifted, ir::Arena& arena);

// Writes parts of a document.
class PartWriter {
 public:
  // All arguments must outlive the writer.
  PartWriter(const onnx_io::Document& document, const onnx_io::LiftedModel& lifted, const ir::Arena& arena, const KnownIntegers& known)
      : document_(document), lifted_(lifted), arena_(arena), known_(known) {}

  // The bytes of part number `number`. Nodes, initializers, declarations and all fields of the model are
  // those of the document, byte for byte. External data stays where it is. Errors: unsupported for a tensor
  // whose type or rank is unknown.
  Result<std::string> write(const ModelPart& part, std::size_t number) const;

 private:
  Result<std::string> graph_of(const ModelPart& part, std::size_t number) const;
  Result<std::string> info_of(std::string_view name, std::size_t number) const;

  const onnx_io::Document& document_;
  const onnx_io::LiftedModel& lifted_;
  const ir::Arena& arena_;
  const KnownIntegers& known_;
};

}  // namespace xflow::parallel
