#include "tests/coverage/coverage.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <unordered_map>

#include "src/cost/cost_model.h"
#include "src/cost/database.h"
#include "src/cost/incremental_cost.h"
#include "src/devices/profile/profile_device.h"
#include "src/eval/evaluate.h"
#include "src/ops/op.h"
#include "src/ops/operator.h"
#include "src/optimizer/load_rules.h"
#include "src/rules/apply.h"
#include "src/search/rule_rewriter.h"
#include "src/search/search.h"

namespace xflow::coverage {
namespace {

const rules::VerifiedRules& shipped() {
  static const rules::VerifiedRules rules = api::load_rules({}).value();
  return rules;
}

cost::profile::Profile profile_of(const Roofline& roofline) {
  cost::profile::Profile profile;
  profile.device.name = "roofline";
  profile.roofline.launch = Nanoseconds{roofline.launch};
  profile.roofline.bandwidth = roofline.bandwidth;
  for (const ir::DataType type : {ir::DataType::float32, ir::DataType::int64, ir::DataType::boolean})
    profile.roofline.peak[type] = roofline.peak;
  return profile;
}

// A device with convolutions and products that are not all like those of the roofline.
class RooflineDevice final : public cost::Device {
 public:
  explicit RooflineDevice(const Roofline& roofline)
      : roofline_(roofline), plain_(profile_of(roofline)), quick_(profile_of([&] {
          Roofline quick = roofline;
          quick.peak /= roofline.small_window;
          return quick;
        }())) {}
  const cost::DeviceInfo& info() const override { return plain_.info(); }
  bool chooses_layout(const ops::KernelSpec& spec) const override { return plain_.chooses_layout(spec); }
  bool works_in(const ops::KernelSpec& spec, cost::Layout layout) const override { return plain_.works_in(spec, layout); }
  bool can_fuse(const ops::KernelSpec& base, const ops::PostOperation& post) const override { return plain_.can_fuse(base, post); }
  Result<cost::KernelCost> measure(const ops::KernelSpec& spec, cost::Layout layout) override {
    if (spec.is(ops::Op::Matmul)) {
      auto cost = plain_.measure(spec, layout);
      if (cost) cost->median = Nanoseconds(std::max(cost->median.count(), roofline_.least_product));
      return cost;
    }
    if (!spec.is(ops::Op::Conv)) return plain_.measure(spec, layout);
    const std::vector<std::int64_t>& weight = spec.operands[1].dims;
    const bool small = std::all_of(weight.begin() + 2, weight.end(), [](std::int64_t size) { return size <= 3; });
    auto cost = (small ? quick_ : plain_).measure(spec, layout);
    const auto* groups = spec.find("groups");
    if (cost && weight.size() == 3) cost->median += Nanoseconds(roofline_.rows);
    if (cost && groups != nullptr) cost->median += Nanoseconds(roofline_.per_group * static_cast<double>(groups->front() - 1));
    return cost;
  }

