#include "src/kernels/pattern.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <map>
#include <set>
#include <utility>

#include "src/kernels/node_launch.h"
#include "src/ops/fused_functions.h"
#include "src/ops/op.h"
#include "src/ops/operator.h"

namespace xflow::cost {
namespace {

using ir::NodeId;
using ir::ValueId;
using Row = std::vector<double>;  // kSamples.size() elements, or one element if all are equal

constexpr std::size_t kMostNodes = 16;
// Samples on both sides of every kink of the known functions. Their mean is not 0.
const Row kSamples = {-4.7, -3.1, -2.2, -1.3, -0.6, -0.15, 0.2, 0.7, 1.1, 1.9, 2.6, 3.4, 5.2};

// A fused function that a subgraph may compute.
struct KnownFunction {
  const ops::FusedFunction* function;
  std::vector<ops::Op> operators;  // the unary operators that the subgraph must have
};

// The fused functions whose graphs have unary operators. Functions without them are not searched for.
const std::vector<KnownFunction>& known_functions() {
  static const std::vector<KnownFunction> kFunctions = [] {
    std::vector<KnownFunction> functions;
    for (const ops::FusedFunction& function : ops::fused_functions()) {
      if (function.is_operator()) continue;
      auto operators = ops::unary_operators(ops::graph_of_function({.fused = function.id}).value());
      if (!operators.empty()) functions.push_back({&function, std::move(operators)});
    }
    return functions;
  }();
  return kFunctions;
}

// Whether a known function or a normalisation can end with this operator.
bool may_end(ops::Op op) {
  static const std::set<ops::Op> kLast = [] {
    std::set<ops::Op> last = {ops::Op::Mul, ops::Op::Add, ops::Op::Div};
    for (const KnownFunction& known : known_functions()) {
      const ops::FusedGraph graph = ops::graph_of_function({.fused = known.function->id}).value();
      last.insert(ops::get(std::get<ops::FusedGraph::Apply>(graph.parts.back()).op).op);
    }
    return last;
  }();
  return kLast.contains(op);
}

bool near(const Row& a, const Row& b, double tolerance) {
  for (std::size_t k = 0; k < a.size(); ++k) {
    if (!(std::abs(a[k] - b[k]) <= tolerance * (1 + std::abs(b[k])))) return false;
  }
  return true;
}

ops::Op op_of(const ir::Node& node) { return ops::get(node.op).op; }
bool is_pointwise_node(const ir::Node& node) { return node.kind == ir::NodeKind::operation && ops::get(node.op).signature.pointwise; }
bool is_mean(const ir::Node& node) { return node.kind == ir::NodeKind::operation && op_of(node) == ops::Op::ReduceMean; }

// A candidate: the nodes between an entry and the exit, evaluated on samples.
class Part {
 public:
  Part(const ir::Arena& arena, const ir::GraphView& graph, NodeId exit) : arena_(arena), graph_(graph), exit_(exit) {}

  const std::vector<NodeId>& explored() const { return nodes_; }

  std::optional<Composite> find() {
    std::optional<Composite> largest;
    if (!add(exit_)) return largest;
    while (nodes_.size() <= kMostNodes && !frontier_.empty()) {
      if (frontier_.size() == 1 && nodes_.size() > 1) {
        if (auto composite = recognise(*frontier_.begin())) largest = std::move(composite);
      }
      // Adds the last value in graph order: the values that it depends on come before it. So the entry is
      // reached last.
      const auto before = [&](ValueId a, ValueId b) { return graph_.position(a.node) < graph_.position(b.node); };
      if (!add(std::max_element(frontier_.begin(), frontier_.end(), before)->node)) break;
    }
    return largest;
  }

 private:
  bool add(NodeId id) {
    const ir::Node& node = arena_.node(id);
    const bool mean = is_mean(node);
    if (!mean && !is_pointwise_node(node)) return false;
    if (node.outputs.size() != 1 || node.outputs[0].data_type != ir::DataType::float32 || !node.outputs[0].ranked) return false;
    if (mean) {
      const auto axes = node.attributes.known_integers("axes");
      const auto keeps = node.attributes.known_integer("keep_dims");
      if (!axes || axes->empty() || keeps != 1 || (!axes_.empty() && axes_ != *axes)) return false;
      axes_ = *axes;
    }
    nodes_.push_back(id);
    operators_.push_back(op_of(node));
    frontier_.erase(ValueId{id, 0});
    for (const ValueId operand : node.operands) {
      if (arena_.is_constant(operand)) continue;
      if (std::ranges::find(nodes_, operand.node) == nodes_.end()) frontier_.insert(operand);
    }
    return true;
  }

