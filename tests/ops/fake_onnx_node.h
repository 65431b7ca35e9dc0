// An ONNX node made by hand, for tests of ONNX mappings.
#pragma once

#include <cassert>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "src/ops/onnx_mapping.h"
#include "src/ops/operator.h"

namespace xflow::ops {

class FakeOnnxNode : public OnnxNode {
 public:
  FakeOnnxNode(ir::Symbols& symbols, std::string type, int opset, std::string domain = "")
      : symbols_(&symbols), type_(std::move(type)), domain_(std::move(domain)), opset_(opset) {}

  // The next input: absent, a value that is not known, shape arithmetic, or a constant.
  FakeOnnxNode& absent() { return add({}); }
  FakeOnnxNode& input(ir::TensorType type) { return add(Input{std::move(type), std::nullopt, std::nullopt}); }
  FakeOnnxNode& input(std::vector<ir::Poly> values, bool scalar = false) {
    ir::Shape shape;
    if (!scalar) shape.emplace_back(static_cast<std::int64_t>(values.size()));
    return add(Input{ir::TensorType{ir::DataType::int64, true, std::move(shape)}, std::move(values), std::nullopt});
  }
  FakeOnnxNode& input(ir::Constant constant) {
    return add(Input{ir::TensorType{constant.data_type, true, ir::polys(constant.dims)}, std::nullopt, std::move(constant)});
  }
  FakeOnnxNode& attribute(std::string name, Exported::AttributeValue value) {
    attributes_[std::move(name)] = std::move(value);
    return *this;
  }
  FakeOnnxNode& outputs(std::size_t count) {
    output_count_ = count;
    return *this;
  }

  std::string_view type() const override { return type_; }
  std::string_view domain() const override { return domain_; }
  int opset() const override { return opset_; }
  ir::Symbols& symbols() const override { return *symbols_; }

  std::size_t input_count() const override { return inputs_.size(); }
  bool has_input(std::size_t k) const override { return k < inputs_.size() && inputs_[k].has_value(); }
  const ir::TensorType& input_type(std::size_t k) const override { return inputs_[k]->type; }
  std::size_t output_count() const override { return output_count_; }
  bool has_output(std::size_t k) const override { return k < output_count_; }

  std::optional<std::vector<ir::Poly>> integers(std::size_t k) const override {
    if (!has_input(k)) return std::nullopt;
    if (inputs_[k]->values) return inputs_[k]->values;
    if (!inputs_[k]->constant || !(ir::is_integer(inputs_[k]->constant->data_type))) return std::nullopt;
    return ir::polys(ir::integers(*inputs_[k]->constant).value());
  }
  std::optional<ir::Constant> constant(std::size_t k) const override { return has_input(k) ? inputs_[k]->constant : std::nullopt; }
  std::optional<std::vector<ir::Real>> reals(std::size_t k) const override {
    if (!has_input(k) || !inputs_[k]->constant || !ir::is_floating(inputs_[k]->constant->data_type)) return std::nullopt;
    std::vector<ir::Real> list;
    const std::vector<double> values = ir::doubles(*inputs_[k]->constant).value();
    for (const double value : values) list.push_back(ir::Real::from_double(value));
    return list;
  }

  bool has_attribute(std::string_view name) const override { return attributes_.contains(std::string(name)); }
  std::int64_t integer(std::string_view name, std::int64_t otherwise) const override {
    const auto* value = get<std::int64_t>(name);
    return value != nullptr ? *value : otherwise;
  }
  std::optional<std::vector<std::int64_t>> integer_list(std::string_view name) const override {
    const auto* value = get<std::vector<std::int64_t>>(name);
    return value != nullptr ? std::optional(*value) : std::nullopt;
  }
  ir::Real real(std::string_view name, const ir::Real& otherwise) const override {
    const auto* value = get<float>(name);
    return value != nullptr ? ir::Real::from_double(*value) : otherwise;
  }
  std::optional<std::vector<float>> real_list(std::string_view name) const override {
    const auto* value = get<std::vector<float>>(name);
    return value != nullptr ? std::optional(*value) : std::nullopt;
  }
  std::string word(std::string_view name, std::string_view otherwise) const override {
    const auto* value = get<std::string>(name);
    return value != nullptr ? *value : std::string(otherwise);
  }
  std::optional<ir::Constant> tensor(std::string_view name) const override {
    const auto* value = get<ir::Constant>(name);
    return value != nullptr ? std::optional(*value) : std::nullopt;
  }

 private:
  struct Input {
    ir::TensorType type;
    std::optional<std::vector<ir::Poly>> values;
    std::optional<ir::Constant> constant;
  };

  FakeOnnxNode& add(std::optional<Input> input) {
    inputs_.push_back(std::move(input));
    return *this;
  }
  template <typename T>
  const T* get(std::string_view name) const {
    const auto found = attributes_.find(std::string(name));
    return found == attributes_.end() ? nullptr : std::get_if<T>(&found->second);
  }

  ir::Symbols* symbols_;
  std::string type_;
  std::string domain_;
  int opset_;
  std::vector<std::optional<Input>> inputs_;
  std::map<std::string, Exported::AttributeValue> attributes_;
  std::size_t output_count_ = 1;
};

}  // namespace xflow::ops
