// Chooses the elements of outputs that `xflow check` compares if whole models take too much.
#pragma once

#include <vector>

#include "src/eval/sample.h"
#include "src/validation/check_inputs.h"
#include "src/validation/runnable.h"

namespace xflow::api {

// The elements of each output to compare; empty: all elements of all outputs. The sizes alone decide.
//
// Models within RunBounds::most() are compared as a whole. Otherwise the elements of each output are halved
// until both models can compute them, from the inputs and exactly, within a share of RunBounds. If one
// element of an output takes more than that, all elements are compared, in whatever time that takes.
std::vector<eval::Sample> choose_samples(Runnable& a, Runnable& b, const InputSet& set);

}  // namespace xflow::api
