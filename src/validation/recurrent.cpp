#include "src/validation/recurrent.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <string>
#include <string_view>
#include <utility>

#include "src/ir/narrow.h"
#include "src/onnx/lift/lift_operator.h"
#include "src/support/printable.h"
#include "src/validation/recurrent_function.h"

namespace xflow::api {
namespace {

using eval::Tensor;
using Kind = RecurrentFunction::Kind;
using Value = std::shared_ptr<const Tensor>;
using Operands = std::span<const Value>;
using Dims = std::vector<std::int64_t>;

constexpr std::int64_t kFirstOpset = 7;

enum class Cell : std::uint8_t { lstm, gru, rnn };

// Places of operands. An LSTM has two more.
constexpr std::size_t kX = 0;
constexpr std::size_t kW = 1;
constexpr std::size_t kR = 2;
constexpr std::size_t kB = 3;
constexpr std::size_t kLengths = 4;
constexpr std::size_t kInitialH = 5;
constexpr std::size_t kInitialC = 6;
constexpr std::size_t kPeepholes = 7;
constexpr std::array<std::string_view, 8> kNames = {"X", "W", "R", "B", "sequence_lens", "initial_h", "initial_c", "P"};

Unexpected not_computed(std::string message) { return fail(ErrorCode::unsupported, std::move(message)); }

bool has(Operands operands, std::size_t k) { return k < operands.size() && operands[k] != nullptr; }

// A node with its attributes and sizes.
struct Recurrent {
  Cell cell = Cell::rnn;
  std::size_t gates = 1;
  std::size_t directions = 1;
  bool first_is_reverse = false;  // of the directions; the second one always is
  bool batch_first = false;
  bool has_clip = false;
  double clip = 0;
  bool input_forget = false;
  bool linear_before_reset = false;
  std::size_t sequence = 0;
  std::size_t batch = 0;
  std::size_t inputs = 0;
  std::size_t hidden = 0;
  std::vector<RecurrentFunction> functions;  // of all directions
  std::vector<std::size_t> lengths;          // by element of the batch

