// Source text of programs, for devices that compile what they run. The text is C++ that both host compilers
// and CUDA compilers accept.
//
// Every operator has index notation, so every operator has a source text. The text computes what the
// interpreter computes in float (in double if an operand or the result is double), up to the order of sums
// and the accuracy of the compiler's math library.
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

// The text that precedes all other texts of a file, once: types and functions whose names begin with xflow_.
std::string_view source_prelude();

// A tensor that the text computes: an array of `elements`, in the order of its indices.
struct SourceStage {
  std::string type;           // C type of an element: "float", "unsigned short" (half precision), "long long"
  std::size_t bytes = 0;      // of an element
  std::int64_t elements = 0;  // number of elements, each computed independently
  std::int64_t terms = 0;     // terms of the sum or maximum that an element is; 0: it is neither
};

// The functions of one operation and what they read.
struct SourceText {
  // For each stage k the text contains
  //     struct xflow_places_k { const TYPE* x0; ... };     the operands and the earlier stages (t0, t1, ...)
  //     that it reads
  //     XFLOW_FUNCTION TYPE xflow_element_k(const xflow_places_k& p, xflow_index at);
  // If the stage has terms, it also contains a function for the partial result over the terms `first`,
  // `first
  // + step`, ..., one that combines two partial results, and one that converts the total to an element:
  //     XFLOW_FUNCTION NUMBER xflow_part_k(const xflow_places_k& p, xflow_index at, xflow_index first,
  //     xflow_index step);
  //     XFLOW_FUNCTION NUMBER xflow_combine_k(NUMBER a, NUMBER b);
  //     XFLOW_FUNCTION TYPE xflow_finish_k(NUMBER a);
  // XFLOW_FUNCTION is `__device__ __forceinline__` for CUDA and `static inline` elsewhere, where the prelude
  // includes <math.h>. xflow_index is int if all indices fit, otherwise long long. Several texts in one file
  // need a namespace each.
  std::string text;
  std::vector<SourceStage> stages;             // the last one is the result
  std::vector<std::vector<int>> operands;      // by stage: the operands that it reads, ascending
  std::vector<std::vector<int>> intermediate;  // by stage: the stages it reads, ascending
};

// The text of output `output` of an operation whose sizes are all numbers. Operands that are constants of
// one element appear as numbers. For a pointwise operator, `handed` lists operands of the result's size
// whose current element is passed instead of an array. Error::unsupported as for Loop::compile.
Result<SourceText> source_text(ir::Arena& arena, ir::NodeId operation, int output, std::span<const int> handed = {});

}  // namespace xflow::eval
