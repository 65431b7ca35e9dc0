#include "src/validation/device_check.h"

#include <fmt/format.h>

#include <algorithm>
#include <memory>
#include <optional>
#include <random>
#include <string_view>
#include <utility>

#include "src/cost/cost_model.h"
#include "src/devices/device_costs.h"
#include "src/eval/compare.h"
#include "src/ops/operator.h"
#include "src/runtime/graph_runner.h"
#include "src/search/run_limits.h"

namespace xflow::api {
namespace {

using ir::Poly;
using ir::ValueId;
using Dims = std::vector<std::int64_t>;

std::uint64_t elements(const Dims& dims) {
  std::uint64_t count = 1;
  for (const std::int64_t d : dims) count *= static_cast<std::uint64_t>(d);
  return count;
}

// Builds a graph. Keeps the first error; results after an error have no meaning.
class Writer {
 public:
  Writer(ir::Arena& arena, std::uint32_t seed) : arena_(arena), random_(seed) {}

  // Sets the type of the following inputs and constants.
  void use(ir::DataType type) { type_ = type; }

  ValueId input(const Dims& dims) {
    const ValueId value = arena_.input({type_, true, ir::polys(dims)}, static_cast<std::uint32_t>(arena_.size()));
    inputs_.emplace(value, eval::Tensor::of_doubles(type_, dims, values(dims)));
    return value;
  }
  ValueId constant(const Dims& dims, double scale = 1) {
    std::vector<double> numbers = values(dims);
    for (double& number : numbers) number = static_cast<float>(number * scale);
    return keep(ir::make_constant(type_, dims, numbers), [&](ir::Constant made) { return arena_.constant(std::move(made)); });
  }
  ValueId op(std::string_view name, std::vector<ValueId> operands, ir::Attributes attributes = {}) {
    if (error_) return {};
    return keep(ops::apply(arena_, name, std::move(operands), std::move(attributes)), [](ValueId value) { return value; });
  }
  ValueId convolution(ValueId x, const Dims& weights, std::int64_t stride, std::int64_t groups) {
    const std::int64_t pad = weights[2] / 2;
    return op("conv", {x, constant(weights, 0.3)},
              {{"strides", ir::polys(Dims{stride, stride})},
               {"pads", ir::polys(Dims{pad, pad, pad, pad})},
               {"dilations", ir::polys(Dims{1, 1})},
               {"groups", Poly(groups)}});
  }
  ValueId transpose(ValueId x, const Dims& perm) { return op("transpose", {x}, {{"perm", ir::polys(perm)}}); }
  ValueId softmax(ValueId x, std::int64_t axis) { return op("softmax", {x}, {{"axis", Poly(axis)}}); }
  ValueId mean(ValueId x, const Dims& axes) { return op("reduce_mean", {x}, {{"axes", ir::polys(axes)}, {"keep_dims", Poly(1)}}); }

  Result<SampleGraph> finish(std::string name, std::vector<ValueId> outputs) {
    if (error_) return fail(*error_);
    return SampleGraph{std::move(name), {std::move(outputs)}, std::exchange(inputs_, {})};
  }

 private:
  std::vector<double> values(const Dims& dims) {
    std::uniform_real_distribution<double> distribution(-1, 1);
    std::vector<double> numbers(elements(dims));
    for (double& number : numbers) number = static_cast<float>(distribution(random_));
    return numbers;
  }
  template <typename Found, typename Use>
  ValueId keep(Result<Found> found, const Use& use) {
    if (found) return use(*std::move(found));
    if (!error_) error_ = std::move(found).error();
    return {};
  }

