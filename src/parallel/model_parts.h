// The parts of a model under a plan: which nodes each of them has, and which tensors pass between them.
#pragma once

#include <xflow/error.h>

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "src/ir/constant.h"
#include "src/onnx/document/document.h"

namespace xflow::parallel {

// A tensor that a part reads, or an output of the model.
struct CutTensor {
  std::string_view name;
  std::optional<std::uint32_t> part;  // nothing: an input of the model
  friend bool operator==(const CutTensor&, const CutTensor&) = default;
};

struct ModelPart {
  std::uint32_t device = 0;
  std::uint32_t stage = 0;
  std::vector<onnx_io::NodeId> nodes;          // in topological order; includes copied nodes
  std::vector<CutTensor> inputs;               // by first use
  std::vector<std::string_view> outputs;       // by first use in other parts, then those of the model
  std::vector<std::string_view> initializers;  // that it reads, by first use; also sparse ones
  std::vector<std::string_view> known;         // values that are constants in this part alone, by first use
};

struct ModelParts {
  std::vector<ModelPart> parts;    // by (stage, device)
  std::vector<CutTensor> outputs;  // of the model, in its order
  std::size_t left_out = 0;        // nodes that no part has
  std::size_t copied = 0;          // nodes that several parts have, each counted once
};

// Whether two runs of a node of the document may differ: it draws random numbers, or a body of it or the
// function that it calls has such a node. Operators of other domains count as if they draw none.
bool is_random(const onnx_io::Document& document, const onnx_io::Node& node);

// Integers that are known before a run, by name.
using KnownIntegers = std::unordered_map<std::string_view, ir::Constant>;

// Divides the nodes of the main graph. `devices`: of each node, in the order of the file; a node without one
// follows its first reader that has one, otherwise what it reads. Nodes of ONNX's own domain that compute
// constants, whatever their device, are copied to the parts that read them. Values in `known` are not sent.
ModelParts divide(const onnx_io::Document& document, std::span<const std::optional<std::uint32_t>> devices, const KnownIntegers& known);

}  // namespace xflow::parallel
