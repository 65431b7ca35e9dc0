#include "src/eval/sampled.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <optional>
#include <unordered_map>
#include <utility>

#include "src/eval/adapted_expression.h"
#include "src/eval/operand_reads.h"
#include "src/eval/program.h"
#include "src/eval/saturating.h"
#include "src/eval/stabilize.h"
#include "src/ops/operator.h"

namespace xflow::eval {

namespace {

ir::Symbols::Valuation valuation_of(const Options& options) {
  return [&options](ir::SymbolId symbol) -> std::optional<std::int64_t> {
    const auto at = options.symbols.find(symbol);
    return at != options.symbols.end() ? std::optional(at->second) : std::nullopt;
  };
}

// The total number of evaluations of the nodes of all stages.
std::uint64_t work_of(const Program& program) {
  std::uint64_t sum = 0;
  for (const Stage& stage : program.stages) {
    for (const ValueNode& node : stage.nodes) {
      std::uint64_t times = 1;
      for (std::uint64_t rest = node.depends; rest != 0; rest &= rest - 1) {
        const std::int64_t extent = stage.extents[static_cast<std::size_t>(__builtin_ctzll(rest))];
        times = saturating_product(times, static_cast<std::uint64_t>(std::max<std::int64_t>(extent, 1)));
      }
      sum = std::min(kSaturated, sum + times);
    }
  }
  return sum;
}

}  // namespace

Result<std::vector<std::int64_t>> SampledEvaluation::dims_of(ir::ValueId value) const {
  const ir::TensorType& type = arena_.type(value);
  if (!type.ranked) return fail(ErrorCode::unsupported, "a value of unknown rank");
  std::vector<std::int64_t> dims;
  for (const ir::Poly& dim : type.shape) {
    const auto size = arena_.symbols().evaluate(dim, valuation_of(options_));
    if (!size)
      return fail(ErrorCode::unsupported, fmt::format("cannot execute: the size {} is not known", arena_.symbols().to_string(dim)));
    if (*size < 0) return fail(ErrorCode::ill_typed, fmt::format("a tensor cannot have a dimension of {}", *size));
    dims.push_back(*size);
  }
  return dims;
}

Result<std::uint64_t> SampledEvaluation::work(ir::ValueId value, const Sample& sample) {
  if (size_of(sample) == 0) return std::uint64_t{0};
  if (options_.stop && options_.stop()) return fail(ErrorCode::limit, "evaluation was stopped");
  const ir::Node& node = arena_.node(value);
  std::vector<OperandShape> operands;
  std::vector<Sample> samples;
  for (const ir::ValueId operand : node.operands) {
    OperandShape shape;
    if (!arena_.is_absent(operand)) {
      XFLOW_TRY(shape.dims, dims_of(operand));
      shape.data_type = arena_.type(operand).data_type;
    }
    samples.push_back(whole(shape.dims));
    operands.push_back(std::move(shape));
  }
  std::vector<const Sample*> parts;
  parts.reserve(samples.size());
  for (std::size_t k = 0; k < samples.size(); ++k) parts.push_back(arena_.is_absent(node.operands[k]) ? nullptr : &samples[k]);
  std::vector<ir::Poly> index;
  const ops::Expr meaning = ops::semantics_of(arena_, value.node, static_cast<int>(value.output), index);
  const AdaptedExpression adapted(arena_.symbols(), meaning, std::move(index), sample, std::move(parts));
  ProgramInput input;
  input.symbols = &arena_.symbols();
  input.expression = stabilize(arena_.symbols(), adapted.expression());
  input.index = adapted.index();
  input.dims = adapted.dims();
  input.data_type = arena_.type(value).data_type;
  input.operands = std::move(operands);
  for (const Tensor& table : adapted.tables()) input.operands.push_back({table.data_type, table.dims});
  input.symbol_values = valuation_of(options_);
  XFLOW_TRY(const Program program, compile(input));
  return work_of(program);
}

Result<SampledTensor> SampledEvaluation::evaluate_part(const ops::Expr& meaning, std::vector<ir::Poly> index, ir::DataType type,
                                                       const Sample& sample, std::span<const SampledTensor* const> given) {
  static const Tensor none{};
  std::vector<const Tensor*> operands;
  std::vector<const Sample*> samples;
  for (const SampledTensor* operand : given) {
    operands.push_back(operand == nullptr ? &none : &operand->tensor);
    samples.push_back(operand == nullptr ? nullptr : &operand->sample);
  }
  const AdaptedExpression adapted(arena_.symbols(), meaning, std::move(index), sample, std::move(samples));
  for (const Tensor& table : adapted.tables()) operands.push_back(&table);
  XFLOW_TRY(Tensor tensor, evaluate(arena_.symbols(), adapted.expression(), adapted.index(), type, adapted.dims(), operands, options_));
  return SampledTensor{std::move(tensor), sample};
}

Result<SampledTensor> SampledEvaluation::compute(ir::ValueId value, const Sample& sample, const Lookup& given) {
  const ir::Node& node = arena_.node(value);
  if (const SampledTensor* known = given(value)) return part_of(*known, sample);
  if (node.kind == ir::NodeKind::constant) return part_of(SampledTensor::of(Tensor::of(node.constant)), sample);
  if (node.kind != ir::NodeKind::operation)
    return fail(ErrorCode::unsupported, "cannot execute: " + (options_.name_of ? options_.name_of(node) : "an unknown operator"));
  if (options_.stop && options_.stop()) return fail(ErrorCode::limit, "evaluation was stopped");
  std::vector<const SampledTensor*> operands;
  std::vector<SampledTensor> constants;
  constants.reserve(node.operands.size());
  for (const ir::ValueId operand : node.operands) {
    const SampledTensor* found = given(operand);
    if (found == nullptr && !arena_.is_absent(operand)) {
      const ir::Node& constant = arena_.node(operand);
      if (constant.kind != ir::NodeKind::constant) return fail(ErrorCode::internal, "an operand was not computed");
      found = &constants.emplace_back(SampledTensor::of(Tensor::of(constant.constant)));
    }
    operands.push_back(found);
  }
  std::vector<ir::Poly> index;
  const ops::Expr meaning = ops::semantics_of(arena_, value.node, static_cast<int>(value.output), index);
  auto made = evaluate_part(meaning, std::move(index), arena_.type(value).data_type, sample, operands);
  if (made) return made;
  Error error = std::move(made).error();
  if (error.where.empty()) error.where = std::string(ops::get(node.op).signature.name);
  return fail(std::move(error));
}

Result<SampledTensor> SampledEvaluation::part_of(const SampledTensor& tensor, const Sample& sample) {
  if (tensor.all() && is_whole(sample)) return tensor;
  std::vector<ir::Poly> index;
  index.reserve(sample.size());
  for (std::size_t k = 0; k < sample.size(); ++k) index.emplace_back(arena_.symbols().fresh(ir::SymbolKind::index, "i"));
  const ops::Expr read = ops::Builder(arena_.symbols()).read(0, index);
  const std::array<const SampledTensor*, 1> operands = {&tensor};
  return evaluate_part(read, std::move(index), tensor.tensor.data_type, sample, operands);
}

Result<SampledEvaluation::SamplePlan> SampledEvaluation::plan(ir::ValueId value, const Sample& sample, const Lookup& given) {
  // The values between the result and the given values, operands before users.
  std::vector<ir::ValueId> order;
  std::unordered_map<ir::ValueId, Demands> demands;
  std::vector<std::pair<ir::ValueId, std::size_t>> stack{{value, 0}};
  const auto is_computed = [&](ir::ValueId v) {
    return !arena_.is_absent(v) && given(v) == nullptr && arena_.node(v).kind != ir::NodeKind::constant;
  };
  const auto enter = [&](ir::ValueId v) -> Result<void> {
    XFLOW_TRY(const auto dims, dims_of(v));
    Demands& asked = demands[v];
    for (const std::int64_t dim : dims) asked.emplace_back(dim);
    return {};
  };
  if (is_computed(value)) XFLOW_CHECK(enter(value));
  while (is_computed(value) && !stack.empty()) {
    auto& [v, next] = stack.back();
    const ir::Node& node = arena_.node(v);
    if (node.kind == ir::NodeKind::operation && next < node.operands.size()) {
      const ir::ValueId operand = node.operands[next++];
      if (!is_computed(operand) || demands.contains(operand)) continue;
      XFLOW_CHECK(enter(operand));
      stack.emplace_back(operand, 0);
    } else {
      order.push_back(v);
      stack.pop_back();
    }
  }
  SamplePlan result;
  const ir::Symbols::Valuation sizes = valuation_of(options_);
  for (std::size_t k = order.size(); k-- > 0;) {
    const ir::ValueId v = order[k];
    Sample part = sample;
    if (v != value) {
      part.clear();
      for (const Demand& demand : demands.at(v)) part.push_back(demand.positions());
    }
    if (arena_.node(v).kind == ir::NodeKind::operation) {
      std::vector<Demands*> operands;
      for (const ir::ValueId operand : arena_.node(v).operands) operands.push_back(is_computed(operand) ? &demands.at(operand) : nullptr);
      std::vector<ir::Poly> index;
      const ops::Expr meaning = ops::semantics_of(arena_, v.node, static_cast<int>(v.output), index);
      if (is_whole(part)) {
        for (Demands* const demands_of_operand : operands)
          if (demands_of_operand != nullptr)
            for (Demand& demand : *demands_of_operand) demand.add_all();
      } else {
        OperandReads reads(arena_.symbols(), sizes, std::move(operands));
        for (std::size_t d = 0; d < index.size(); ++d) reads.set(*index[d].as_symbol(), part[d]);
        reads.visit(meaning);
      }
      auto work = this->work(v, part);
      if (!work) {
        Error error = std::move(work).error();
        if (error.where.empty()) error.where = std::string(ops::get(arena_.node(v).op).signature.name);
        return fail(std::move(error));
      }
      result.work = std::min(kSaturated, result.work + *work);
    }
    result.elements = std::min(kSaturated, result.elements + count_of(part));
    result.steps.push_back({v, std::move(part)});
  }
  std::ranges::reverse(result.steps);
  if (result.steps.empty()) result.steps.push_back({value, sample});
  return result;
}

Result<SampledTensor> SampledEvaluation::run(const SamplePlan& plan, const Lookup& given) {
  SampledBindings made;
  std::unordered_map<ir::ValueId, std::size_t> uses;
  const auto operands_of = [&](const SamplePlan::Step& step) -> const auto& { return arena_.node(step.value).operands; };
  for (const SamplePlan::Step& step : plan.steps)
    for (const ir::ValueId operand : operands_of(step)) ++uses[operand];
  const Lookup known = [&](ir::ValueId value) -> const SampledTensor* {
    const auto at = made.find(value);
    return at != made.end() ? &at->second : given(value);
  };
  for (const SamplePlan::Step& step : plan.steps) {
    XFLOW_TRY(SampledTensor tensor, compute(step.value, step.sample, known));
    if (&step == &plan.steps.back()) return tensor;
    made.insert_or_assign(step.value, std::move(tensor));
    for (const ir::ValueId operand : operands_of(step))
      if (--uses[operand] == 0) made.erase(operand);
  }
  return fail(ErrorCode::internal, "a plan without steps");
}

}  // namespace xflow::eval
