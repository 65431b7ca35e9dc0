// The interface of executors of whole ONNX models: a runner, or a device of the caller.
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

// The location of a model: its bytes, or a file, which a model with external data needs. The bytes must
// outlive every ModelSource that refers to them.
struct ModelSource {
  std::string_view bytes;
  std::string path;  // absolute; used if it is not empty
};

// Runs ONNX models.
class ModelExecutor : public Executor {
 public:
  // Adds a model. It is loaded on its first run.
  virtual ProgramId add(ModelSource source) = 0;
  // Frees a model. It must not run afterwards.
  virtual void remove(ProgramId program) = 0;
  // Adds the inputs for another choice of sizes.
  virtual void add_inputs(std::vector<NamedTensor> inputs) = 0;
  // The outputs of one run, in the order of the model.
  virtual Result<std::vector<NamedTensor>> outputs(ProgramId program, std::size_t sizes) = 0;
  // Sets how many seconds later answers may take, for executors that wait for answers.
  virtual void set_patience(double /*seconds*/) {}
};

}  // namespace xflow::cost
