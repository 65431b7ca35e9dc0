// Models as the benchmarks of this folder take them.
#pragma once

#include <xflow/error.h>

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "src/onnx/document/document.h"
#include "src/onnx/lift/lift.h"
#include "src/validation/check_inputs.h"
#include "src/validation/sizes.h"

namespace xflow {

// A model, at the sizes that are assumed where none are given, with seeded inputs.
struct Lifted {
  std::optional<onnx_io::Document> document;
  ir::Arena arena;
  onnx_io::LiftedModel model;
  std::vector<api::NamedInput> inputs;
  std::optional<api::Sizes> sizes;
  api::InputSet set;
};

Result<std::unique_ptr<Lifted>> lift(const std::string& path);

}  // namespace xflow
