// Runs models in ONNX Runtime, in the Python of the test environment.
#pragma once

#include <string>
#include <vector>

namespace xflow::onnx_io::testing {

struct ModelPair {
  std::string before;  // paths
  std::string after;
  std::string inputs;  // .npz with in__NAME, or empty: seeded
};

// What compare_models.py says of pairs that do not compute the same; empty if all do.
std::string disagreements(const std::vector<ModelPair>& pairs);

}  // namespace xflow::onnx_io::testing
