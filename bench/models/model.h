// An ONNX model under construction: nodes by name, and weights that exist as a range until the model is written.
#pragma once

#include <cstdint>
#include <iosfwd>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "src/ir/type.h"

namespace xflow::bench {

using Dims = std::vector<std::int64_t>;

// A value of the model: its name there, and its size.
struct Value {
  std::string name;
  Dims dims;
};

// Weights are drawn uniformly from a range, which needs nothing of the C library that could differ between machines.
struct Range {
  float low = 0;
  float high = 0;
};
// The range around 0 with this standard deviation.
Range around_zero(double standard_deviation);

using Attributes = std::vector<std::pair<std::string_view, std::variant<std::int64_t, float, Dims, std::string_view>>>;

class Model {
 public:
  // The seed of a weight is the model's name with the weight's.
  explicit Model(std::string name) : name_(std::move(name)) {}

  const std::string& name() const { return name_; }

  Value input(std::string_view name, Dims dims, ir::DataType type = ir::DataType::float32);
  // The only output, which gets this name.
  void output(const Value& value, const std::string& name = "output");
  // A float32 initializer. Statistics of a batch normalisation are not trained, and no parameters.
  Value weight(std::string_view name, Dims dims, Range range, bool trained = true);
  // Float32 numbers that the architecture says: a mask, a scale. No parameters.
  Value constant(std::string_view name, Dims dims, std::span<const float> values);
  Value constant(std::string_view name, float value) { return constant(name, {}, {&value, 1}); }
  // An int64 initializer of one dimension: a shape, axes, a range of a slice.
  Value integers(std::string_view name, std::span<const std::int64_t> values);
  Value integer(std::string_view name, std::int64_t value);  // a scalar

  // A node named after `place` and its operator, such as "/layer1/conv1/Conv"; the sizes of its outputs are the caller's to know.
  std::vector<Value> node(std::string_view op, std::string_view place, std::span<const Value> inputs, std::vector<Dims> outputs,
                          const Attributes& attributes = {});
  Value node(std::string_view op, std::string_view place, std::span<const Value> inputs, Dims output, const Attributes& attributes = {});

  std::uint64_t parameters() const { return parameters_; }

  // Opset 17, IR version 8. Weights are computed block by block; the same bytes each time.
  void write(std::ostream& out) const;

 private:
  struct Node {
    std::string op;
    std::string name;
    std::vector<std::string> inputs;
    std::vector<std::string> outputs;
    Attributes attributes;
    std::string message() const;
  };
  struct Initializer {
    std::string header;      // the TensorProto up to its elements
    std::string elements;    // as they are, or
    std::uint64_t size = 0;  // the number of drawn ones
    Range range;
    std::uint64_t seed = 0;
  };
  void add(std::string_view name, ir::DataType type, const Dims& dims, std::string_view elements);

  std::string name_;
  std::vector<Node> nodes_;
  std::map<std::string, int> names_;  // how many nodes stand at the same place
  std::vector<Initializer> initializers_;
  std::vector<std::string> inputs_;
  std::vector<std::string> outputs_;
  std::uint64_t parameters_ = 0;
};

// The number of elements.
std::int64_t count(const Dims& dims);

}  // namespace xflow::bench
