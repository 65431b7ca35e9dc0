// LSTM, GRU and RNN of ONNX, which xflow has no operator for. Runs of documents compute them.
#pragma once

#include <xflow/error.h>

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "src/eval/evaluate.h"
#include "src/eval/tensor.h"
#include "src/onnx/document/document.h"

namespace xflow::api {

// Whether a node is LSTM, GRU or RNN of ONNX's own domain.
bool is_recurrent(const onnx_io::Node& node);

// Returns the tensors of the outputs of a recurrent node; null for an output that has no name. `opset` is
// that of its graph. Of `options` number, stop and most_elements are read; the number is float64 or float32.
//
// The meaning is that of ONNX (operator versions 7, 14 and 22), and where ONNX is silent that of ONNX
// Runtime: results behind the end of a shorter sequence are 0, and the direction reverse begins at the end
// of each sequence. clip bounds the arguments of the functions of gates, not that of the last function of an
// LSTM. With input_forget an LSTM forgets 1 - i, where i is its input gate.
//
// Errors: unsupported for an earlier opset, for operands and attributes that do not fit and for sequences
// without elements; those of recurrent_functions; limit for a result of more than most_elements, and by
// stop.
Result<std::vector<std::shared_ptr<const eval::Tensor>>> run_recurrent(const onnx_io::Node& node, std::int64_t opset,
                                                                       std::span<const std::shared_ptr<const eval::Tensor>> operands,
                                                                       const eval::Options& options);

}  // namespace xflow::api