  // Aligns the dimensions of a constant at the end with the entry's. True if the constant varies along the
  // axes, false if along other dimensions only; nullopt if along both.
  std::optional<bool> varies_along_axes(const ir::Shape& shape, std::size_t rank) const {
    bool along = false;
    bool across = false;
    for (std::size_t k = 0; k < shape.size(); ++k) {
      if (shape[k].is_one()) continue;
      const auto axis = static_cast<std::int64_t>(rank - shape.size() + k);
      (std::ranges::find(axes_, axis) != axes_.end() ? along : across) = true;
    }
    if (along && across) return std::nullopt;
    return along;
  }

  std::optional<Row> constant_row(ValueId value, std::size_t rank) {
    if (const auto number = scalar_constant(arena_, value)) return Row{*number};
    const ir::TensorType& type = arena_.type(value);
    if (axes_.empty() || !type.ranked || type.shape.size() > rank) return std::nullopt;
    const auto along = varies_along_axes(type.shape, rank);
    if (!along) return std::nullopt;
    // The values are arbitrary but differ between constants.
    Row row(*along ? kSamples.size() : 1);
    for (std::size_t k = 0; k < row.size(); ++k) {
      row[k] = 0.5 + std::fmod(static_cast<double>(parameters_.size() + 1) * 0.37 + static_cast<double>(k) * 0.61803, 1.0);
    }
    parameters_.emplace_back(value, row);
    return row;
  }

  std::optional<Row> evaluate(NodeId id, ValueId entry, std::map<NodeId, Row>& rows) {
    const ir::Node& node = arena_.node(id);
    const std::size_t rank = arena_.type(entry).shape.size();
    std::vector<Row> operands;
    std::size_t size = 1;
    for (const ValueId operand : node.operands) {
      Row row;
      if (operand == entry) {
        row = samples_;
      } else if (const auto known = rows.find(operand.node); known != rows.end()) {
        row = known->second;
      } else {
        const auto existing = std::ranges::find_if(parameters_, [&](const auto& p) { return p.first == operand; });
        if (existing != parameters_.end()) {
          row = existing->second;
        } else {
          auto constant = constant_row(operand, rank);
          if (!constant) return std::nullopt;
          row = *std::move(constant);
        }
      }
      size = std::max(size, row.size());
      operands.push_back(std::move(row));
    }
    if (is_mean(node)) {
      double sum = 0;
      for (const double v : operands[0]) sum += v;
      return Row{sum / static_cast<double>(operands[0].size())};
    }
    const std::vector<double> reals = step_reals(node);
    Row result(size);
    std::vector<double> arguments(operands.size());
    for (std::size_t k = 0; k < size; ++k) {
      for (std::size_t i = 0; i < operands.size(); ++i) arguments[i] = operands[i].size() == 1 ? operands[i][0] : operands[i][k];
      const auto value = evaluate_pointwise(node.op, arguments, reals);
      if (!value) return std::nullopt;
      result[k] = *value;
    }
    return result;
  }

  std::optional<Composite> recognise(ValueId entry) {
    const ir::TensorType& type = arena_.type(entry);
    if (!type.ranked || type.data_type != ir::DataType::float32 || !(type.shape == arena_.node(exit_).outputs[0].shape))
      return std::nullopt;
    const bool candidate = !axes_.empty() || std::ranges::any_of(known_functions(), [&](const KnownFunction& f) { return has(f); });
    if (!candidate || !axes_are_last(type.shape.size())) return std::nullopt;
    std::vector<NodeId> order = nodes_;
    std::ranges::sort(order, [&](NodeId a, NodeId b) { return graph_.position(a) < graph_.position(b); });
    parameters_.clear();
    const auto compute = [&](double scale) { return exit_values(order, entry, scale); };
    const std::optional<Row> y = compute(1);
    if (!y) return std::nullopt;
    Composite composite;
    composite.entry = entry;
    composite.exit = exit_;
    if (!(axes_.empty() ? match_function(*y, composite) : match_normalization(*y, compute, composite))) return std::nullopt;
    count_uses(composite);
    if (axes_.empty()) composite.function.graph = graph_text(entry);
    return composite;
  }

