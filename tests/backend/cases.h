// Cases in the layout of ONNX's backend tests: a folder with model.onnx and test_data_set_K/{input,output}_N.pb.
#pragma once

#include <xflow/error.h>

#include <string>
#include <vector>

#include "src/eval/evaluate.h"

namespace xflow::backend {

// What became of one case.
struct Outcome {
  enum class Kind { agrees, differs, not_covered };
  Kind kind = Kind::agrees;
  std::string text;  // differs: why; not_covered: the operators that are opaque, or what the harness cannot read, without the reason
};

// Runs a case through document, lift and evaluate, and compares with its expected outputs. Inputs that only a constant can be (the shape
// of a Reshape) are made constants of the model.
Outcome run_case(const std::string& folder, eval::Number number);

// The names of the cases in a folder, sorted.
std::vector<std::string> case_names(const std::string& folder);

}  // namespace xflow::backend
