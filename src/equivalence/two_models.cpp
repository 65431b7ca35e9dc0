#include "src/equivalence/two_models.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "src/onnx/document/fixed_inputs.h"
#include "src/onnx/lift/lift_operator.h"

namespace xflow::equivalence {
namespace {

using onnx_io::GraphId;

// Moves B's inputs and opaque nodes to where A's are.
class JoiningRebuild final : public Rebuild {
 public:
  JoiningRebuild(ir::Arena& arena, std::uint32_t first) : Rebuild(arena), first_(first) {}

 protected:
  Result<ir::NodeId> opaque(ir::NodeId id, std::vector<ir::ValueId> operands) override {
    const ir::Node& node = arena().node(id);
    std::vector<ir::TensorType> types;
    types.reserve(node.outputs.size());
    for (const ir::TensorType& type : node.outputs) {
      // The name of a size that is none of an input means nothing in the other model.
      for (const ir::Poly& size : type.shape)
        for (const ir::SymbolId symbol : arena().symbols().all_symbols(size))
          if (arena().symbols().info(symbol).kind == ir::SymbolKind::dimension)
            set_size(symbol, ir::Poly(arena().symbols().fresh(ir::SymbolKind::dimension, "b")));
      types.push_back(with_sizes(type));
    }
    const std::uint32_t serial = node.serial == onnx_io::kLeafSerial ? node.serial : node.serial + first_;
    return arena().opaque(serial, std::move(operands), std::move(types));
  }