  std::string graph_text(ValueId entry) const {
    std::string text;
    std::map<NodeId, std::size_t> made;
    const auto write = [&](const std::string& token) { text += (text.empty() ? "" : ";") + token; };
    const std::function<void(ValueId)> add = [&](ValueId value) {
      if (value == entry) return write("x");
      if (const auto number = scalar_constant(arena_, value)) return write(fmt::format("{}", static_cast<float>(*number)));
      if (const auto known = made.find(value.node); known != made.end()) return write(fmt::format("#{}", known->second));
      const ir::Node& node = arena_.node(value);
      for (const ValueId operand : node.operands) add(operand);
      made.emplace(value.node, made.size());
      std::string token(ops::get(node.op).signature.name);
      for (const double real : step_reals(node)) token += fmt::format("~{}", static_cast<float>(real));
      write(token);
    };
    add({exit_, 0});
    return text;
  }

  // The value of the exit for samples times `scale`.
  std::optional<Row> exit_values(const std::vector<NodeId>& order, ValueId entry, double scale) {
    samples_ = kSamples;
    for (double& x : samples_) x *= scale;
    std::map<NodeId, Row> rows;
    for (const NodeId id : order) {
      auto row = evaluate(id, entry, rows);
      if (!row) return std::nullopt;
      rows.emplace(id, *std::move(row));
    }
    const Row& y = rows.at(exit_);
    return y.size() == kSamples.size() ? std::optional(y) : std::nullopt;
  }

  bool has(const KnownFunction& f) const {
    return std::ranges::all_of(f.operators, [&](ops::Op op) { return std::ranges::find(operators_, op) != operators_.end(); });
  }

  bool axes_are_last(std::size_t rank) const {
    for (std::size_t k = 0; k < axes_.size(); ++k) {
      if (axes_[k] != static_cast<std::int64_t>(rank - axes_.size() + k)) return false;
    }
    return true;
  }

  bool match_function(const Row& y, Composite& composite) const {
    for (const KnownFunction& f : known_functions()) {
      if (!has(f)) continue;
      Row expected;
      for (const double x : kSamples) expected.push_back(f.function->value(x, 0, 0));
      if (!near(y, expected, 1e-5)) continue;
      composite.function.fused = f.function->id;
      return true;
    }
    return false;
  }

  using Parameter = std::pair<ValueId, Row>;
  using Compute = std::function<std::optional<Row>(double)>;

  static double parameter_at(const Parameter* parameter, std::size_t k, double otherwise) {
    if (parameter == nullptr) return otherwise;
    return parameter->second.size() == 1 ? parameter->second[0] : parameter->second[k];
  }

  // The mean of the samples (0 if not centered) and the mean of their squared deviations from it.
  static std::pair<double, double> moments(bool centered) {
    const auto n = static_cast<double>(kSamples.size());
    double mean = 0;
    for (const double x : kSamples) mean += centered ? x / n : 0;
    double squares = 0;
    for (const double x : kSamples) squares += (x - mean) * (x - mean) / n;
    return {mean, squares};
  }

  // (x - mean) / sqrt(variance + epsilon) * scale + shift, for samples times `factor`.
  static Row normalized(bool centered, const Parameter* scale, const Parameter* shift, double factor, double epsilon) {
    const auto [mean, squares] = moments(centered);
    Row result;
    result.reserve(kSamples.size());
    for (std::size_t k = 0; k < kSamples.size(); ++k) {
      const double unit = factor * (kSamples[k] - mean) / std::sqrt(factor * factor * squares + epsilon);
      result.push_back(unit * parameter_at(scale, k, 1) + parameter_at(shift, k, 0));
    }
    return result;
  }

  // Finds epsilon from samples so small that epsilon dominates the divisor. nullopt if it is not added to
  // the variance.
  static std::optional<double> find_epsilon(bool centered, const Parameter* scale, const Parameter* shift, const Compute& compute) {
    constexpr double kTiny = 1e-6;
    const std::optional<Row> y = compute(kTiny);
    if (!y) return std::nullopt;
    const auto [mean, squares] = moments(centered);
    const std::size_t last = kSamples.size() - 1;
    const double unit = ((*y)[last] - parameter_at(shift, last, 0)) / parameter_at(scale, last, 1);
    const double root = kTiny * (kSamples[last] - mean) / unit;
    const double found = root * root - kTiny * kTiny * squares;
    const double epsilon = found < 1e-16 ? 0 : static_cast<double>(static_cast<float>(found));
    for (const double factor : {kTiny, 1e-3}) {
      const std::optional<Row> small = compute(factor);
      if (!small || !near(*small, normalized(centered, scale, shift, factor, epsilon), 1e-5)) return std::nullopt;
    }
    return epsilon;
  }