  std::size_t functions_of_a_direction() const { return functions.size() / directions; }
  // Indices of elements.
  std::size_t x(std::size_t t, std::size_t n) const { return (batch_first ? n * sequence + t : t * batch + n) * inputs; }
  std::size_t y(std::size_t t, std::size_t d, std::size_t n) const {
    return (batch_first ? (n * sequence + t) * directions + d : (t * directions + d) * batch + n) * hidden;
  }
  std::size_t state(std::size_t d, std::size_t n) const { return (batch_first ? n * directions + d : d * batch + n) * hidden; }
};

Result<std::int64_t> integer_of(const onnx_io::Node& node, std::string_view name, std::int64_t otherwise) {
  const onnx_io::Attribute* attribute = node.find(name);
  return attribute == nullptr ? Result<std::int64_t>(otherwise) : attribute->integer();
}

Result<bool> flag_of(const onnx_io::Node& node, std::string_view name) {
  XFLOW_TRY(const std::int64_t value, integer_of(node, name, 0));
  if (value != 0 && value != 1) return not_computed(fmt::format("{} is {}", name, value));
  return value == 1;
}

std::vector<RecurrentFunction> default_functions(const Recurrent& node) {
  std::vector<RecurrentFunction> functions;
  for (std::size_t d = 0; d < node.directions; ++d) {
    if (node.cell != Cell::rnn) functions.emplace_back(Kind::sigmoid);
    functions.emplace_back(Kind::tanh);
    if (node.cell == Cell::lstm) functions.emplace_back(Kind::tanh);
  }
  return functions;
}

Result<Recurrent> with_attributes(const onnx_io::Node& node) {
  Recurrent result;
  result.cell = node.op_type == "LSTM" ? Cell::lstm : node.op_type == "GRU" ? Cell::gru : Cell::rnn;
  result.gates = result.cell == Cell::lstm ? 4 : result.cell == Cell::gru ? 3 : 1;
  std::string_view direction = "forward";
  if (const onnx_io::Attribute* attribute = node.find("direction")) {
    XFLOW_TRY(direction, attribute->string());
  }
  if (direction != "forward" && direction != "reverse" && direction != "bidirectional")
    return not_computed(fmt::format("direction is '{}'", direction));
  result.directions = direction == "bidirectional" ? 2 : 1;
  result.first_is_reverse = direction == "reverse";
  if (const onnx_io::Attribute* attribute = node.find("clip")) {
    XFLOW_TRY(const float clip, attribute->real());
    if (!(clip >= 0)) return not_computed(fmt::format("clip is {}", clip));
    result.has_clip = true;
    result.clip = static_cast<double>(clip);
  }
  XFLOW_TRY(result.batch_first, flag_of(node, "layout"));
  if (result.cell == Cell::lstm) {
    XFLOW_TRY(result.input_forget, flag_of(node, "input_forget"));
  }
  if (result.cell == Cell::gru) {
    XFLOW_TRY(result.linear_before_reset, flag_of(node, "linear_before_reset"));
  }
  XFLOW_TRY(result.functions, recurrent_functions(node, default_functions(result)));
  return result;
}

// Error::unsupported if an operand that is there has another type than X or another shape.
Result<void> expect(Operands operands, std::size_t k, const Dims& dims) {
  if (!has(operands, k)) return {};
  const Tensor& tensor = *operands[k];
  if (tensor.data_type == operands[kX]->data_type && tensor.dims == dims) return {};
  return not_computed(fmt::format("operand {} is {}, not {}[{}]", kNames[k], eval::type_text(tensor), ir::name(operands[kX]->data_type),
                                  fmt::join(dims, ",")));
}

// Error::unsupported for lengths that are not from 1 to that of the longest sequence.
Result<void> take_lengths(Recurrent& node, Operands operands) {
  node.lengths.assign(node.batch, node.sequence);
  if (!has(operands, kLengths)) return {};
  const Tensor& tensor = *operands[kLengths];
  if (tensor.data_type != ir::DataType::int32 || tensor.dims != Dims{static_cast<std::int64_t>(node.batch)})
    return not_computed(fmt::format("operand sequence_lens is {}, not int32[{}]", eval::type_text(tensor), node.batch));
  XFLOW_TRY(const std::vector<std::int64_t> lengths, eval::integers(tensor));
  for (std::size_t n = 0; n < lengths.size(); ++n) {
    if (lengths[n] < 1 || std::cmp_greater(lengths[n], node.sequence))
      return not_computed(fmt::format("a sequence has the length {} of {}", lengths[n], node.sequence));
    node.lengths[n] = static_cast<std::size_t>(lengths[n]);
  }
  return {};
}

Result<void> take_sizes(Recurrent& node, const onnx_io::Node& origin, Operands operands) {
  for (const std::size_t k : {kX, kW, kR}) {
    if (!has(operands, k)) return not_computed(fmt::format("operand {} is omitted", kNames[k]));
    if (operands[k]->dims.size() != 3 || operands[k]->count() == 0)
      return not_computed(fmt::format("operand {} is {}", kNames[k], eval::type_text(*operands[k])));
  }
  const Dims& x = operands[kX]->dims;
  const std::int64_t batch = x[node.batch_first ? 0 : 1];
  const std::int64_t hidden = operands[kR]->dims[2];
  const auto directions = static_cast<std::int64_t>(node.directions);
  const std::int64_t rows = static_cast<std::int64_t>(node.gates) * hidden;
  if (!ir::is_floating(operands[kX]->data_type) || ir::is_narrow(operands[kX]->data_type))
    return not_computed(fmt::format("operand X is {}", eval::type_text(*operands[kX])));
  XFLOW_TRY(const std::int64_t declared, integer_of(origin, "hidden_size", hidden));
  if (declared != hidden) return not_computed(fmt::format("hidden_size is {}, and R has {}", declared, hidden));
  XFLOW_CHECK(expect(operands, kW, {directions, rows, x[2]}));
  XFLOW_CHECK(expect(operands, kR, {directions, rows, hidden}));
  XFLOW_CHECK(expect(operands, kB, {directions, 2 * rows}));
  const Dims state = node.batch_first ? Dims{batch, directions, hidden} : Dims{directions, batch, hidden};
  XFLOW_CHECK(expect(operands, kInitialH, state));
  XFLOW_CHECK(expect(operands, kInitialC, state));
  XFLOW_CHECK(expect(operands, kPeepholes, {directions, 3 * hidden}));
  node.sequence = static_cast<std::size_t>(x[node.batch_first ? 1 : 0]);
  node.batch = static_cast<std::size_t>(batch);
  node.inputs = static_cast<std::size_t>(x[2]);
  node.hidden = static_cast<std::size_t>(hidden);
  return take_lengths(node, operands);
}

// The elements of an operand; `count` zeros if it is omitted.
template <typename T>
Result<std::vector<T>> elements(Operands operands, std::size_t k, std::size_t count) {
  if (!has(operands, k)) return std::vector<T>(count, T(0));
  XFLOW_TRY(const std::vector<double> values, eval::doubles(*operands[k]));
  return std::vector<T>(values.begin(), values.end());
}

template <typename T>
class Run {
 public:
  Run(const Recurrent& node, const eval::Options& options) : node_(node), options_(options) {}

