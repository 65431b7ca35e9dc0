// Nodes of two documents that compute the same function.
#pragma once

#include <cstdint>

#include "src/equivalence/same_bodies.h"
#include "src/equivalence/sweep.h"
#include "src/onnx/document/document.h"

namespace xflow::equivalence {

// Whether two nodes of one document compute the same of the same operands: equal operators and attributes,
// bodies byte for byte, and no random numbers.
bool are_equal(const onnx_io::Document& document, const onnx_io::Node& a, const onnx_io::Node& b);

// Nodes of the same operator, version, attributes and operands; bodies and local functions byte for byte, or
// bodies of If, Loop and Scan as SameBodies does. Operators that draw random numbers are never the same.
// Serial numbers of the second document's nodes begin at `first_of_b`.
class SameNodes final : public SameFunction {
 public:
  // The arguments must outlive this object.
  SameNodes(const onnx_io::Document& a, const onnx_io::Document& b, std::uint32_t first_of_b, SameBodies& bodies)
      : a_(a), b_(b), first_of_b_(first_of_b), bodies_(bodies) {}
  bool operator()(const OpaqueUse& of_a, const OpaqueUse& of_b) const override;

 private:
  const onnx_io::Document& a_;
  const onnx_io::Document& b_;
  std::uint32_t first_of_b_;
  SameBodies& bodies_;
};

}  // namespace xflow::equivalence