 private:
  std::uint32_t first_;
};

std::optional<std::size_t> index_of(const onnx_io::LiftedModel& model, std::string_view input) {
  const auto found = std::ranges::find(model.input_names, input);
  return found == model.input_names.end() ? std::nullopt : std::optional(static_cast<std::size_t>(found - model.input_names.begin()));
}

std::string in_order(const std::vector<std::string_view>& a, const std::vector<std::string_view>& b, std::string_view kind) {
  if (a.size() != b.size()) return fmt::format("A has {} {}{}, B has {}", a.size(), kind, a.size() == 1 ? "" : "s", b.size());
  for (std::size_t k = 0; k < a.size(); ++k)
    if (a[k] != b[k]) return fmt::format("{} {} is '{}' in A and '{}' in B", kind, k, a[k], b[k]);
  return {};
}

}  // namespace

Result<std::unique_ptr<OneModel>> TwoModels::lift(onnx_io::Document document) {
  auto model = std::unique_ptr<OneModel>(new OneModel{std::move(document), {}, {}, {}});
  onnx_io::LiftOptions how;
  how.infer = true;
  how.stop = stop_;
  XFLOW_TRY(model->lifted, onnx_io::lift(model->document, arena_, how));
  const auto& outputs = model->lifted.graph.outputs;
  model->graph.outputs.assign(outputs.begin(), outputs.begin() + static_cast<std::ptrdiff_t>(model->lifted.output_count));
  model->names = model->lifted.names;
  return model;
}

Result<std::unique_ptr<TwoModels>> TwoModels::open(const std::string& a, const std::string& b, const VerifyModelsOptions& options,
                                                   std::function<bool()> stop, const std::vector<InputShape>& fixed) {
  std::unique_ptr<TwoModels> models(new TwoModels(std::move(stop)));
  for (const bool is_first : {true, false}) {
    XFLOW_TRY(onnx_io::Document document, onnx_io::Document::open(is_first ? a : b, options.allow_external));
    XFLOW_CHECK(onnx_io::fix_inputs(document, fixed));
    std::unique_ptr<OneModel>& model = is_first ? models->a_ : models->b_;
    XFLOW_TRY(model, models->lift(std::move(document)));
  }
  return models;
}

Result<std::unique_ptr<TwoModels>> TwoModels::of_bodies(onnx_io::Document a, onnx_io::Document b, const BodyInputs& inputs,
                                                        std::function<bool()> stop) {
  std::unique_ptr<TwoModels> models(new TwoModels(std::move(stop)));
  models->are_bodies_ = true;
  XFLOW_TRY(models->a_, models->lift(std::move(a)));
  XFLOW_TRY(models->b_, models->lift(std::move(b)));
  auto& of_a = models->a_->lifted.input_names;
  auto& of_b = models->b_->lifted.input_names;
  if (of_a.size() != inputs.a.size() || of_b.size() != inputs.b.size())
    return fail(ErrorCode::unsupported, "a body has inputs that are no values");
  // Inputs of one class get the name of the first one of A.
  std::map<std::size_t, std::string_view> names;
  for (std::size_t k = 0; k < of_a.size(); ++k) of_a[k] = names.try_emplace(inputs.a[k], of_a[k]).first->second;
  for (std::size_t k = 0; k < of_b.size(); ++k) {
    const auto known = names.find(inputs.b[k]);
    if (known == names.end()) {
      // No value of A has such a name.
      models->own_names_.push_back(std::make_unique<std::string>(fmt::format("{}\n{}", of_b[k], inputs.b[k])));
      names.emplace(inputs.b[k], *models->own_names_.back());
    }
    of_b[k] = names.at(inputs.b[k]);
  }
  return models;
}

Result<std::optional<ir::Constant>> TwoModels::default_of(const OneModel& model, std::string_view input) const {
  if (are_bodies_) return std::optional<ir::Constant>();
  const onnx_io::Definition* definition = model.document.find(GraphId{0}, input);
  if (definition == nullptr || !definition->initializer) return std::optional<ir::Constant>();
  XFLOW_TRY(ir::Constant constant, model.document.constant(model.document.main().initializers[*definition->initializer].tensor));
  return std::optional(std::move(constant));
}

Result<bool> TwoModels::same_default(std::string_view input) const {
  XFLOW_TRY(const std::optional<ir::Constant> a, default_of(*a_, input));
  XFLOW_TRY(const std::optional<ir::Constant> b, default_of(*b_, input));
  if (!a || !b) return true;
  if (a->data_type != b->data_type || a->dims != b->dims) return false;
  XFLOW_TRY(const std::span<const std::byte> of_a, a->source->bytes());
  XFLOW_TRY(const std::span<const std::byte> of_b, b->source->bytes());
  return std::ranges::equal(of_a, of_b);
}

std::vector<std::string_view> TwoModels::required(const OneModel& model) {
  std::vector<std::string_view> names;
  for (const std::string_view name : model.lifted.input_names) {
    const onnx_io::Definition* definition = model.document.find(GraphId{0}, name);
    if (definition == nullptr || (!definition->initializer && !definition->sparse_initializer)) names.push_back(name);
  }
  return names;
}

// `sizes`: what sizes of B stand for so far.
std::string TwoModels::input_difference(std::string_view name, std::map<ir::SymbolId, ir::Poly>& sizes) const {
  const ir::TensorType& a = arena_.type(a_->lifted.inputs[*index_of(a_->lifted, name)]);
  const ir::TensorType& b = arena_.type(b_->lifted.inputs[*index_of(b_->lifted, name)]);
  const auto differ = [&] {
    return fmt::format("input '{}' is {} in A and {} in B", name, ir::to_string(arena_.symbols(), a), ir::to_string(arena_.symbols(), b));
  };
  if (a.data_type != b.data_type || a.ranked != b.ranked || a.rank() != b.rank()) return differ();
  for (std::size_t k = 0; k < a.rank(); ++k) {
    if (b.shape[k].is_constant() && !(a.shape[k] == b.shape[k])) return differ();
    const auto symbol = b.shape[k].as_symbol();
    if (!symbol || sizes.try_emplace(*symbol, a.shape[k]).first->second == a.shape[k]) continue;
    return fmt::format("{}, where '{}' has another size", differ(), arena_.symbols().info(*symbol).name);
  }
  return {};
}

Result<Acceptance> TwoModels::same_interface() const {
  const std::vector<std::string_view> inputs = required(*a_);
  if (std::string difference = are_bodies_ ? std::string() : in_order(inputs, required(*b_), "input"); !difference.empty())
    return refused(std::move(difference));
  std::map<ir::SymbolId, ir::Poly> sizes;
  for (const std::string_view name : a_->lifted.input_names)
    if (index_of(b_->lifted, name))
      if (std::string difference = input_difference(name, sizes); !difference.empty()) return refused(std::move(difference));
  for (const std::string_view name : a_->lifted.input_names) {
    if (!index_of(b_->lifted, name)) continue;
    XFLOW_TRY(const bool same, same_default(name));
    if (!same) return refused(fmt::format("input '{}' has another default in B", name));
  }
  const auto outputs = [](const OneModel& model) {
    const auto& names = model.lifted.output_names;
    return std::vector<std::string_view>(names.begin(), names.begin() + static_cast<std::ptrdiff_t>(model.lifted.output_count));
  };
  if (are_bodies_ && a_->graph.outputs.size() != b_->graph.outputs.size()) return refused("the bodies have other numbers of outputs");
  if (std::string difference = are_bodies_ ? std::string() : in_order(outputs(*a_), outputs(*b_), "output"); !difference.empty())
    return refused(std::move(difference));
  for (std::size_t k = 0; k < a_->graph.outputs.size(); ++k) {
    const ir::TensorType& a = arena_.type(a_->graph.outputs[k]);
    const ir::TensorType& b = arena_.type(b_->graph.outputs[k]);
    // The type of a body's output need not be declared.
    const bool is_known = !are_bodies_ || (a.data_type != ir::DataType::undefined && b.data_type != ir::DataType::undefined);
    if ((is_known && a.data_type != b.data_type) || (a.ranked && b.ranked && a.rank() != b.rank()))
      return refused(fmt::format("output '{}' is {} in A and {} in B", a_->lifted.output_names[k], ir::to_string(arena_.symbols(), a),
                                 ir::to_string(arena_.symbols(), b)));
  }
  return accepted();
}

Result<void> TwoModels::join() {
  JoiningRebuild of_a(arena_, 0);
  JoiningRebuild of_b(arena_, first_of_b());
  bool has_defaults = false;  // or inputs that are the same value
  const auto keep_default = [&](const OneModel& model, std::size_t k, Rebuild& rebuild) -> Result<void> {
    XFLOW_TRY(std::optional<ir::Constant> constant, default_of(model, model.lifted.input_names[k]));
    if (constant) rebuild.equate(model.lifted.inputs[k], arena_.constant(*std::move(constant)));
    return {};
  };
  for (std::size_t k = 0; k < a_->lifted.inputs.size(); ++k) {
    const std::size_t first = *index_of(a_->lifted, a_->lifted.input_names[k]);
    if (first != k) {
      of_a.equate(a_->lifted.inputs[k], a_->lifted.inputs[first]);
      has_defaults = true;
    }
    if (index_of(b_->lifted, a_->lifted.input_names[k])) continue;
    XFLOW_CHECK(keep_default(*a_, k, of_a));
    has_defaults = true;
  }
  for (std::size_t k = 0; k < b_->lifted.inputs.size(); ++k) {
    const auto same = index_of(a_->lifted, b_->lifted.input_names[k]);
    if (!same) {
      XFLOW_CHECK(keep_default(*b_, k, of_b));
    } else {
      of_b.equate(b_->lifted.inputs[k], a_->lifted.inputs[*same]);
    }
  }
  if (has_defaults) {
    XFLOW_TRY(a_->graph, of_a.run(a_->graph));
    a_->names = of_a.renamed(a_->names);
  }
  XFLOW_TRY(b_->graph, of_b.run(b_->graph));
  b_->names = of_b.renamed(b_->names);
  return {};
}

Result<std::vector<api::NamedInput>> TwoModels::inputs_of_a() const {
  std::vector<api::NamedInput> inputs;
  for (std::size_t k = 0; k < a_->lifted.inputs.size(); ++k) {
    api::NamedInput input{a_->lifted.input_names[k], a_->lifted.inputs[k]};
    XFLOW_TRY(const std::optional<ir::Constant> constant, default_of(*a_, input.name));
    if (constant) input.default_dims = constant->dims;
    inputs.push_back(std::move(input));
  }
  return inputs;
}

Result<std::vector<InputShape>> TwoModels::sizes(const VerifyModelsOptions& options, const api::OpenSizes& open) {
  XFLOW_TRY(const std::vector<api::NamedInput> inputs, inputs_of_a());
  XFLOW_TRY(api::Sizes sizes, api::choose_sizes(arena_, inputs, options.shapes, open));
  XFLOW_CHECK(api::adjust_sizes(arena_, a_->graph, sizes.given, sizes.values));
  std::vector<InputShape> result;
  for (const api::NamedInput& input : inputs) {
    InputShape shape{std::string(input.name), {}};
    bool is_open = false;
    for (const ir::Poly& size : arena_.type(input.value).shape) {
      const auto dim = arena_.symbols().evaluate(size, sizes.valuation());
      if (!dim) return fail(ErrorCode::unsupported, "a size is not known", shape.input);
      is_open = is_open || !size.is_constant();
      shape.dims.push_back(*dim);
    }
    if (is_open) result.push_back(std::move(shape));
  }
  return result;
}

Result<ModelRun> TwoModels::run(const VerifyModelsOptions& options) {
  XFLOW_TRY(const std::vector<api::NamedInput> inputs, inputs_of_a());
  if (!opaque_sizes_) opaque_sizes_.emplace(a_->document, a_->lifted, arena_, api::OpaqueSizes::Run(), stop_);
  api::InnerSizes inner;
  inner.infer = [this](const api::SizeMap& sizes) { return opaque_sizes_->at(sizes); };
  inner.name_of = [](ir::ValueId) { return std::string(); };
  XFLOW_TRY(const api::Sizes sizes, api::choose_fitting_sizes(arena_, a_->graph, inputs, options.shapes, inner));
  ModelRun run;
  XFLOW_TRY(const api::InputSet set, api::seeded_inputs(arena_, inputs, sizes, {options.seed, 2}));
  run.label = set.label;
  for (const api::NamedInput& input : inputs) run.inputs.emplace(input.value, set.tensors.at(std::string(input.name)));
  run.options.symbols = sizes.values;
  run.options.stop = stop_;
  return run;
}

}  // namespace xflow::equivalence