  // Matches a normalisation with a scale, with or without shift.
  bool match_normalization(const Row& y, const Compute& compute, Composite& composite) const {
    std::vector<const Parameter*> choices = {nullptr};
    for (const auto& parameter : parameters_) choices.push_back(&parameter);
    for (const bool centered : {true, false}) {
      for (const auto* scale : choices) {
        for (const auto* shift : choices) {
          if (scale != nullptr && scale == shift) continue;
          if (static_cast<std::size_t>(scale != nullptr) + static_cast<std::size_t>(shift != nullptr) != parameters_.size()) continue;
          if (!near(y, normalized(centered, scale, shift, 1, 0), 1e-3)) continue;
          const auto epsilon = find_epsilon(centered, scale, shift, compute);
          if (!epsilon) continue;
          composite.family = centered ? ops::KernelFamily::layer_normalization : ops::KernelFamily::rms_normalization;
          composite.axes = axes_;
          composite.epsilon = *epsilon;
          // ONNX Runtime recognises no normalisation without a scale. So folding the scale into weights is
          // not a saving: such a graph is priced by its parts.
          if (scale == nullptr) return false;
          composite.parameters.push_back(scale->first);
          if (shift != nullptr) composite.parameters.push_back(shift->first);
          return true;
        }
      }
    }
    return false;
  }

  void count_uses(Composite& composite) const {
    std::map<NodeId, std::size_t> uses;
    for (const NodeId id : nodes_) {
      for (const ValueId operand : arena_.node(id).operands) {
        if (operand == composite.entry) ++composite.entry_uses;
        ++uses[operand.node];
      }
    }
    for (const NodeId id : nodes_) {
      if (id == exit_) continue;
      composite.inner.push_back(id);
      composite.inner_uses.push_back(uses[id]);
    }
  }

  const ir::Arena& arena_;
  const ir::GraphView& graph_;
  NodeId exit_;
  std::vector<NodeId> nodes_;
  std::vector<ops::Op> operators_;
  std::set<ValueId> frontier_;
  std::vector<std::int64_t> axes_;
  std::vector<std::pair<ValueId, Row>> parameters_;
  Row samples_;
};

// The value of an expression of at most depth 8.
std::optional<double> constant_at_depth(const ir::Arena& arena, ValueId value, int depth) {
  const ir::Node& node = arena.node(value);
  if (!node.is_constant || node.is_absent || depth > 8) return std::nullopt;
  if (!ir::element_count(node.outputs[value.output].shape).is_one()) return std::nullopt;
  if (node.kind == ir::NodeKind::constant) {
    const auto values = ir::doubles(node.constant);
    if (!values || values->size() != 1) return std::nullopt;
    return (*values)[0];
  }
  if (!is_pointwise_node(node)) return std::nullopt;
  std::vector<double> operands;
  for (const ValueId operand : node.operands) {
    const auto number = constant_at_depth(arena, operand, depth + 1);
    if (!number) return std::nullopt;
    operands.push_back(*number);
  }
  return evaluate_pointwise(node.op, operands, step_reals(node));
}

}  // namespace

std::optional<double> scalar_constant(const ir::Arena& arena, ValueId value) { return constant_at_depth(arena, value, 0); }

std::optional<double> evaluate_pointwise(ir::OperatorId op, const std::vector<double>& x, const std::vector<double>& reals) {
  const ops::FloatEffect& effect = ops::get(op).float_effect;
  if (effect.scalar != nullptr) return effect.scalar(x, reals);
  if (effect.work == ops::FloatWork::moves && x.size() == 1) return x[0];
  return std::nullopt;
}

std::optional<Composite> find_composite(const ir::Arena& arena, const ir::GraphView& graph, ir::NodeId exit,
                                        std::vector<ir::NodeId>* explored) {
  const ir::Node& node = arena.node(exit);
  if (node.kind != ir::NodeKind::operation || node.is_constant) return std::nullopt;
  if (!may_end(op_of(node))) return std::nullopt;
  Part part(arena, graph, exit);
  auto composite = part.find();
  if (explored != nullptr) *explored = part.explored();
  return composite;
}

}  // namespace xflow::cost