 private:
  Roofline roofline_;
  cost::profile::ProfileDevice plain_, quick_;
};

std::vector<Poly> repeated(Poly value, std::size_t times) { return std::vector<Poly>(times, value); }

}  // namespace

ValueId Coverage::input(std::string name, std::vector<Poly> dims) {
  const ValueId value = arena.input({ir::DataType::float32, true, std::move(dims)}, static_cast<std::uint32_t>(inputs_.size()));
  inputs_.emplace_back(std::move(name), value);
  return value;
}

ValueId Coverage::indices(std::string name, std::vector<Poly> dims) {
  const ValueId value = arena.input({ir::DataType::int64, true, std::move(dims)}, static_cast<std::uint32_t>(inputs_.size()));
  inputs_.emplace_back(std::move(name), value);
  return value;
}

Poly Coverage::dim(std::string_view name, std::int64_t size) {
  const ir::SymbolId symbol = arena.symbols().named(ir::SymbolKind::dimension, name);
  sizes_[symbol] = size;
  return Poly(symbol);
}

ValueId Coverage::weight(std::vector<std::int64_t> dims) {
  std::size_t count = 1;
  for (const std::int64_t size : dims) count *= static_cast<std::size_t>(size);
  std::vector<double> values(count);
  for (double& value : values) value = std::uniform_real_distribution<double>(0.5, 1.5)(random_);
  return arena.constant(*ir::make_constant(ir::DataType::float32, std::move(dims), values));
}

ValueId Coverage::number(double value) { return arena.constant(*ir::make_constant(ir::DataType::float32, {}, std::vector<double>{value})); }

ValueId Coverage::op(std::string_view name, std::vector<ValueId> operands, ir::Attributes attributes) {
  const auto value = ops::apply(arena, name, std::move(operands), std::move(attributes));
  EXPECT_TRUE(value) << (value ? "" : value.error().text());
  return value.value();
}

ValueId Coverage::conv(ValueId x, ValueId w, std::int64_t pad, std::int64_t groups, std::int64_t stride) {
  const std::size_t axes = arena.type(x).shape.size() - 2;
  return op(
      "conv", {x, w},
      {{"strides", repeated(stride, axes)}, {"pads", repeated(pad, 2 * axes)}, {"dilations", repeated(1, axes)}, {"groups", Poly(groups)}});
}

ValueId Coverage::average_pool(ValueId x, std::int64_t kernel, std::int64_t pad) {
  return op("average_pool", {x}, {{"kernel", repeated(kernel, 2)}, {"pads", repeated(pad, 4)}, {"count_include_pad", Poly(1)}});
}

ValueId Coverage::max_pool(ValueId x, std::int64_t kernel, std::int64_t stride) {
  return op("max_pool", {x}, {{"kernel", repeated(kernel, 2)}, {"strides", repeated(stride, 2)}});
}

ValueId Coverage::concat(std::vector<ValueId> operands, std::int64_t axis) {
  return op("concat", std::move(operands), {{"axis", Poly(axis)}});
}

std::vector<ValueId> Coverage::split(ValueId x, std::int64_t axis, std::vector<Poly> sizes) {
  const auto parts = static_cast<std::uint32_t>(sizes.size());
  ops::Typing typing(arena.symbols());
  const auto node = ops::apply(arena, typing, ops::id_of("split"), {x}, {{"axis", Poly(axis)}, {"sizes", std::move(sizes)}});
  EXPECT_TRUE(node) << (node ? "" : node.error().text());
  std::vector<ValueId> values;
  for (std::uint32_t k = 0; k < parts; ++k) values.push_back({node.value(), k});
  return values;
}

ValueId Coverage::transpose(ValueId x, std::vector<Poly> perm) { return op("transpose", {x}, {{"perm", std::move(perm)}}); }
ValueId Coverage::reshape(ValueId x, std::vector<Poly> shape) { return op("reshape", {x}, {{"shape", std::move(shape)}}); }
ValueId Coverage::expand(ValueId x, std::vector<Poly> shape) { return op("expand", {x}, {{"shape", std::move(shape)}}); }
ValueId Coverage::slice(ValueId x, std::vector<Poly> starts, std::vector<Poly> sizes) {
  const std::size_t rank = starts.size();
  return op("slice", {x}, {{"starts", std::move(starts)}, {"sizes", std::move(sizes)}, {"steps", repeated(1, rank)}});
}

std::string Coverage::form(const Graph& graph) const {
  std::unordered_map<ir::NodeId, std::string> names;
  for (const auto& [name, value] : inputs_) names[value.node] = name;
  const auto text_of = [&](ValueId value) {
    if (arena.is_constant(value)) {
      std::vector<std::string> dims;
      for (const Poly& size : arena.type(value).shape) dims.push_back(arena.symbols().to_string(size));
      return fmt::format("[{}]", fmt::join(dims, ", "));
    }
    const std::string& name = names.at(value.node);
    return arena.node(value).outputs.size() == 1 ? name : fmt::format("{}.{}", name, value.output);
  };
  std::string text;
  for (const ir::NodeId id : ir::topological_order(arena, graph)) {
    const ir::Node& node = arena.node(id);
    if (node.kind != ir::NodeKind::operation || node.is_constant) continue;
    std::vector<std::string> arguments;
    for (const ValueId operand : node.operands)
      if (!arena.is_absent(operand)) arguments.push_back(text_of(operand));
    const std::string_view op = ops::get(node.op).signature.name;
    if (op == "conv" && node.attributes.known_integer("groups") != 1)
      arguments.push_back(fmt::format("groups: {}", node.attributes.known_integer("groups").value_or(0)));
    const std::string name = fmt::format("v{}", names.size() - inputs_.size() + 1);
    text += fmt::format("{} = {}({}); ", name, op, fmt::join(arguments, ", "));
    names[id] = name;
  }
  std::vector<std::string> outputs;
  for (const ValueId value : graph.outputs) outputs.push_back(text_of(value));
  return text + fmt::format("{}", fmt::join(outputs, ", "));
}

std::size_t Coverage::count(const Graph& graph, std::string_view op) const {
  std::size_t count = 0;
  for (const ir::NodeId id : ir::topological_order(arena, graph)) {
    const ir::Node& node = arena.node(id);
    if (node.kind == ir::NodeKind::operation && !node.is_constant && ops::get(node.op).signature.name == op) ++count;
  }
  return count;
}

Found Coverage::search(const std::vector<ValueId>& outputs, const SearchOptions& options) {
  rules::VerifiedRules rules = shipped();
  std::vector<std::string> without;
  for (const std::string& name : options.without) {
    if (!name.ends_with('*')) {
      without.push_back(name);
      continue;
    }
    const std::string_view begin = std::string_view(name).substr(0, name.size() - 1);
    for (std::size_t k = 0; k < rules.size(); ++k)
      if (const std::string& found = rules.rule(static_cast<rules::RuleId>(k)).name; found.starts_with(begin)) without.push_back(found);
  }
  for (const std::string& name : without) {
    const auto skipped = rules.skip(name);
    EXPECT_TRUE(skipped) << (skipped ? "" : skipped.error().text());
  }
  RooflineDevice device(options.device);
  cost::Database database = cost::Database::open("", device.info());
  cost::CostModel model(arena, device, database, [this](ir::SymbolId symbol) -> std::optional<std::int64_t> {
    const auto known = sizes_.find(symbol);
    return known == sizes_.end() ? std::nullopt : std::optional(known->second);
  });
  rules::MatchOptions matching;
  matching.fast_math = options.any_numbers;
  search::RuleRewriter rewriter(rules, matching);
  search::Options search_options;
  search_options.max_states = options.max_states;
  search_options.max_growth = options.max_growth;
  search_options.per_operation = Nanoseconds{0.05};
  const auto follow = [&](const ir::WorkGraph& work) { return model.follow(work); };
  const Graph graph{outputs};
  const search::Outcome outcome = search::search(arena, graph, rewriter, follow, search_options);
  expect_same(graph, outcome.best);
  Found found{outcome.best, form(outcome.best), {}};
  for (const search::Step& step : outcome.steps) found.rules.insert(step.rule);
  return found;
}

Graph Coverage::apply(std::string_view rule, const Graph& graph) {
  const ir::Uses uses(arena, graph);
  std::optional<Graph> result;
  for (const ir::NodeId node : uses.order()) {
    rules::MatchOptions options;
    options.fast_math = true;
    const auto apply_once = [&](rules::Match& match) {
      if (result || match.pattern->rule().name != rule) return true;
      auto replacements = rules::apply(arena, match);
      if (!replacements) return true;
      const auto replaced = ir::replace(arena, graph, *replacements);
      EXPECT_TRUE(replaced) << (replaced ? "" : replaced.error().text());
      result = *replaced;
      return true;
    };
    shipped().match(arena, uses, node, options, [&](rules::RuleId /*id*/, rules::Match& match) { return apply_once(match); });
    shipped().match_families(arena, uses, node, options, apply_once);
  }
  EXPECT_TRUE(result) << rule << " does not match";
  if (!result) return graph;
  expect_same(graph, *result);
  return *result;
}

eval::Bindings Coverage::drawn_inputs() const {
  std::mt19937_64 random(1);
  eval::Bindings bindings;
  for (const auto& [name, value] : inputs_) {
    std::vector<std::int64_t> dims;
    std::size_t count = 1;
    for (const Poly& size : arena.type(value).shape) {
      const auto known =
          arena.symbols().evaluate(size, [this](ir::SymbolId symbol) -> std::optional<std::int64_t> { return sizes_.at(symbol); });
      dims.push_back(known.value());
      count *= static_cast<std::size_t>(dims.back());
    }
    if (arena.type(value).data_type == ir::DataType::int64) {
      std::vector<std::int64_t> indices(count);
      for (std::int64_t& index : indices) index = std::uniform_int_distribution<std::int64_t>(-kLargestIndex, kLargestIndex)(random);
      bindings.emplace(value, eval::Tensor::of_integers(ir::DataType::int64, std::move(dims), std::move(indices)));
      continue;
    }
    std::vector<double> values(count);
    for (double& element : values) element = std::uniform_real_distribution<double>(-1, 1)(random);
    bindings.emplace(value, eval::Tensor::of_doubles(ir::DataType::float32, std::move(dims), std::move(values)));
  }
  return bindings;
}

double Coverage::float_error(const Graph& graph, const Graph& reference) {
  const eval::Bindings bindings = drawn_inputs();
  const auto expected = eval::evaluate(arena, reference, bindings);
  eval::Options in_float;
  in_float.number = eval::Number::float32;
  const auto found = eval::evaluate(arena, graph, bindings, in_float);
  if (!expected || !found) throw std::runtime_error((expected ? found : expected).error().text());
  double error = 0;
  double largest = 0;
  for (std::size_t k = 0; k < expected->size(); ++k) {
    const auto x = eval::doubles((*expected)[k]).value();
    const auto y = eval::doubles((*found)[k]).value();
    for (std::size_t i = 0; i < x.size(); ++i) {
      error = std::max(error, std::abs(x[i] - y[i]));
      largest = std::max(largest, std::abs(x[i]));
    }
  }
  return error / largest;
}

void Coverage::expect_same(const Graph& a, const Graph& b) {
  const eval::Bindings bindings = drawn_inputs();
  const auto left = eval::evaluate(arena, a, bindings);
  const auto right = eval::evaluate(arena, b, bindings);
  ASSERT_TRUE(left && right) << (left ? right : left).error().text();
  ASSERT_EQ(left->size(), right->size());
  for (std::size_t k = 0; k < left->size(); ++k) {
    ASSERT_EQ((*left)[k].dims, (*right)[k].dims);
    const auto x = eval::doubles((*left)[k]).value();
    const auto y = eval::doubles((*right)[k]).value();
    double largest = 0;
    double difference = 0;
    for (std::size_t i = 0; i < x.size(); ++i) {
      largest = std::max(largest, std::abs(x[i]));
      difference = std::max(difference, std::abs(x[i] - y[i]));
      ASSERT_FALSE(std::isnan(x[i]) || std::isnan(y[i]));
    }
    EXPECT_GT(largest, 0);
    EXPECT_LE(difference, 1e-6 * largest) << form(a) << "\n" << form(b);
  }
}

}  // namespace xflow::coverage
