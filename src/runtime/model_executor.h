// What runs whole ONNX models: a runner, or a device of the caller.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "src/eval/tensor.h"
#include "src/runtime/executor.h"

namespace xflow::cost {

struct NamedTensor {
  std::string name;
  eval::Tensor tensor;
};

// Where a model is: its bytes, or a file, which a model with external data needs. The bytes must live as long as whoever keeps this.
struct ModelSource {
  std::string_view bytes;
  std::string path;  // absolute; used where it is not empty
};

class ModelExecutor : public Executor {
 public:
  // Loaded when it is run for the first time.
  virtual ProgramId add(ModelSource source) = 0;
  // No run of it follows; frees what is held of it.
  virtual void remove(ProgramId program) = 0;
  // The inputs for a further choice of sizes.
  virtual void add_inputs(std::vector<NamedTensor> inputs) = 0;
  // Of one run, in the order of the model.
  virtual Result<std::vector<NamedTensor>> outputs(ProgramId program, std::size_t sizes) = 0;
  // Seconds that an answer may take from now on, where it can be waited for.
  virtual void set_patience(double /*seconds*/) {}
};

}  // namespace xflow::cost
