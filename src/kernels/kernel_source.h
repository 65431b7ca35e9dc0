// Kernels as source text, for devices that compile what they run: C++ that the compilers of a host and of CUDA read alike.
//
// A kernel is the graph of what it computes (kernel_graph.h). Each operation becomes functions of one element (eval/source_text.h); those
// of pointwise operations are called by the function whose element they change, so that a chain reads and writes memory once.
#pragma once

#include <xflow/error.h>

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "src/ops/kernel_spec.h"

namespace xflow::cost {

// A pointer that a function is called with.
struct SourceArgument {
  enum class Kind : std::uint8_t { operand, result, scratch };
  Kind kind = Kind::operand;
  std::size_t number = 0;  // operands of post-operations follow the kernel's own
  friend bool operator==(const SourceArgument&, const SourceArgument&) = default;
};

// `blocks` blocks of `threads` threads run one function.
struct SourceLaunch {
  std::string function;
  std::int64_t blocks = 0;
  int threads = 0;
  std::vector<SourceArgument> arguments;  // in the order of the function's parameters; results and scratch may be written
};

struct SourceProgram {
  // Begins after source_prelude(). For CUDA each function is
  //     extern "C" __global__ void FUNCTION(const void* a0, ...);
  // elsewhere what one block of it does, whose threads take turns:
  //     extern "C" void FUNCTION(long long xflow_block, const void* a0, ...);
  std::string text;
  std::vector<std::size_t> scratch;    // bytes of the tensors that one launch leaves for a later one
  std::vector<SourceLaunch> launches;  // one after the other; none where the results have no elements
};

// What stands once before the kernels of a file; has that of eval/source_text.h.
std::string kernel_source_prelude();

// Who computes an element that is a sum or maximum of many terms.
enum class SourceWay : std::uint8_t {
  block,   // a block, from 64 terms on
  thread,  // a thread: neighbours then read side by side where the terms of a sum do not lie so
  row,     // a block computes a row in one launch: of softmax and normalisations along the last dimensions
};

// All operands and results are plain, but those of a reorder. `name` begins the names of all functions. Errors: unsupported for
// what has no index notation or no numbers, for reorders from and to blocked layouts, and for rows of what has none.
Result<SourceProgram> kernel_source(const ops::KernelSpec& spec, std::string_view name, SourceWay way = SourceWay::block);

}  // namespace xflow::cost
