// Nodes of two documents that compute the same function.
#pragma once

#include <cstdint>

#include "src/equivalence/sweep.h"
#include "src/onnx/document/document.h"

namespace xflow::equivalence {

// Nodes of the same operator, version and attributes; bodies and local functions byte for byte. Operators
// that draw random numbers are never the same. Serial numbers of the second document's nodes begin at
// `first_of_b`.
class SameNodes final : public SameFunction {
 public:
  SameNodes(const onnx_io::Document& a, const onnx_io::Document& b, std::uint32_t first_of_b) : a_(a), b_(b), first_of_b_(first_of_b) {}
  bool operator()(std::uint32_t of_a, std::uint32_t of_b) const override;

 private:
  const onnx_io::Document& a_;
  const onnx_io::Document& b_;
  std::uint32_t first_of_b_;
};

}  // namespace xflow::equivalence