  Result<void> read(Operands operands) {
    const std::size_t states = node_.directions * node_.batch * node_.hidden;
    XFLOW_TRY(x_, elements<T>(operands, kX, 0));
    XFLOW_TRY(w_, elements<T>(operands, kW, 0));
    XFLOW_TRY(r_, elements<T>(operands, kR, 0));
    XFLOW_TRY(b_, elements<T>(operands, kB, node_.directions * 2 * node_.gates * node_.hidden));
    XFLOW_TRY(h_, elements<T>(operands, kInitialH, states));
    XFLOW_TRY(c_, elements<T>(operands, kInitialC, states));
    XFLOW_TRY(p_, elements<T>(operands, kPeepholes, node_.directions * 3 * node_.hidden));
    y_.assign(node_.sequence * states, T(0));
    return {};
  }

  // Error::limit by options.stop.
  Result<void> run() {
    for (std::size_t d = 0; d < node_.directions; ++d) {
      const bool is_reverse = d == 1 || node_.first_is_reverse;
      for (std::size_t n = 0; n < node_.batch; ++n) {
        const std::size_t length = node_.lengths[n];
        for (std::size_t k = 0; k < length; ++k) {
          if (options_.stop && options_.stop()) return fail(ErrorCode::limit, "the run was stopped");
          step(d, n, is_reverse ? length - 1 - k : k);
        }
      }
    }
    return {};
  }

  std::vector<T>& y() { return y_; }
  std::vector<T>& h() { return h_; }
  std::vector<T>& c() { return c_; }

 private:
  // The rows of a gate of one direction times a vector.
  std::vector<T> product(const std::vector<T>& weights, std::size_t d, std::size_t gate, const T* vector, std::size_t size) const {
    std::vector<T> result(node_.hidden);
    for (std::size_t j = 0; j < node_.hidden; ++j) {
      const T* row = &weights[((d * node_.gates + gate) * node_.hidden + j) * size];
      T sum = 0;
      for (std::size_t k = 0; k < size; ++k) sum += row[k] * vector[k];
      result[j] = sum;
    }
    return result;
  }

  T bias(std::size_t d, bool is_recurrent, std::size_t gate, std::size_t j) const {
    return b_[((2 * d + (is_recurrent ? 1 : 0)) * node_.gates + gate) * node_.hidden + j];
  }

