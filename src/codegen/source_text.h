// Programs as source text: C++ that the compilers of a host and of CUDA read alike, for devices that compile what they run.
//
// Every operator has index notation, so every operator has such a text; it computes what the interpreter computes over float (over double
// where an operand or the result is), up to the order of sums and the accuracy of the functions of the compiler's library.
#pragma once

#include <xflow/error.h>

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "src/ir/graph.h"

namespace xflow::eval {

// What stands once before all texts of a file: types and functions whose names begin with xflow_.
std::string_view source_prelude();

// One tensor that the text computes: an array of `elements`, in the order of its indices.
struct SourceStage {
  std::string type;           // of an element in C: "float", "unsigned short" (half precision), "long long"
  std::size_t bytes = 0;      // of an element
  std::int64_t elements = 0;  // each computed for itself
  std::int64_t terms = 0;     // of the sum or maximum that each element is; 0: it is none
};

struct SourceText {
  // Has, for each stage k,
  //     struct xflow_places_k { const TYPE* x0; ... };     operands that are read and tensors of stages before (t0, t1, ...)
  //     XFLOW_FUNCTION TYPE xflow_element_k(const xflow_places_k& p, xflow_index at);
  // and, where it has terms, for those `first`, `first + step`, ... of them alone, and what makes one of two such numbers, and an element
  // of the last,
  //     XFLOW_FUNCTION NUMBER xflow_part_k(const xflow_places_k& p, xflow_index at, xflow_index first, xflow_index step);
  //     XFLOW_FUNCTION NUMBER xflow_combine_k(NUMBER a, NUMBER b);
  //     XFLOW_FUNCTION TYPE xflow_finish_k(NUMBER a);
  // XFLOW_FUNCTION is `__device__ __forceinline__` for CUDA and `static inline` elsewhere, where the prelude includes <math.h>.
  // xflow_index is an int where all indices fit, a long long elsewhere. Several texts of one file stand in a namespace each.
  std::string text;
  std::vector<SourceStage> stages;             // the last one is the result
  std::vector<std::vector<int>> operands;      // by stage: those it reads, ascending
  std::vector<std::vector<int>> intermediate;  // by stage: the stages it reads, ascending
};

// Of output `output` of an operation all of whose sizes are numbers. Operands that are constants of one element stand in the text as
// numbers. Of a pointwise operator, operands of the size of its result may be `handed` in: their place is not an array, but the element
// that stands where the result's does. Errors: unsupported, as for Loop::compile.
Result<SourceText> source_text(ir::Arena& arena, ir::NodeId operation, int output, std::span<const int> handed = {});

}  // namespace xflow::eval
