// Builds small ONNX models of a kernel, to be timed in a runner.
#pragma once

#include <xflow/error.h>

#include <string>
#include <vector>

#include "src/devices/runner/runner.h"
#include "src/ops/kernel_spec.h"

namespace xflow::cost::runner {

// The arrangement of several launches of a kernel in one model. It keeps a runtime from merging two
// launches.
enum class Arrangement : std::uint8_t {
  chain,    // each launch reads the result of the one before
  weights,  // all launches read the same values, each with its own constants
  beside,   // each launch reads its own values
  // As beside, but the values come out of convolutions and the results go to pools, so that they have the
  // layout that a runtime uses between convolutions and pools.
  pooled,
};

// The parts of a model that each further launch adds besides its kernel.
struct ModelExtras {
  std::size_t inputs = 0;  // model inputs
  std::size_t outputs = 0;
  std::size_t split = 0;     // small operands, taken from a common input by a split
  std::size_t gathered = 0;  // small results, joined into a common output by a concat
  std::size_t nodes = 0;
};

struct TimedModel {
  std::string bytes;
  std::vector<NamedTensor> inputs;
  ModelExtras extras;
};

// The arrangement for timing a kernel.
Arrangement arrangement_of(const ops::KernelSpec& spec);

// A model of `launches` launches of the kernel with its post-operations.
// Some runtimes keep convolutions in a layout of their own. So that a launch needs no layout conversion, the
// operand of a convolution with constant weights comes out of a convolution of one channel (except for an
// image, an operand of up to four channels), and its result goes to a pool that reads one of its elements. A
// residual is the result of the launch before; that of the first launch is another value out of a
// convolution.
// `pooled`: the model has the surroundings of `places` launches, but only `launches` launches.
// Errors: unsupported for kernels that cannot be a model alone: those without run-time operands, reorders,
// and those that opset 17 cannot express.
Result<TimedModel> kernel_model(const ops::KernelSpec& spec, int launches, int places, Arrangement arrangement);

}  // namespace xflow::cost::runner
