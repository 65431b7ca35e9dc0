#include "src/onnx/lift/lift.h"

#include <algorithm>
#include <cctype>
#include <unordered_set>

#include "src/onnx/lift/inferred_shapes.h"
#include "src/onnx/lift/lift_operator.h"
#include "src/onnx/lift/opaque_type.h"
#include "src/ops/integer_content.h"
#include "src/support/printable.h"

namespace xflow::onnx_io {
namespace {

class Lifter {
 public:
  Lifter(const Document& document, ir::Arena& arena, const LiftOptions& options)
      : document_(document), arena_(arena), options_(options), inference_(document, arena), contents_(arena) {}

  Result<LiftedModel> run() {
    model_.opset = static_cast<int>(std::min<std::int64_t>(document_.opset(GraphId{0}, "").value_or(0), kNewestOpset));
    define_inputs();
    XFLOW_CHECK(define_initializers());
    for (const ValueInfo& info : document_.main().value_infos) declared_.emplace(info.name, &info);
    for (const ValueInfo& info : document_.main().outputs) declared_.emplace(info.name, &info);
    for (const NodeId id : document_.main().order) {
      if (options_.stop && options_.stop()) return fail(ErrorCode::limit, "lifting was stopped");
      lift_node(document_.node(id));
    }
    pin_names();
    for (const ValueInfo& output : document_.main().outputs) add_output(output.name);
    model_.output_count = model_.graph.outputs.size();
    for (const std::string_view captured : captures_) add_output(captured);
    return std::move(model_);
  }

 private:
  // Assumes that tensors of a model are not empty.
  void define(std::string_view name, ir::ValueId value) {
    for (const ir::Poly& d : ir::Shape(arena_.type(value).shape)) arena_.symbols().assume_positive(d);
    model_.values.emplace(name, value);
    model_.names.try_emplace(value, name);
  }

  void add_output(std::string_view name) {
    model_.graph.outputs.push_back(model_.values.at(name));
    model_.output_names.push_back(name);
  }

  // Keeps the value under its name.
  void pin(std::string_view name) {
    if (model_.values.contains(name) && pinned_.insert(name).second) captures_.push_back(name);
  }

  // Keeps values that something outside the graph refers to by name, as if bodies captured them.
  void pin_names() {
    for (const QuantizationAnnotation& annotation : document_.main().quantization_annotations) {
      pin(annotation.tensor_name);
      for (const auto& [key, name] : annotation.parameters) pin(name);
    }
    // Training graphs are not indexed and may refer to any value.
    if (document_.model().training_infos == 0) return;
    for (const Initializer& initializer : document_.main().initializers) pin(initializer.tensor.name);
    for (const Node& node : document_.nodes(GraphId{0}))
      for (const std::string_view name : node.outputs) pin(name);
  }

  // An input with an initializer of the same name has a default that a caller may override, so it stays an
  // input. Before IR version 4 every initializer had to be an input, and runtimes treat it as a constant.
  void define_inputs() {
    std::uint32_t serial = 0;
    for (const ValueInfo& input : document_.main().inputs) {
      const Definition* definition = document_.find(GraphId{0}, input.name);
      const bool is_weight = definition != nullptr && (definition->initializer || definition->sparse_initializer);
      if (is_weight && document_.model().ir_version < kFirstWithDefaults) continue;
      const ir::ValueId value = arena_.input(declared_tensor_type(arena_.symbols(), input.type, input.name), serial++);
      define(input.name, value);
      model_.input_names.push_back(input.name);
      model_.inputs.push_back(value);
    }
  }

  Result<void> define_initializers() {
    for (const Initializer& initializer : document_.main().initializers) {
      if (model_.values.contains(initializer.tensor.name)) continue;
      auto constant = document_.constant(initializer.tensor);
      if (constant) {
        define(initializer.tensor.name, arena_.constant(*std::move(constant)));
      } else {
        // Strings and types without arithmetic become an opaque leaf of known type.
        ir::TensorType type{initializer.tensor.data_type, true, ir::polys(initializer.tensor.dims)};
        define(initializer.tensor.name, {arena_.opaque(kLeafSerial, {}, {std::move(type)}), 0});
      }
    }
    for (const SparseInitializer& sparse : document_.main().sparse_initializers) {
      ir::TensorType type{sparse.values.data_type, true, ir::polys(sparse.dims)};
      define(sparse.values.name, {arena_.opaque(kLeafSerial, {}, {std::move(type)}), 0});
    }
    return {};
  }