  ir::Arena& arena_;
  ir::DataType type_ = ir::DataType::float32;
  std::mt19937 random_;
  eval::Bindings inputs_;
  std::optional<Error> error_;
};

Result<SampleGraph> convolutions(Writer& w) {
  const ValueId x = w.input({2, 3, 17, 16});
  const ValueId a = w.op("relu", {w.op("add", {w.convolution(x, {16, 3, 3, 3}, 2, 1), w.constant({1, 16, 1, 1})})});
  const ValueId b = w.op("relu", {w.op("add", {w.op("add", {w.convolution(a, {16, 16, 1, 1}, 1, 1), w.constant({16, 1, 1})}), a})});
  const ValueId c = w.op("hard_sigmoid", {w.convolution(b, {16, 1, 3, 3}, 1, 16)});
  const ValueId d = w.convolution(w.op("mul", {b, c}), {8, 4, 3, 3}, 1, 4);
  const ValueId pooled = w.op("max_pool", {d}, {{"kernel", ir::polys(Dims{2, 2})}, {"strides", ir::polys(Dims{2, 2})}});
  return w.finish("convolutions", {pooled, w.mean(c, {2, 3})});
}

Result<SampleGraph> attention_of(Writer& w, std::string name) {
  const ValueId x = w.input({2, 33, 32});
  const ValueId centered = w.op("sub", {x, w.mean(x, {2})});
  const ValueId deviation = w.op("sqrt", {w.op("add", {w.mean(w.op("mul", {centered, centered}), {2}), w.constant({1}, 0.0)})});
  const ValueId normal = w.op("add", {w.op("mul", {w.op("div", {centered, deviation}), w.constant({32})}), w.constant({32})});
  const auto heads = [&](double scale) {
    const ValueId product = w.op("add", {w.op("matmul", {normal, w.constant({32, 32}, scale)}), w.constant({32})});
    return w.op("reshape", {product}, {{"shape", ir::polys(Dims{2, 33, 4, 8})}});
  };
  const ValueId q = w.transpose(heads(0.2), {0, 2, 1, 3});
  const ValueId k = w.transpose(heads(0.2), {0, 2, 3, 1});
  const ValueId v = w.transpose(heads(0.3), {0, 2, 1, 3});
  const ValueId mixed = w.transpose(w.op("matmul", {w.softmax(w.op("matmul", {q, k}), 3), v}), {0, 2, 1, 3});
  const ValueId y = w.op("add", {w.op("reshape", {mixed}, {{"shape", ir::polys(Dims{2, 33, 32})}}), x});
  const ValueId wide = w.op("tanh", {w.op("matmul", {y, w.constant({32, 64}, 0.2)})});
  return w.finish(std::move(name), {w.op("matmul", {wide, w.constant({64, 32}, 0.2)}), normal});
}

Result<SampleGraph> attention(Writer& w) { return attention_of(w, "attention"); }
Result<SampleGraph> attention_in_half_precision(Writer& w) {
  w.use(ir::DataType::float16);
  auto graph = attention_of(w, "attention in half precision");
  w.use(ir::DataType::float32);
  return graph;
}

Result<SampleGraph> movement(Writer& w) {
  const ValueId x = w.input({3, 10, 12});
  const ValueId y = w.input({3, 10, 12});
  const ValueId both = w.op("concat", {x, w.op("exp", {y})}, {{"axis", Poly(1)}});
  const ValueId turned = w.transpose(both, {2, 0, 1});
  const ValueId sum = w.op("reduce_sum", {w.op("mul", {turned, turned})}, {{"axes", ir::polys(Dims{0})}, {"keep_dims", Poly(1)}});
  return w.finish("movement", {turned, w.op("sub", {turned, sum}), w.op("maximum", {w.op("sigmoid", {x}), y})});
}

// Returns a function that runs plans by a device.
RunPlan run_by(cost::GraphRunner& runner) {
  return [&runner](ir::Arena& arena, const cost::Plan& plan, const SampleGraph& sample) -> Result<std::vector<eval::Tensor>> {
    const ir::Symbols::Valuation sizes = [](ir::SymbolId) { return std::nullopt; };
    const auto write = [&sample](cost::GraphProgram& made, std::size_t) -> Result<void> {
      for (const auto& [value, tensor] : sample.inputs) XFLOW_CHECK(made.write(value, tensor));
      return {};
    };
    XFLOW_TRY(const cost::ProgramId id, runner.add(arena, {{&plan, sizes}}, static_cast<double>(machine_bytes()) / 2, write));
    cost::GraphProgram& program = runner.program(id, 0);
    XFLOW_CHECK(program.run_once());
    std::vector<eval::Tensor> outputs;
    for (std::size_t k = 0; k < sample.graph.outputs.size(); ++k) {
      XFLOW_TRY(outputs.emplace_back(), program.read(k));
    }
    return outputs;
  };
}

}  // namespace

Result<std::vector<SampleGraph>> sample_graphs(ir::Arena& arena) {
  Writer writer(arena, 1);
  std::vector<SampleGraph> graphs;
  for (const auto make : {&convolutions, &attention, &attention_in_half_precision, &movement}) {
    XFLOW_TRY(SampleGraph graph, make(writer));
    graphs.push_back(std::move(graph));
  }
  return graphs;
}

Result<DeviceCheck> check_device(cost::Device& device, cost::Database& database, const RunPlan& run) {
  DeviceCheck result;
  ir::Arena arena;
  const ir::Symbols::Valuation sizes = [](ir::SymbolId) { return std::nullopt; };
  XFLOW_TRY(const std::vector<SampleGraph> graphs, sample_graphs(arena));
  for (const SampleGraph& sample : graphs) {
    cost::CostModel costs(arena, device, database, sizes);
    XFLOW_TRY(const std::vector<cost::CoveredLaunch> cover, costs.launches(sample.graph));
    const auto refused = std::ranges::find_if(cover, [](const cost::CoveredLaunch& launch) { return !launch.supported; });
    if (refused != cover.end()) {
      result.failure = fmt::format("the graph of {}: {}", sample.name, refused->supported.reason);
      return result;
    }
    const auto found = run(arena, cost::make_plan(arena, sample.graph, cover, sizes), sample);
    if (!found) {
      result.failure = fmt::format("the graph of {}: {}", sample.name, found.error().text());
      return result;
    }
    XFLOW_TRY(const Acceptance agrees, eval::agree_with_reference(arena, sample.graph, sample.inputs, *found));
    if (!agrees) {
      result.failure = fmt::format("the graph of {}: {}", sample.name, agrees.reason);
      return result;
    }
    ++result.graphs;
    for (const eval::Tensor& output : *found) result.values += elements(output.dims);
  }
  result.passed = true;
  return result;
}

Result<DeviceCheck> check_device_named(const std::string& name) {
  OptimizeOptions options;
  options.device.name = name;
  DeviceCosts costs;
  XFLOW_CHECK(costs.open(options, [] { return std::size_t{0}; }));
  cost::Database database = cost::Database::open("", costs.device().info());
  if (const auto runner = costs.device().graph_runner()) return check_device(costs.device(), database, run_by(*runner));
  return fail(ErrorCode::invalid_argument, fmt::format("cannot run graphs on device '{}'", name));
}

}  // namespace xflow::api