  // X W' + Wb + H R' + Rb of one gate.
  std::vector<T> gate(std::size_t d, std::size_t g, const T* x, const T* h) const {
    std::vector<T> sum = product(w_, d, g, x, node_.inputs);
    const std::vector<T> recurrent = product(r_, d, g, h, node_.hidden);
    for (std::size_t j = 0; j < node_.hidden; ++j) sum[j] += recurrent[j] + bias(d, false, g, j) + bias(d, true, g, j);
    return sum;
  }

  // Function `f` of a direction, of the bounded number.
  T function(std::size_t d, std::size_t f, T x) const { return unbounded(d, f, bounded(x)); }
  T unbounded(std::size_t d, std::size_t f, T x) const { return node_.functions[d * node_.functions_of_a_direction() + f](x); }
  T bounded(T x) const { return node_.has_clip ? std::clamp(x, static_cast<T>(-node_.clip), static_cast<T>(node_.clip)) : x; }

  void step(std::size_t d, std::size_t n, std::size_t t) {
    const T* x = &x_[node_.x(t, n)];
    T* h = &h_[node_.state(d, n)];
    switch (node_.cell) {
      case Cell::rnn: {
        const std::vector<T> sum = gate(d, 0, x, h);
        for (std::size_t j = 0; j < node_.hidden; ++j) h[j] = function(d, 0, sum[j]);
        break;
      }
      case Cell::gru:
        gated_step(d, x, h);
        break;
      case Cell::lstm:
        step_with_memory(d, x, h, &c_[node_.state(d, n)]);
        break;
    }
    std::copy_n(h, node_.hidden, &y_[node_.y(t, d, n)]);
  }

  // z = f(x Wz' + h Rz' + b), r likewise; with linear_before_reset s = g(x Wh' + Wb + r (h Rh' + Rb)), else
  // s = g(x Wh' + Wb + (r h) Rh' + Rb); h = (1 - z) s + z h.
  void gated_step(std::size_t d, const T* x, T* h) const {
    const std::vector<T> update = gate(d, 0, x, h);
    const std::vector<T> reset = gate(d, 1, x, h);
    std::vector<T> kept(h, h + node_.hidden);
    if (!node_.linear_before_reset)
      for (std::size_t j = 0; j < node_.hidden; ++j) kept[j] *= function(d, 0, reset[j]);
    const std::vector<T> of_x = product(w_, d, 2, x, node_.inputs);
    const std::vector<T> of_h = product(r_, d, 2, kept.data(), node_.hidden);
    for (std::size_t j = 0; j < node_.hidden; ++j) {
      T recurrent = of_h[j] + bias(d, true, 2, j);
      if (node_.linear_before_reset) recurrent *= function(d, 0, reset[j]);
      const T next = function(d, 1, of_x[j] + bias(d, false, 2, j) + recurrent);
      const T z = function(d, 0, update[j]);
      h[j] = (1 - z) * next + z * h[j];
    }
  }

  // i = f(x Wi' + h Ri' + Pi c + b), the forget gate likewise; c = forget c + i g(x Wc' + h Rc' + b);
  // o = f(x Wo' + h Ro' + Po c + b) with the new c; h = o h(c). Gates are in the order i, o, forget, c, and
  // peepholes in the order i, o, forget.
  void step_with_memory(std::size_t d, const T* x, T* h, T* c) const {
    const std::vector<T> input = gate(d, 0, x, h);
    const std::vector<T> output = gate(d, 1, x, h);
    const std::vector<T> forget = gate(d, 2, x, h);
    const std::vector<T> next = gate(d, 3, x, h);
    const T* peepholes = &p_[d * 3 * node_.hidden];
    for (std::size_t j = 0; j < node_.hidden; ++j) {
      const T i = function(d, 0, input[j] + peepholes[j] * c[j]);
      const T f = node_.input_forget ? 1 - i : function(d, 0, forget[j] + peepholes[2 * node_.hidden + j] * c[j]);
      c[j] = f * c[j] + i * function(d, 1, next[j]);
      const T o = function(d, 0, output[j] + peepholes[node_.hidden + j] * c[j]);
      h[j] = o * unbounded(d, 2, c[j]);
    }
  }

