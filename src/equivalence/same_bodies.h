// Nodes of two documents whose bodies (If, Loop, Scan) are proved to be equal.
#pragma once

#include <xflow/verify_models.h>

#include <cstddef>
#include <functional>
#include <map>
#include <optional>
#include <utility>
#include <vector>

#include "src/equivalence/sweep.h"
#include "src/equivalence/two_models.h"
#include "src/ir/graph.h"
#include "src/onnx/document/document.h"

namespace xflow::equivalence {

// Proves bodies. Two nodes compute the same if their inputs are equal, and each body of one is equal to that
// of the other for all values of its inputs:
// - If: the same branch runs. Its inputs are captured values.
// - Loop, Scan: by induction over iterations. The first one gets equal inputs; equal bodies make equal
//   states, conditions and elements of results of them.
// A captured value of A and one of B are one input if they are equal. Others may be anything.
class SameBodies {
 public:
  // Proves that two documents, which are bodies, have equal outputs. Nothing if it was not tried.
  using Prove = std::function<std::optional<ModelProof>(onnx_io::Document, onnx_io::Document, const BodyInputs&)>;
  // The arguments must outlive this object. Proofs are kept: nodes are compared once for each choice of
  // equal inputs.
  SameBodies(const ir::Arena& arena, const onnx_io::Document& a, const onnx_io::Document& b, Prove prove)
      : arena_(arena), a_(a), b_(b), prove_(std::move(prove)) {}

  // Whether all bodies are equal. The nodes are of the same operator and version, have equal operands for
  // their inputs, and equal attributes but for the bodies.
  bool operator()(const onnx_io::Node& a, const OpaqueUse& use_a, const onnx_io::Node& b, const OpaqueUse& use_b);

  // A node of B is equal to one of A without a proof.
  void note_equal(const onnx_io::Node& b);

  // The proofs of the bodies of nodes that are equal, since the last call of clear(); and of the first pair
  // of bodies that are not, for each node of B that is equal to none.
  std::vector<const ModelProof*> proofs() const;
  // Forgets which nodes were compared, but not the proofs.
  void clear();

 private:
  using Key = std::vector<std::size_t>;
  const ModelProof* compare(const onnx_io::Graph& a, const OpaqueUse& use_a, const onnx_io::Graph& b, const OpaqueUse& use_b);

  const ir::Arena& arena_;
  const onnx_io::Document& a_;
  const onnx_io::Document& b_;
  Prove prove_;
  std::map<Key, ModelProof> known_;                                   // proofs that succeeded, and the last ones that did not
  std::map<onnx_io::NodeId, std::vector<const ModelProof*>> equal_;   // by node of B
  std::map<onnx_io::NodeId, std::vector<const ModelProof*>> failed_;  // the same
};

}  // namespace xflow::equivalence
