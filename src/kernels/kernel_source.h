// Source text of kernels, for devices that compile what they run. The text is C++ that both host compilers
// and CUDA compilers accept.
//
// A kernel is the graph that it computes (kernel_graph.h). Each operation becomes functions of one element
// (codegen/source_text.h). The function whose elements a pointwise operation changes calls the function of
// that operation, so a chain reads and writes memory once.
#pragma once

#include <xflow/error.h>

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "src/ops/kernel_spec.h"

namespace xflow::cost {

// A pointer argument of a function.
struct SourceArgument {
  enum class Kind : std::uint8_t { operand, result, scratch };
  Kind kind = Kind::operand;
  std::size_t number = 0;  // the kernel's own operands come first, then those of post-operations
  friend bool operator==(const SourceArgument&, const SourceArgument&) = default;
};

// A launch of one function with `blocks` blocks of `threads` threads.
struct SourceLaunch {
  std::string function;
  std::int64_t blocks = 0;
  int threads = 0;
  std::vector<SourceArgument> arguments;  // in the order of the function's parameters; results and scratch may be written
};

// The functions of one kernel and how to launch them.
struct SourceProgram {
  // Belongs after kernel_source_prelude(). For CUDA each function is
  //     extern "C" __global__ void FUNCTION(const void* a0, ...);
  // Elsewhere a function does the work of one block and loops over its threads:
  //     extern "C" void FUNCTION(long long xflow_block, const void* a0, ...);
  std::string text;
  std::vector<std::size_t> scratch;    // bytes of the tensors that one launch passes to a later one
  std::vector<SourceLaunch> launches;  // run in order; empty if the results have no elements
};

// The text that precedes the kernels of a file, once. It includes the prelude of codegen/source_text.h.
std::string kernel_source_prelude();

// The threads that compute an element which is a sum or maximum of many terms.
enum class SourceWay : std::uint8_t {
  block,  // a block, from 64 terms on
  // A thread. Neighbouring threads then read contiguous elements where the terms of a sum are not
  // contiguous.
  thread,
  row,  // one launch with a block for each row: for softmax and normalisations along the last dimensions
};

// The source text of `spec`. All operands and results are plain, except those of a reorder. The names of all
// functions begin with `name`. Error::unsupported for kernels without index notation or without numbers, for
// reorders to or from blocked layouts, and for SourceWay::row where the kernel has no rows.
Result<SourceProgram> kernel_source(const ops::KernelSpec& spec, std::string_view name, SourceWay way = SourceWay::block);

}  // namespace xflow::cost