  const Recurrent& node_;
  const eval::Options& options_;
  std::vector<T> x_, w_, r_, b_, p_;  // operands
  std::vector<T> h_, c_;              // states
  std::vector<T> y_;
};

template <typename T>
Result<std::vector<Value>> outputs_of(const Recurrent& node, const onnx_io::Node& origin, Operands operands, const eval::Options& options) {
  Run<T> run(node, options);
  XFLOW_CHECK(run.read(operands));
  XFLOW_CHECK(run.run());
  const auto size = [](std::size_t n) { return static_cast<std::int64_t>(n); };
  const Dims state = node.batch_first ? Dims{size(node.batch), size(node.directions), size(node.hidden)}
                                      : Dims{size(node.directions), size(node.batch), size(node.hidden)};
  const Dims all = node.batch_first ? Dims{size(node.batch), size(node.sequence), size(node.directions), size(node.hidden)}
                                    : Dims{size(node.sequence), size(node.directions), size(node.batch), size(node.hidden)};
  const ir::DataType type = operands[kX]->data_type;
  std::vector<Value> values(origin.outputs.size());
  const auto put = [&](std::size_t k, const Dims& dims, std::vector<T>& elements) -> Result<void> {
    if (k >= values.size() || origin.outputs[k].empty()) return {};
    Tensor tensor{type, dims, std::move(elements)};
    if (options.number == eval::Number::float32 && ir::bits(type) < 32) {
      XFLOW_TRY(tensor, eval::rounded(tensor));
    }
    values[k] = std::make_shared<const Tensor>(std::move(tensor));
    return {};
  };
  XFLOW_CHECK(put(0, all, run.y()));
  XFLOW_CHECK(put(1, state, run.h()));
  if (node.cell == Cell::lstm) XFLOW_CHECK(put(2, state, run.c()));
  return values;
}

}  // namespace

bool is_recurrent(const onnx_io::Node& node) { return node.is("LSTM") || node.is("GRU") || node.is("RNN"); }

Result<std::vector<Value>> run_recurrent(const onnx_io::Node& node, std::int64_t opset, Operands operands, const eval::Options& options) {
  if (opset < kFirstOpset || opset > onnx_io::kNewestOpset)
    return not_computed(fmt::format("cannot execute: {} of opset {}", node.op_type, opset));
  for (const onnx_io::Attribute& attribute : node.attributes)
    if (!attribute.reference.empty())
      return not_computed(fmt::format("cannot execute: its attribute {} is the function's attribute {}", onnx_io::in_quotes(attribute.name),
                                      onnx_io::in_quotes(attribute.reference)));
  XFLOW_TRY(Recurrent recurrent, with_attributes(node));
  if (operands.size() > (recurrent.cell == Cell::lstm ? kPeepholes : kInitialH) + 1)
    return not_computed(fmt::format("{} has {} operands", node.op_type, operands.size()));
  XFLOW_CHECK(take_sizes(recurrent, node, operands));
  const std::uint64_t states = std::uint64_t{recurrent.directions} * recurrent.batch;
  if (states > options.most_elements / recurrent.hidden / recurrent.sequence)
    return fail(ErrorCode::limit, fmt::format("a result has more than {} elements", options.most_elements));
  const bool in_float = options.number == eval::Number::float32 && operands[kX]->data_type != ir::DataType::float64;
  return in_float ? outputs_of<float>(recurrent, node, operands, options) : outputs_of<double>(recurrent, node, operands, options);
}

}  // namespace xflow::api
