// Kernels as small ONNX models, to be timed in a runner.
#pragma once

#include <xflow/error.h>

#include <string>
#include <vector>

#include "src/devices/runner/runner.h"
#include "src/ops/kernel_spec.h"

namespace xflow::cost::runner {

// How several launches of a kernel stand in one model, so that no runtime can take two of them for one.
enum class Arrangement : std::uint8_t {
  chain,    // each reads the result of the one before
  weights,  // all read the same values, each with constants of its own
  beside,   // each reads values of its own
  pooled,   // the same, and these come out of convolutions, and results go to pools: in the layout that a runtime keeps between both
};

// What a model has beside each launch.
struct ModelExtras {
  std::size_t inputs = 0;  // of the model
  std::size_t outputs = 0;
  std::size_t split = 0;     // small operands that are parts of one input
  std::size_t gathered = 0;  // small results that are parts of one output
  std::size_t nodes = 0;
};

struct TimedModel {
  std::string bytes;
  std::vector<NamedTensor> inputs;
  ModelExtras extras;
};

// In which a kernel is timed.
Arrangement arrangement_of(const ops::KernelSpec& spec);

// A model of `launches` launches of the kernel with its post-operations. So that a runtime that keeps convolutions in a layout of its own
// need not change it for a launch, the operand of one with constant weights comes out of a convolution of one channel (not that of an
// image, with up to four), and its result goes to a pool that reads one of its elements. What it adds is the result of the launch before,
// for the first one another value out of a convolution. `pooled` has what surrounds `places` launches, of which `launches` are there.
// Errors: unsupported for kernels that no ONNX model has alone: without operands that change, reorders, and what opset 17 cannot express.
Result<TimedModel> kernel_model(const ops::KernelSpec& spec, int launches, int places, Arrangement arrangement);

}  // namespace xflow::cost::runner