  void lift_node(const Node& node) {
    std::vector<ir::ValueId> operands;
    operands.reserve(node.inputs.size());
    for (const std::string_view input : node.inputs) operands.push_back(input.empty() ? arena_.absent() : model_.values.at(input));
    for (const std::string_view captured : node.captures) pin(captured);
    const bool of_opaque = std::ranges::any_of(operands, [&](ir::ValueId operand) { return model_.of_opaque.contains(operand); });
    auto outputs = lift_operator(document_, arena_, node, operands);
    if (outputs) {
      for (std::size_t k = 0; k < node.outputs.size(); ++k) {
        if (node.outputs[k].empty()) continue;
        const ir::ValueId value = of_opaque ? (*outputs)[k] : folded(arena_, contents_, (*outputs)[k]);
        if (of_opaque) model_.of_opaque.insert(value);
        // A value that existed before this node has an earlier origin, or is an operand that this node
        // passes through.
        model_.origins.try_emplace(value, Origin{node.id, static_cast<std::uint32_t>(k)});
        define(node.outputs[k], value);
      }
      return;
    }
    model_.opaque.push_back({node.id, std::move(outputs.error().message)});
    for (const std::string_view captured : node.captures) operands.push_back(model_.values.at(captured));
    std::vector<ir::TensorType> types;
    std::vector<std::optional<InferredType>> inferred(node.outputs.size());
    if (options_.infer) inferred = inference_.infer(node, operands);
    for (std::uint32_t k = 0; k < node.outputs.size(); ++k) {
      types.push_back(declared_type(node.outputs[k]));
      if (types.back().data_type == ir::DataType::undefined || !types.back().ranked) {
        if (auto known = opaque_output_type(document_, arena_, node, k, operands)) types.back() = *std::move(known);
      }
      if (inferred[k]) complete(node.outputs[k], *inferred[k], types.back());
    }
    const ir::NodeId opaque = arena_.opaque(static_cast<std::uint32_t>(node.id), std::move(operands), std::move(types));
    for (std::uint32_t k = 0; k < node.outputs.size(); ++k) {
      if (node.outputs[k].empty()) continue;
      model_.origins.emplace(ir::ValueId{opaque, k}, Origin{node.id, k});
      model_.of_opaque.insert({opaque, k});
      define(node.outputs[k], {opaque, k});
    }
  }

  ir::TensorType declared_type(std::string_view name) {
    const auto found = declared_.find(name);
    if (found == declared_.end()) return ir::TensorType::unranked(ir::DataType::undefined);
    const DeclaredType& declared = found->second->type;
    ir::TensorType type = declared_tensor_type(arena_.symbols(), declared, name);
    for (std::size_t k = 0; k < type.shape.size(); ++k) {
      const Dimension& dim = declared.dims[k];
      if (dim.kind == Dimension::Kind::parameter && options_.distrusted_dimensions.contains(std::string(dim.parameter)))
        type.shape[k] = arena_.symbols().fresh(ir::SymbolKind::dimension, name);
    }
    return type;
  }

