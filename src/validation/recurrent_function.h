// Activation functions of ONNX's LSTM, GRU and RNN.
#pragma once

#include <xflow/error.h>

#include <cstdint>
#include <vector>

#include "src/onnx/document/document.h"

namespace xflow::api {

// A function of one number: Relu, Tanh, Sigmoid, Affine, LeakyRelu, ThresholdedRelu, ScaledTanh,
// HardSigmoid, Elu, Softsign or Softplus, as ONNX defines them.
class RecurrentFunction {
 public:
  enum class Kind : std::uint8_t {
    relu,
    tanh,
    sigmoid,
    affine,
    leaky_relu,
    thresholded_relu,
    scaled_tanh,
    hard_sigmoid,
    elu,
    softsign,
    softplus,
  };

  explicit RecurrentFunction(Kind kind, double alpha = 0, double beta = 0) : kind_(kind), alpha_(alpha), beta_(beta) {}

  double operator()(double x) const { return value(x); }
  float operator()(float x) const { return value(x); }  // computed in float

 private:
  template <typename T>
  T value(T x) const;

  Kind kind_;
  double alpha_;
  double beta_;
};

// The functions that attributes activations, activation_alpha and activation_beta of a node name;
// `otherwise` without activations. As in ONNX Runtime, each function that has an alpha takes the next one of
// the list, and the default of its ONNX operator behind the end; beta likewise.
//
// Errors: unsupported for a name that ONNX does not have, for an Affine or ScaledTanh without alpha or beta,
// which have no default, for a ThresholdedRelu without alpha, for which ONNX and ONNX Runtime have different
// ones, for numbers that no function takes, and for another number of names.
Result<std::vector<RecurrentFunction>> recurrent_functions(const onnx_io::Node& node, const std::vector<RecurrentFunction>& otherwise);

}  // namespace xflow::api
