#include "src/validation/runnable.h"

#include <fmt/format.h>

#include <algorithm>
#include <unordered_map>
#include <utility>

#include "src/onnx/lift/lift_operator.h"
#include "src/validation/document_run.h"

namespace xflow::api {

using onnx_io::DeclaredType;
using onnx_io::Document;
using onnx_io::GraphId;

namespace {

// Bound tensors as those of a sampled evaluation.
class Known {
 public:
  explicit Known(const eval::Bindings& bindings) {
    for (const auto& [value, tensor] : bindings) tensors_.emplace(value, eval::SampledTensor::of(tensor));
  }
  eval::SampledEvaluation::Lookup lookup() const {
    return [this](ir::ValueId value) -> const eval::SampledTensor* {
      const auto at = tensors_.find(value);
      return at == tensors_.end() ? nullptr : &at->second;
    };
  }

 private:
  eval::SampledBindings tensors_;
};

}  // namespace

Result<std::unique_ptr<Runnable>> Runnable::open(const std::string& path, const CheckOptions& options, const Deadline& deadline) {
  XFLOW_TRY(Document document, Document::open(path, options.allow_external));
  auto model = std::unique_ptr<Runnable>(new Runnable(std::move(document), path, deadline));
  XFLOW_TRY(model->lifted_, onnx_io::lift(model->document_, model->arena_, {.stop = [&deadline] { return deadline.is_over(); }}));
  model->graph_.outputs.assign(model->lifted_.graph.outputs.begin(),
                               model->lifted_.graph.outputs.begin() + static_cast<std::ptrdiff_t>(model->lifted_.output_count));
  XFLOW_CHECK(model->bind_strings());
  for (std::size_t k = 0; k < model->lifted_.inputs.size(); ++k) {
    const std::string_view name = model->lifted_.input_names[k];
    const onnx_io::Definition& definition = *model->document_.find(GraphId{0}, name);
    if (definition.initializer) {
      XFLOW_CHECK(model->set_default(name, model->lifted_.inputs[k], *definition.initializer));
      model->inputs_.push_back({name, model->lifted_.inputs[k], model->document_.main().initializers[*definition.initializer].tensor.dims});
    } else {
      model->required_.push_back({name, model->lifted_.inputs[k]});
      model->inputs_.push_back(model->required_.back());
    }
  }
  return model;
}

const DeclaredType& Runnable::declared_input(std::string_view name) const {
  return document_.main().inputs[*document_.find(GraphId{0}, name)->input].type;
}

Result<void> Runnable::can_execute() {
  for (const ir::NodeId id : ir::topological_order(arena_, graph_)) {
    const ir::Node& node = arena_.node(id);
    if (node.kind != ir::NodeKind::opaque || defaults_.contains({id, 0})) continue;
    const bool is_node = node.serial < document_.nodes().size();
    const onnx_io::Node* origin = is_node ? &document_.node(onnx_io::NodeId{node.serial}) : nullptr;
    if (is_node && only_documents_run(document_, *origin)) {
      runs_as_document_ = true;
      continue;
    }
    // Types of results of bodies may be unknown without a run.
    if (is_node && std::ranges::any_of(node.operands, [&](ir::ValueId operand) { return lifted_.of_opaque.contains(operand); })) continue;
    return fail(ErrorCode::unsupported, fmt::format("cannot execute: {}; option 'runner' runs both models in a runtime", name_of(node)),
                path_);
  }
  return {};
}

Result<void> Runnable::accepts(const InputSet& set) {
  std::unordered_map<ir::SymbolId, std::int64_t> sizes;
  for (std::size_t k = 0; k < lifted_.inputs.size(); ++k) {
    const auto given = set.tensors.find(std::string(lifted_.input_names[k]));
    if (given == set.tensors.end()) continue;
    const ir::TensorType& type = arena_.type(lifted_.inputs[k]);
    if (type.data_type != given->second.data_type || !eval::bind_shape(arena_.symbols(), type, given->second.dims, sizes))
      return fail(ErrorCode::ill_typed, fmt::format("input '{}' is {}, not {}", lifted_.input_names[k],
                                                    declared_input(lifted_.input_names[k]).text(), eval::type_text(given->second)));
  }
  return take_sizes(arena_, graph_, sizes);
}

eval::Bindings Runnable::bindings(const InputSet& set) const {
  eval::Bindings bindings = defaults_;
  for (std::size_t k = 0; k < lifted_.inputs.size(); ++k) {
    const auto given = set.tensors.find(std::string(lifted_.input_names[k]));
    if (given != set.tensors.end()) bindings.insert_or_assign(lifted_.inputs[k], given->second);
  }
  return bindings;
}

eval::Options Runnable::options() const {
  eval::Options options;
  options.name_of = [this](const ir::Node& node) { return name_of(node); };
  options.stop = [this] { return deadline_.is_over(); };
  return options;
}

Result<eval::Options> Runnable::sized_options(const eval::Bindings& bindings) const {
  eval::Options options = this->options();
  for (const auto& [value, tensor] : bindings)
    XFLOW_CHECK(eval::bind_shape(arena_.symbols(), arena_.type(value), tensor.dims, options.symbols));
  return options;
}

Result<std::vector<eval::Tensor>> Runnable::run(const InputSet& set, eval::Number number, std::span<const eval::Sample> samples,
                                                const std::function<void()>& progress) {
  if (runs_as_document_) {
    DocumentRunOptions how;
    how.number = number;
    how.stop = [&] {
      progress();
      return deadline_.is_over();
    };
    return run_document(document_, set.tensors, how);
  }
  const eval::Bindings given = bindings(set);
  eval::Options options = this->options();
  if (!samples.empty()) {
    XFLOW_TRY(options, sized_options(given));
  }
  options.number = number;
  options.stop = [&] {
    progress();
    return deadline_.is_over();
  };
  if (samples.empty()) return eval::evaluate(arena_, graph_, given, options);
  const Known known(given);
  eval::SampledEvaluation evaluation(arena_, options);
  std::vector<eval::Tensor> outputs;
  for (std::size_t k = 0; k < samples.size(); ++k) {
    XFLOW_TRY(const auto plan, evaluation.plan(graph_.outputs[k], samples[k], known.lookup()));
    XFLOW_TRY(eval::SampledTensor output, evaluation.run(plan, known.lookup()));
    outputs.push_back(std::move(output.tensor));
  }
  return outputs;
}

Result<std::vector<std::vector<std::int64_t>>> Runnable::output_dims(const InputSet& set) {
  XFLOW_TRY(const eval::Options options, sized_options(bindings(set)));
  const eval::SampledEvaluation evaluation(arena_, options);
  std::vector<std::vector<std::int64_t>> dims;
  for (const ir::ValueId output : graph_.outputs) {
    XFLOW_TRY(dims.emplace_back(), evaluation.dims_of(output));
  }
  return dims;
}

Result<RunBounds> Runnable::needs(const InputSet& set) {
  if (runs_as_document_) return fail(ErrorCode::unsupported, "only a run of the document knows", path_);
  const eval::Bindings given = bindings(set);
  XFLOW_TRY(const eval::Options options, sized_options(given));
  eval::SampledEvaluation evaluation(arena_, options);
  constexpr std::uint64_t kMost = std::uint64_t{1} << 62;
  RunBounds needs{0, 0};
  for (const ir::NodeId id : ir::topological_order(arena_, graph_)) {
    const ir::Node& node = arena_.node(id);
    if (node.kind != ir::NodeKind::operation) continue;
    for (std::uint32_t k = 0; k < node.outputs.size(); ++k) {
      if (given.contains({id, k})) continue;
      XFLOW_TRY(const auto dims, evaluation.dims_of({id, k}));
      const eval::Sample whole = eval::whole(dims);
      XFLOW_TRY(const std::uint64_t work, evaluation.work({id, k}, whole));
      needs.work = std::min(kMost, needs.work + work);
      needs.elements = std::min(kMost, needs.elements + eval::size_of(whole));
    }
  }
  return needs;
}

Result<RunBounds> Runnable::needs(const InputSet& set, std::size_t k, const eval::Sample& sample) {
  const eval::Bindings given = bindings(set);
  XFLOW_TRY(const eval::Options options, sized_options(given));
  const eval::SampledTensor none;  // planning reads no elements
  const auto known = [&](ir::ValueId value) { return given.contains(value) ? &none : nullptr; };
  XFLOW_TRY(const auto plan, eval::SampledEvaluation(arena_, options).plan(graph_.outputs[k], sample, known));
  return RunBounds{plan.work, plan.elements};
}

Result<void> Runnable::set_default(std::string_view name, ir::ValueId value, std::uint32_t initializer) {
  const onnx_io::TensorView& tensor = document_.main().initializers[initializer].tensor;
  const auto placed = [&](const Error& error) {
    return fail(error.code, error.message, fmt::format("{}: default of input '{}'", path_, name));
  };
  if (tensor.data_type == ir::DataType::string) {
    if (const auto bound = bind_strings(value, tensor); !bound) return placed(bound.error());
    return {};
  }
  auto constant = document_.constant(tensor);
  if (!constant) return placed(constant.error());
  defaults_.emplace(value, eval::Tensor::of(*std::move(constant)));
  return {};
}

Result<void> Runnable::bind_strings(ir::ValueId value, const onnx_io::TensorView& tensor) {
  XFLOW_TRY(const auto strings, onnx_io::strings(tensor));
  defaults_.emplace(value, eval::Tensor::of_strings(tensor.dims, {strings.begin(), strings.end()}));
  return {};
}

Result<void> Runnable::bind_strings() {
  for (const onnx_io::Initializer& initializer : document_.main().initializers) {
    const ir::ValueId value = lifted_.values.at(initializer.tensor.name);
    if (initializer.tensor.data_type != ir::DataType::string || arena_.node(value.node).kind != ir::NodeKind::opaque) continue;
    XFLOW_CHECK(bind_strings(value, initializer.tensor));
  }
  for (const onnx_io::OpaqueNode& opaque : lifted_.opaque) {
    const onnx_io::Node& node = document_.node(opaque.node);
    if (node.op_type != "Constant" || !onnx_io::is_default_domain(node.domain) || node.outputs.size() != 1) continue;
    const ir::ValueId value = lifted_.values.at(node.outputs[0]);
    if (const onnx_io::Attribute* tensor = node.find("value")) {
      XFLOW_TRY(const onnx_io::TensorView view, document_.tensor(*tensor));
      if (view.data_type == ir::DataType::string) XFLOW_CHECK(bind_strings(value, view));
    } else if (const onnx_io::Attribute* string = node.find("value_string")) {
      XFLOW_TRY(const std::string_view text, string->string());
      defaults_.emplace(value, eval::Tensor::of_strings({}, {std::string(text)}));
    } else if (const onnx_io::Attribute* strings = node.find("value_strings")) {
      XFLOW_TRY(const auto texts, strings->strings());
      defaults_.emplace(value, eval::Tensor::of_strings({static_cast<std::int64_t>(texts.size())}, {texts.begin(), texts.end()}));
    }
  }
  return {};
}

std::string Runnable::name_of(const ir::Node& node) const {
  if (node.kind == ir::NodeKind::input) return "an input";
  if (node.serial >= document_.nodes().size()) return fmt::format("a constant of type {}", ir::name(node.outputs[0].data_type));
  const onnx_io::Node& origin = document_.node(onnx_io::NodeId{node.serial});
  std::string_view name = origin.name;
  for (const std::string_view output : origin.outputs)
    if (name.empty()) name = output;
  return fmt::format("{} at {}", origin.op_type, name);
}

}  // namespace xflow::api