  // Completes the type of a result of an opaque node by shape inference. Sizes that contradict the declared
  // type become unknown.
  void complete(std::string_view name, const InferredType& inferred, ir::TensorType& type) {
    const ir::TensorType declared = type;
    const auto fresh = [&] { return ir::Poly(arena_.symbols().fresh(ir::SymbolKind::dimension, name)); };
    const bool other_elements =
        type.data_type != ir::DataType::undefined && inferred.data_type != ir::DataType::undefined && type.data_type != inferred.data_type;
    if (type.data_type == ir::DataType::undefined) type.data_type = inferred.data_type;
    if (other_elements) type.data_type = ir::DataType::undefined;
    bool agrees = !other_elements && (!type.ranked || type.rank() == inferred.dims.size());
    if (!type.ranked) {
      type.ranked = true;
      for (const auto& size : inferred.dims) type.shape.push_back(size ? *size : fresh());
    } else if (!agrees) {
      type = ir::TensorType::unranked(type.data_type);
    } else {
      for (std::size_t k = 0; k < type.shape.size(); ++k) {
        if (!inferred.dims[k]) continue;
        const auto number = inferred.dims[k]->constant();
        const auto constant = type.shape[k].constant();
        if (constant && !number) continue;
        agrees = agrees && (!constant || *constant == *number);
        if (!constant && number) name_size(name, k, *number);
        type.shape[k] = !constant || *constant == *number ? *inferred.dims[k] : fresh();
      }
    }
    if (agrees) return;
    std::string sizes;
    for (const auto& size : inferred.dims) sizes += (sizes.empty() ? "" : ", ") + (size ? arena_.symbols().to_string(*size) : "?");
    model_.contradictions.push_back("value " + in_quotes(name) + " is declared " + ir::to_string(arena_.symbols(), declared) + ", and is " +
                                    std::string(ir::name(inferred.data_type)) + "[" + sizes + "] by shape inference");
  }

  static constexpr std::int64_t kFirstWithDefaults = 4;  // IR version

  // Records that the named dimension `k` of a declared value has this size. Reports a name with two sizes
  // once.
  void name_size(std::string_view name, std::size_t k, std::int64_t size) {
    const auto declared = declared_.find(name);
    if (declared == declared_.end() || k >= declared->second->type.dims.size()) return;
    const Dimension& dim = declared->second->type.dims[k];
    if (dim.kind != Dimension::Kind::parameter || is_placeholder(dim.parameter)) return;
    const auto [first, is_new] = named_sizes_.try_emplace(dim.parameter, size, name);
    if (is_new || first->second.first == size || !contradictory_.insert(dim.parameter).second) return;
    model_.contradictions.push_back("dimension " + in_quotes(dim.parameter) + " is " + std::to_string(first->second.first) + " of " +
                                    in_quotes(first->second.second) + " and " + std::to_string(size) + " of " + in_quotes(name) +
                                    " by shape inference");
  }

  const Document& document_;
  ir::Arena& arena_;
  const LiftOptions& options_;
  // The size of a name, and the value where it was found.
  std::unordered_map<std::string_view, std::pair<std::int64_t, std::string_view>> named_sizes_;
  std::unordered_set<std::string_view> contradictory_;
  NodeInference inference_;
  ops::IntegerContent contents_;
  LiftedModel model_;
  std::unordered_map<std::string_view, const ValueInfo*> declared_;
  std::vector<std::string_view> captures_;  // without duplicates
  std::unordered_set<std::string_view> pinned_;
};

}  // namespace

bool is_placeholder(std::string_view name) {
  return std::none_of(name.begin(), name.end(), [](char c) { return std::isalpha(static_cast<unsigned char>(c)) != 0; }) || name == "None";
}

ir::TensorType declared_tensor_type(ir::Symbols& symbols, const DeclaredType& declared, std::string_view value_name) {
  if (declared.kind != DeclaredType::Kind::tensor) return ir::TensorType::unranked(ir::DataType::undefined);
  ir::TensorType type{declared.data_type, declared.ranked, {}};
  for (const Dimension& dim : declared.dims) {
    if (dim.kind == Dimension::Kind::value && dim.value >= 0) {
      type.shape.emplace_back(dim.value);
    } else if (dim.kind == Dimension::Kind::parameter && !is_placeholder(dim.parameter)) {
      type.shape.emplace_back(symbols.named(ir::SymbolKind::dimension, dim.parameter));
    } else {
      type.shape.emplace_back(symbols.fresh(ir::SymbolKind::dimension, value_name));
    }
  }
  return type;
}

Result<LiftedModel> lift(const Document& document, ir::Arena& arena, const LiftOptions& options) {
  return Lifter(document, arena, options).run();
}

}  // namespace xflow::onnx_io
